// SPDX-License-Identifier: Apache-2.0
// picket-build: admits a model, builds and gates one engine, and says how it went. One job on
// stdin, JSON lines on stdout (daemon/build_proto.h); a crash costs this build and nothing else.
// --try-sandbox: says what the sandbox refuses here.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "config/card.h"
#include "daemon/admit.h"
#include "daemon/build_proto.h"
#include "daemon/golden.h"
#include "daemon/sandbox.h"
#include "engine/compile/gate_file.h"
#include "engine/engine.h"

#define MAX_CARD_BYTES (1u << 20)
#define PROGRESS_NS    (PK_NS_PER_S / 5)
#define MAX_JOB_BYTES  PK_BUILD_MAX_LINE

struct job {
	json_t *json;
	struct pk_buf card_text, ranges;
	const char *ranges_path; // of the calibration: int8; NULL: fp32
	struct pk_card *card;
	const json_t *files; // {title: path} of golden samples, borrowed; NULL: none
	struct pk_golden *golden;
	const char *engine_path; // final place; built beside it, moved there once gated
	char *new_path;
	struct pk_build_options options;
	int64_t thrift; // PK_BUILD_THRIFT_*: how far to spare memory
	int64_t last_progress_ns;
};

static void job_finish(struct job *job)
{
	pk_golden_destroy(job->golden); // before the card and the JSON it points to
	json_decref(job->json);
	free(job->new_path);
	pk_buf_finish(&job->card_text);
	pk_buf_finish(&job->ranges);
	pk_card_destroy(job->card);
}

static void put_line(json_t *message)
{
	json_object_set_new(message, "v", json_integer(PK_BUILD_PROTO_VERSION));
	json_dumpf(message, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(message);
}

static int on_progress(void *ctx, const char *phase, int done, int total, const char *what)
{
	struct job *job = ctx;
	int64_t now = pk_now_ns();
	if (done > 0 && done < total && now - job->last_progress_ns < PROGRESS_NS)
		return 0;
	job->last_progress_ns = now;
	put_line(json_pack("{s:s, s:s, s:i, s:i, s:s}", "type", "progress", "phase", phase, "done",
		done, "total", total, "what", what));
	return ferror(stdout) != 0; // picketd is gone: stop
}

static int read_job_line(struct pk_buf *line, struct pk_err *err)
{
	char chunk[4096];
	ssize_t n;
	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0) {
		if (pk_buf_append(line, chunk, (size_t)n) < 0)
			return pk_fail(err, -EINVAL, "job is longer than %u bytes", MAX_JOB_BYTES);
		if (memchr(chunk, '\n', (size_t)n))
			break;
	}
	return n < 0 ? pk_fail_errno(err, "reading the job") : 0;
}

static int read_shape(
	const char *name, const json_t *dims, struct pk_input_shape *out, struct pk_err *err)
{
	out->name = name;
	out->shape.rank = (int)json_array_size(dims);
	if (!json_is_array(dims) || out->shape.rank > PK_MAX_RANK)
		return pk_fail(err, -EINVAL, "shape of `%s` is not a short list", name);
	for (int i = 0; i < out->shape.rank; i++)
		out->shape.dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
	return 0;
}

static int read_shapes(struct job *job, struct pk_err *err)
{
	json_t *shapes = json_object_get(job->json, "shapes");
	const char *name;
	json_t *dims;
	json_object_foreach (shapes, name, dims) {
		if (job->options.n_shapes == PK_ENGINE_MAX_BINDINGS)
			return pk_fail(err, -EINVAL, "too many shapes");
		int r = read_shape(name, dims, &job->options.shapes[job->options.n_shapes++], err);
		if (r < 0)
			return r;
	}
	return 0;
}

// Which output the card calls the classes' scores.
static void find_classes(const struct pk_card *card, struct pk_class_output *out)
{
	for (size_t i = 0; card->task == PK_TASK_CLASSIFY && i < card->n_outputs; i++) {
		enum pk_output_role role = card->outputs[i].role;
		if (role == PK_ROLE_LOGITS || role == PK_ROLE_SCORES)
			*out = (struct pk_class_output){.name = card->outputs[i].name,
				.n_classes = card->decode.classes,
				.is_logits = card->decode.activation != PK_SCORE_NONE};
	}
}

static int read_card(struct job *job, const char *path, struct pk_err *err)
{
	struct pk_problems problems = {0};
	int r = pk_fs_read(path, MAX_CARD_BYTES, &job->card_text, err);
	if (r < 0)
		return r;
	r = pk_card_parse(
		job->card_text.data, job->card_text.len, "card.yaml", &job->card, &problems);
	if (r < 0)
		(void)pk_fail(err, r, "%s:%d:%d: %s", "card.yaml",
			problems.n ? problems.items[0].line : 0,
			problems.n ? problems.items[0].column : 0,
			problems.n ? problems.items[0].text : "unreadable");
	pk_problems_finish(&problems);
	if (r == 0) {
		job->options.max_rel_err = job->card->gate.max_abs_err;
		job->options.min_cosine = job->card->gate.min_cosine;
		find_classes(job->card, &job->options.classes);
	}
	job->options.card = job->card_text.data;
	job->options.card_size = job->card_text.len;
	return r;
}

static int parse_job(struct job *job, struct pk_err *err)
{
	pk_auto_buf struct pk_buf line;
	pk_buf_init(&line, MAX_JOB_BYTES);
	int64_t version = 0;
	int r = read_job_line(&line, err);
	if (r == 0)
		r = pk_json_parse(line.data, line.len, "job", &job->json, err);
	if (r == 0)
		r = pk_json_get_int(job->json, "v", &version, err);
	if (r == 0 && version != PK_BUILD_PROTO_VERSION)
		r = pk_fail(err, -EINVAL, "job of version %lld", (long long)version);
	return r;
}

static int read_members(struct job *job, const char **card, struct pk_err *err)
{
	const struct {
		const char *key;
		const char **out;
		bool required;
	} members[] = {
		{"onnx", &job->options.onnx_path, true},
		{"runtime", &job->options.runtime, true},
		{"engine", &job->engine_path, true},
		{"timing", &job->options.timing_path, false},
		{"card", card, false},
		{"int8", &job->ranges_path, false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(members); i++) {
		int r = members[i].required
				? pk_json_get_str(job->json, members[i].key, members[i].out, err)
				: pk_json_opt_str(job->json, members[i].key, members[i].out, err);
		if (r < 0)
			return r;
	}
	int64_t opt_level = 0;
	int r = pk_json_get_int(job->json, "opt_level", &opt_level, err);
	if (r == 0)
		r = pk_json_opt_int(job->json, "thrift", &job->thrift, err);
	job->options.opt_level = (int)opt_level;
	job->files = json_object_get(job->json, "golden");
	return r;
}

static void put_sandbox(const struct pk_sandbox_status *status)
{
	put_line(json_pack("{s:s, s:b, s:i}", "type", "sandbox", "seccomp", status->seccomp,
		"landlock", status->landlock_abi));
}

// The folder of path, in place of buffer's content; a path without one lies in ".".
static const char *folder_of(const char *path, char **buffer)
{
	char *slash = (*buffer = strdup(path)) ? strrchr(*buffer, '/') : NULL;
	if (!slash)
		return ".";
	slash[slash == *buffer] = '\0';
	return *buffer;
}

// From here on only what the job names can be reached. What strangers wrote is read after this.
static int enter_sandbox(struct job *job, const char *card, struct pk_err *err)
{
	struct pk_sandbox_status status;
	struct pk_digest digest;
	pk_auto_free char *engines = NULL, *timing = NULL;
	struct pk_sandbox_options options = {
		.read = {job->options.onnx_path},
		.n_read = 1,
		.write = {folder_of(job->engine_path, &engines)},
		.n_write = 1,
		.devices = strcmp(job->options.runtime, "cpu") != 0,
	};
	const char *title;
	const json_t *path;
	if (card)
		options.read[options.n_read++] = card;
	if (job->ranges_path)
		options.read[options.n_read++] = job->ranges_path;
	if (job->options.timing_path)
		options.write[options.n_write++] = folder_of(job->options.timing_path, &timing);
	json_object_foreach ((json_t *)(uintptr_t)job->files, title, path) {
		if (options.n_read < PK_SANDBOX_MAX_PATHS && json_is_string(path))
			options.read[options.n_read++] = json_string_value(path);
	}
	(void)pk_digest_bytes("", 0, &digest); // OpenSSL reads its own config now
	int r = pk_sandbox_enter(&options, &status, err);
	if (r == 0)
		put_sandbox(&status);
	return r;
}

static int read_ranges(struct job *job, struct pk_err *err)
{
	if (!job->ranges_path)
		return 0;
	job->options.precision = PK_PRECISION_INT8;
	int r = pk_fs_read(job->ranges_path, PK_CALIBRATION_MAX_BYTES, &job->ranges, err);
	job->options.calibration = job->ranges.data;
	job->options.calibration_size = job->ranges.len;
	return r;
}

static int read_job(struct job *job, struct pk_err *err)
{
	const char *card = NULL;
	int r = parse_job(job, err);
	if (r == 0)
		r = read_members(job, &card, err);
	if (r == 0 && asprintf(&job->new_path, "%s.new", job->engine_path) < 0)
		r = pk_fail(err, -ENOMEM, "out of memory");
	job->options.engine_path = job->new_path;
	if (r == 0)
		r = enter_sandbox(job, card, err);
	if (r == 0 && card)
		r = read_card(job, card, err);
	if (r == 0)
		r = read_ranges(job, err);
	return r < 0 ? r : read_shapes(job, err);
}

static int load_golden(struct job *job, struct pk_err *err)
{
	if (!json_is_object(job->files) || !job->card)
		return 0;
	int r = pk_golden_load(job->card, job->files, &job->golden, err);
	job->options.gate_samples = pk_golden_samples(job->golden, &job->options.n_gate_samples);
	if (job->thrift >= PK_BUILD_THRIFT_ONE_SAMPLE && job->options.n_gate_samples > 1)
		job->options.n_gate_samples = 1;
	if (job->thrift >= PK_BUILD_THRIFT_NO_SAMPLE)
		job->options.n_gate_samples = 0; // the golden samples judge the finished engine
	return r;
}

// The verdict that the build left in the engine file.
static int read_verdict(const char *path, struct pk_gate_verdict *verdict,
	const struct pk_gate_profile **profile, json_t **json, struct pk_err *err)
{
	pk_auto(pk_engine) engine = NULL;
	enum pk_mismatch mismatch;
	int r = pk_engine_load(path, NULL, &engine, &mismatch, err);
	if (r < 0)
		return r;
	const struct pk_engine_info *info = pk_engine_info(engine);
	*profile = pk_gate_profile_of_key(info->key_json);
	r = pk_json_parse(info->gate_json, strlen(info->gate_json), "verdict", json, err);
	return r < 0 ? r : pk_gate_verdict_from_json(*json, verdict, err);
}

static int gate_golden(const struct job *job, struct pk_err *err)
{
	struct pk_gate_verdict verdict;
	const struct pk_gate_profile *profile = NULL;
	pk_auto_json json = NULL; // holds the verdict's words
	int r = read_verdict(job->new_path, &verdict, &profile, &json, err);
	if (r == 0 && !profile)
		r = pk_fail(err, -EBADMSG, "the engine's key has no precision");
	if (r == 0)
		r = pk_golden_judge(job->golden, job->new_path, profile, &verdict, err);
	if (r == 0)
		r = pk_gate_verdict_result(&verdict, err);
	return r < 0 ? r : pk_gate_file_record(job->new_path, &verdict, err);
}

// An engine becomes visible under its name only after every gate: a cut in between leaves a file
// that nobody takes.
static int gate_and_place(const struct job *job, struct pk_err *err)
{
	int r = job->golden ? gate_golden(job, err) : 0;
	if (r == 0 && rename(job->new_path, job->engine_path) < 0)
		r = pk_fail_errno(err, "%s", job->engine_path);
	if (r < 0)
		(void)unlink(job->new_path);
	return r;
}

// The model or the engine is at fault, not the moment: trying again gives the same answer.
static bool is_permanent(int code)
{
	return code == -ENOTSUP || code == -EINVAL || code == -EBADE || code == -EDOM ||
	       code == -EFBIG || code == -ENODEV;
}

static void put_result(const struct pk_build_report *report, int code, const struct pk_err *err)
{
	char key[PK_DIGEST_TEXT];
	pk_digest_format(&report->key, key);
	put_line(json_pack("{s:s, s:i, s:s?, s:b, s:s, s:I, s:i, s:i, s:f, s:f, s:I}", "type",
		"result", "code", code, "error", code < 0 ? pk_err_text(err, code) : NULL,
		"permanent", is_permanent(code), "key", key, "engine_bytes",
		(json_int_t)report->engine_bytes, "n_measured", report->n_measured, "n_cache_hits",
		report->n_cache_hits, "max_rel_err", report->max_rel_err, "min_cosine",
		report->min_cosine, "wall_ms", (json_int_t)(report->wall_ns / PK_NS_PER_MS)));
}

// What the sandbox refuses on this machine, for `picketctl doctor`: --try-sandbox.
static int try_sandbox(void)
{
	static const struct pk_sandbox_options nothing;
	struct pk_sandbox_status status;
	struct pk_sandbox_probe probe;
	struct pk_err err = {0};
	char path[64];
	snprintf(path, sizeof(path), "/tmp/picket-sandbox-%d", (int)getpid());
	int r = pk_sandbox_enter(&nothing, &status, &err);
	if (r < 0) {
		put_line(json_pack("{s:s, s:s}", "type", "sandbox", "error", pk_err_text(&err, r)));
		return EXIT_FAILURE;
	}
	pk_sandbox_try(path, &probe);
	put_line(json_pack("{s:s, s:b, s:i, s:b, s:b, s:b, s:b}", "type", "sandbox", "seccomp",
		status.seccomp, "landlock", status.landlock_abi, "socket", probe.socket, "exec",
		probe.exec, "fork", probe.fork, "write", probe.write));
	return probe.socket || probe.exec || probe.fork || probe.write ? EXIT_FAILURE
								       : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	pk_log_init("picket-build", PK_LOG_INFO);
	if (argc == 2 && strcmp(argv[1], "--try-sandbox") == 0)
		return try_sandbox();
	struct pk_err err = {0};
	struct pk_build_report report = {0};
	pk_cleanup(job_finish) struct job job = {0};
	pk_buf_init(&job.card_text, MAX_CARD_BYTES);
	pk_buf_init(&job.ranges, PK_CALIBRATION_MAX_BYTES);
	job.options.progress = on_progress;
	job.options.ctx = &job;
	int r = read_job(&job, &err);
	if (r == 0)
		r = load_golden(&job, &err);
	bool admit = json_is_true(json_object_get(job.json, "admit"));
	if (r == 0 && admit)
		r = pk_admit(&job.options, job.card, &err);
	if (r == 0 && !admit)
		r = pk_engine_build(&job.options, &report, &err);
	if (r == 0 && !admit)
		r = gate_and_place(&job, &err);
	put_result(&report, r, &err);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
