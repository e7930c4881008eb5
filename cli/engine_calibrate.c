// SPDX-License-Identifier: Apache-2.0
// picketctl engine calibrate: sample frames through a model, a calibration record out.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fs.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/npy.h"
#include "config/card.h"

#define MAX_SAMPLES      100000
#define MAX_SAMPLE_BYTES (256u << 20)
#define MAX_RECORD_BYTES (16u << 20)

struct job {
	struct pk_engine_args *args;
	struct pk_card *card; // NULL: .npy files only
	char **paths;         // sorted
	size_t n_paths, cap_paths;
};

static void job_finish(struct job *job)
{
	for (size_t i = 0; i < job->n_paths; i++)
		free(job->paths[i]);
	free(job->paths);
	pk_card_destroy(job->card);
}

static const char usage[] =
	"usage: picketctl engine calibrate [OPTIONS] MODEL.onnx\n\n"
	"  --samples DIR        .rgb frames of the input's size (then with --card), or .npy\n"
	"  --card FILE          model card: how frames become input\n"
	"  --method NAME        minmax, percentile or entropy (default)\n"
	"  --percentile P       of magnitudes that stay in range, for that method (99.99)\n"
	"  --keep-first         the first layer stays in float\n"
	"  --float-share F      at most this part of the layers goes back to float (0.2)\n"
	"  --state FILE         kept while it runs: a run cut short goes on from there\n"
	"  --out FILE           the record (default: calibration.json)\n"
	"  --shape, --disable-pass   as for `picketctl engine build`\n";

static bool has_ending(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);
	return n > m && strcmp(name + n - m, ending) == 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_path(struct job *job, const char *dir, const char *name)
{
	void *paths = job->paths;
	char *path = NULL;
	if (job->n_paths == MAX_SAMPLES || asprintf(&path, "%s/%s", dir, name) < 0)
		return -E2BIG;
	if (pk_array_grow_impl(&paths, &job->cap_paths, job->n_paths + 1, sizeof(*job->paths)) <
		0) {
		free(path);
		return -ENOMEM;
	}
	job->paths = paths;
	job->paths[job->n_paths++] = path;
	return 0;
}

static int list_samples(struct job *job, const char *dir, struct pk_err *err)
{
	DIR *folder = opendir(dir);
	int r = 0;
	if (!folder)
		return pk_fail_errno(err, "%s", dir);
	for (struct dirent *entry; r == 0 && (entry = readdir(folder));)
		if (has_ending(entry->d_name, ".npy") ||
			(job->card && has_ending(entry->d_name, ".rgb")))
			r = add_path(job, dir, entry->d_name);
	closedir(folder);
	if (r < 0)
		return pk_fail(err, r, "%s: too many samples", dir);
	if (job->n_paths == 0)
		return pk_fail(err, -ENOENT, "%s: no .npy%s samples", dir,
			job->card ? " or .rgb" : " (.rgb frames need --card)");
	qsort(job->paths, job->n_paths, sizeof(*job->paths), by_text);
	return 0;
}

static int read_npy(const char *path, void *data, const struct pk_shape *shape, struct pk_err *err)
{
	struct pk_tensor tensor = {0};
	int r = pk_npy_read(path, &tensor, err);
	if (r < 0)
		return r;
	if (tensor.dtype != PK_F32 || !pk_shape_equal(&tensor.shape, shape))
		r = pk_fail(err, -EINVAL, "%s is not f32 of the input's shape", path);
	else
		memcpy(data, tensor.data, pk_tensor_bytes(PK_F32, shape));
	free(tensor.data);
	return r;
}

// Packed 8-bit RGB of the input's size, as the card normalises it.
static int read_rgb(const struct pk_card_input *input, const char *path, float *data,
	const struct pk_shape *shape, struct pk_err *err)
{
	pk_auto_buf struct pk_buf bytes;
	bool nhwc = input->layout == PK_CARD_NHWC, bgr = input->color == PK_CARD_BGR;
	pk_buf_init(&bytes, MAX_SAMPLE_BYTES);
	int r = pk_fs_read(path, MAX_SAMPLE_BYTES, &bytes, err);
	if (r < 0)
		return r;
	int64_t n = shape->rank == 4 ? pk_shape_elements(shape) : 0, plane = n / 3;
	if (n == 0 || shape->dims[0] != 1 || shape->dims[nhwc ? 3 : 1] != 3)
		return pk_fail(err, -ENOTSUP, "frames need an input of three channels");
	if (bytes.len != (size_t)n)
		return pk_fail(
			err, -EINVAL, "%s: %zu bytes, %lld needed", path, bytes.len, (long long)n);
	for (int64_t i = 0; i < n; i++) {
		int64_t from = i % 3, to = bgr ? 2 - from : from;
		double v = (double)((const unsigned char *)bytes.data)[i] * input->scale;
		data[nhwc ? i - from + to : to * plane + i / 3] =
			(float)((v - input->mean[to]) / input->std[to]);
	}
	return 0;
}

static int read_sample(
	void *ctx, size_t idx, void *data, const struct pk_shape *shape, struct pk_err *err)
{
	const struct job *job = ctx;
	const char *path = job->paths[idx];
	return has_ending(path, ".npy") ? read_npy(path, data, shape, err)
					: read_rgb(&job->card->input, path, data, shape, err);
}

static int progress(void *ctx, const char *phase, int done, int total, const char *what)
{
	const struct job *job = ctx;
	return pk_engine_args_progress(job->args, phase, done, total, what);
}

static int load_card(struct job *job)
{
	struct pk_problems problems = {0};
	int r = job->args->card_path ? pk_card_load(job->args->card_path, &job->card, &problems)
				     : 0;
	if (r < 0)
		pk_problems_print(&problems, stderr);
	pk_problems_finish(&problems);
	return r;
}

static int calibrate(struct job *job, struct pk_err *err)
{
	const struct pk_engine_args *args = job->args;
	struct pk_calibrate_options options = {
		.onnx_path = args->path,
		.n_shapes = args->build.n_shapes,
		.n_disabled_passes = args->build.n_disabled_passes,
		.method = args->method ? args->method : "entropy",
		.percentile = args->percentile,
		.keep_first = args->keep_first,
		.max_float_share = args->float_share,
		.state_path = args->state_path,
		.sample = read_sample,
		.n_samples = job->n_paths,
		.progress = progress,
		.ctx = job,
	};
	memcpy(options.shapes, args->build.shapes, sizeof(options.shapes));
	memcpy(options.disabled_passes, args->build.disabled_passes,
		sizeof(options.disabled_passes));
	const char *path = args->build.engine_path ? args->build.engine_path : "calibration.json";
	struct pk_calibrate_report report;
	pk_auto_buf struct pk_buf record;
	pk_buf_init(&record, MAX_RECORD_BYTES);
	int r = pk_engine_calibrate(&options, &record, &report, err);
	if (r == 0)
		r = pk_fs_write_atomic(path, record.data, record.len, 0644, err);
	if (r < 0)
		return r;
	printf("%s  %zu samples (%d from the state), %d ranges\n", path, job->n_paths,
		report.n_resumed, report.n_ranges);
	printf("  layers      %d, %d of them stay in float\n", report.n_layers, report.n_float);
	printf("  outputs     %.1f dB with all in integers, %.1f dB as recorded, cosine %.6f\n",
		report.first_sqnr_db, report.sqnr_db, report.cosine);
	return 0;
}

int pk_engine_calibrate_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, usage);
	if (code >= 0)
		return code;
	if (!args.samples_dir) {
		fputs("picketctl engine: --samples DIR is wanted\n", stderr);
		return PK_EXIT_USAGE;
	}
	pk_cleanup(job_finish) struct job job = {.args = &args};
	struct pk_err err = {0};
	if (load_card(&job) < 0)
		return PK_EXIT_FAIL;
	int r = list_samples(&job, args.samples_dir, &err);
	if (r == 0)
		r = calibrate(&job, &err);
	if (r < 0)
		fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, r));
	return r < 0 ? PK_EXIT_FAIL : PK_EXIT_OK;
}
