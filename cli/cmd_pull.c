// SPDX-License-Identifier: Apache-2.0
// picketctl pull: fetches an artifact into the store, verified, and says what it fetched.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "registry/registry.h"

#define SIZE_TEXT_MAX   32
#define REDRAW_EVERY_NS (PK_NS_PER_S / 10)

static const char usage[] =
	"usage: picketctl pull REF [--store DIR] [--json]\n"
	"\n"
	"Fetches the artifact that REF names into the store. Every byte is verified against its\n"
	"digest; what is in the store already is not fetched again; a cut transfer is continued.\n"
	"\n"
	"  REF           oci:FOLDER:TAG or oci:FOLDER@sha256:… (an OCI image layout)\n"
	"  --store DIR   the store (default: ROOT/var/lib/picket)\n"
	"  --json        one JSON object instead of text\n";

struct options {
	const char *ref;
	const char *store; // NULL: below the root
	bool json;
	bool help;
};

struct pull {
	bool draw; // a progress line on the terminal
	bool json;
	json_t *blobs; // array, when json
	int64_t start_ns;
	int64_t drawn_ns;   // 0: nothing was drawn yet
	int64_t first_done; // done bytes at the start: continued, not transferred
	int64_t fetched_bytes, present_bytes;
	int n_fetched, n_present;
};

static void format_size(int64_t bytes, char out[SIZE_TEXT_MAX])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes / 1024;
	size_t i = 0;
	if (bytes < 1024) {
		snprintf(out, SIZE_TEXT_MAX, "%" PRId64 " B", bytes);
		return;
	}
	for (; v >= 1024 && i + 1 < PK_ARRAY_LEN(units); i++)
		v /= 1024;
	snprintf(out, SIZE_TEXT_MAX, "%.1f %s", v, units[i]);
}

static void draw(const struct pull *pull, int64_t now_ns, int64_t done, int64_t total)
{
	char done_text[SIZE_TEXT_MAX];
	char total_text[SIZE_TEXT_MAX];
	char rate_text[SIZE_TEXT_MAX];
	char left_text[PK_DURATION_MAX] = "?";
	double seconds = (double)(now_ns - pull->start_ns) / (double)PK_NS_PER_S;
	double rate = seconds > 0 ? (double)(done - pull->first_done) / seconds : 0;
	format_size(done, done_text);
	format_size(total, total_text);
	format_size((int64_t)rate, rate_text);
	if (rate > 0 && seconds > 0.5) // earlier it is a wild guess
		pk_format_duration(
			(int64_t)((double)(total - done) / rate * (double)PK_NS_PER_S), left_text);
	fprintf(stderr, "\r\033[K%3d%%  %s of %s  %s/s  %s left",
		total > 0 ? (int)((double)done / (double)total * 100) : 100, done_text, total_text,
		rate_text, left_text);
}

static int on_update(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
	struct pull *pull = ctx;
	int64_t now_ns = pk_now_ns();
	if (pull->start_ns == 0) {
		pull->start_ns = now_ns;
		pull->first_done = done_bytes;
	}
	if (!pull->draw || now_ns - pull->drawn_ns < REDRAW_EVERY_NS)
		return 0;
	draw(pull, now_ns, done_bytes, total_bytes);
	pull->drawn_ns = now_ns;
	return 0;
}

static void clear_line(struct pull *pull)
{
	if (pull->drawn_ns != 0)
		fputs("\r\033[K", stderr);
	pull->drawn_ns = 0;
}

static void note_blob(
	struct pull *pull, const char *name, const struct pk_descriptor *blob, bool fetched)
{
	char digest[PK_DIGEST_TEXT];
	pk_digest_format(&blob->digest, digest);
	json_array_append_new(
		pull->blobs, json_pack("{s:s?, s:s, s:s, s:I, s:b}", "name", name, "digest", digest,
				     "media_type", blob->media_type, "size", (json_int_t)blob->size,
				     "fetched", fetched));
}

static void on_blob(void *ctx, const char *name, const struct pk_descriptor *blob, bool fetched)
{
	struct pull *pull = ctx;
	char size[SIZE_TEXT_MAX];
	*(fetched ? &pull->fetched_bytes : &pull->present_bytes) += blob->size;
	*(fetched ? &pull->n_fetched : &pull->n_present) += 1;
	if (pull->json) {
		note_blob(pull, name, blob, fetched);
		return;
	}
	clear_line(pull);
	format_size(blob->size, size);
	printf("  %-24s %10s  %s\n", name ? name : "(no name)", size,
		fetched ? "fetched" : "already there");
	fflush(stdout);
}

static void print_json(
	const struct pull *pull, const struct pk_manifest *manifest, const char *store)
{
	char digest[PK_DIGEST_TEXT];
	char onnx_digest[PK_DIGEST_TEXT] = "";
	const struct pk_descriptor *onnx = pk_manifest_onnx(manifest);
	pk_digest_format(&manifest->digest, digest);
	if (onnx)
		pk_digest_format(&onnx->digest, onnx_digest);
	pk_auto_json json = json_pack("{s:s, s:s, s:s?, s:s?, s:I, s:I, s:i, s:I, s:i, s:s, s:O}",
		"digest", digest, "artifact_type", manifest->artifact_type, "version",
		manifest->version, "onnx_digest", onnx ? onnx_digest : NULL, "size",
		(json_int_t)manifest->total_size, "fetched_bytes", (json_int_t)pull->fetched_bytes,
		"fetched_blobs", pull->n_fetched, "present_bytes", (json_int_t)pull->present_bytes,
		"present_blobs", pull->n_present, "store", store, "blobs", pull->blobs);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
}

static void print_text(const struct pull *pull, const struct pk_manifest *manifest)
{
	char digest[PK_DIGEST_TEXT];
	char total[SIZE_TEXT_MAX];
	char fetched[SIZE_TEXT_MAX];
	pk_digest_format(&manifest->digest, digest);
	format_size(manifest->total_size, total);
	format_size(pull->fetched_bytes, fetched);
	printf("%s\n%s in all, %s fetched in %d blobs, %d already there\n", digest, total, fetched,
		pull->n_fetched, pull->n_present);
	if (!pk_manifest_onnx(manifest))
		fputs("picketctl: note: there is no single ONNX file in this artifact; no engine "
		      "can be built from it\n",
			stderr);
}

static int fail(const struct pk_err *err, int rc)
{
	fprintf(stderr, "picketctl: %s\n", pk_err_text(err, rc));
	return PK_EXIT_FAIL;
}

static int pull_into(const struct options *options, const char *store_root)
{
	struct pk_err err = {0};
	pk_auto(pk_store) store = NULL;
	pk_auto(pk_manifest) manifest = NULL;
	pk_auto_json blobs = json_array();
	struct pull pull = {
		.draw = !options->json && isatty(STDERR_FILENO),
		.json = options->json,
		.blobs = blobs,
	};
	const struct pk_pull_progress progress = {
		.update = on_update, .ctx = &pull, .blob = on_blob};
	int rc = pk_store_open(store_root, 0, &store, &err);
	if (rc < 0)
		return fail(&err, rc);
	rc = pk_pull(options->ref, NULL, store, &progress, &manifest, &err);
	clear_line(&pull);
	if (rc < 0)
		return fail(&err, rc);
	if (options->json)
		print_json(&pull, manifest, store_root);
	else
		print_text(&pull, manifest);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{"store", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	optind = 0; // main has used getopt before
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			out->store = optarg;
			break;
		case 'j':
			out->json = true;
			break;
		case 'h':
			out->help = true;
			break;
		default:
			return -EINVAL;
		}
	}
	if (out->help)
		return 0;
	if (argc - optind != 1)
		return -EINVAL;
	out->ref = argv[optind];
	return 0;
}

// A reference that cannot be one is a mistake on the command line, not a failed pull.
static int check_ref(const char *text)
{
	struct pk_ref ref;
	struct pk_err err = {0};
	int rc = pk_ref_parse(text, &ref, &err);
	if (rc < 0) {
		fail(&err, rc);
		return PK_EXIT_USAGE;
	}
	pk_ref_finish(&ref);
	return PK_EXIT_OK;
}

int pk_cmd_pull(int argc, char **argv)
{
	struct options options = {0};
	if (parse_options(argc, argv, &options) < 0) {
		fputs("picketctl: pull takes one reference\nsee picketctl pull --help\n", stderr);
		return PK_EXIT_USAGE;
	}
	if (options.help) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	int code = check_ref(options.ref);
	if (code != PK_EXIT_OK)
		return code;
	pk_auto_free char *below_root = NULL;
	if (!options.store && asprintf(&below_root, "%s/var/lib/picket", pk_cli_root()) < 0) {
		below_root = NULL;
		return fail(NULL, -ENOMEM);
	}
	return pull_into(&options, options.store ? options.store : below_root);
}
