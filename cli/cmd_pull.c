// SPDX-License-Identifier: Apache-2.0
// picketctl pull: fetches an artifact into the store, verified, and says what it fetched.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmd.h"
#include "cli/meter.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/transfer.h"
#include "registry/registry.h"

static const char usage[] =
	"usage: picketctl pull REF [OPTIONS]\n"
	"\n"
	"Fetches the artifact that REF names into the store. Every byte is verified against its\n"
	"digest; what is in the store already is not fetched again; a cut transfer is continued.\n"
	"\n"
	"  REF  HOST[:PORT]/NAME:TAG or HOST[:PORT]/NAME@sha256:… (a registry),\n"
	"       oci:FOLDER:TAG (an OCI image layout), file:TAR:TAG (one in a tar file),\n"
	"       https://HOST/PATH#sha256:… (one plain file)\n"
	"\n" PK_TRANSFER_OPTIONS_HELP "\n"
	"Exit code 0: all is in the store; 1: it cannot be; 2: a mistake; 3: not reachable, try\n"
	"again; 4: what came, or the server, is not what it should be.\n";

struct pull {
	struct pk_meter meter;
	bool json;
	json_t *blobs; // array, when json
	int64_t fetched_bytes, present_bytes;
	int n_fetched, n_present;
};

static int on_update(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
	struct pull *pull = ctx;
	pk_meter_update(&pull->meter, done_bytes, total_bytes);
	return 0;
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
	char size[PK_METER_SIZE];
	*(fetched ? &pull->fetched_bytes : &pull->present_bytes) += blob->size;
	*(fetched ? &pull->n_fetched : &pull->n_present) += 1;
	if (pull->json) {
		note_blob(pull, name, blob, fetched);
		return;
	}
	pk_meter_clear(&pull->meter);
	pk_meter_format_size(blob->size, size);
	printf("  %-24s %10s  %s\n", name ? name : "(no name)", size,
		fetched ? "fetched" : "already there");
	fflush(stdout);
}

static void print_json(const struct pull *pull, const struct pk_manifest *manifest,
	const char *store, const struct pk_registry_report *report)
{
	char digest[PK_DIGEST_TEXT];
	char onnx_digest[PK_DIGEST_TEXT] = "";
	const struct pk_descriptor *onnx = pk_manifest_onnx(manifest);
	pk_digest_format(&manifest->digest, digest);
	if (onnx)
		pk_digest_format(&onnx->digest, onnx_digest);
	pk_auto_json json = json_pack("{s:s, s:s, s:s?, s:s?, s:I, s:I, s:i, s:I, s:i, s:s, s:O, "
				      "s:I, s:I, s:i, s:i, s:s}",
		"digest", digest, "artifact_type", manifest->artifact_type, "version",
		manifest->version, "onnx_digest", onnx ? onnx_digest : NULL, "size",
		(json_int_t)manifest->total_size, "fetched_bytes", (json_int_t)pull->fetched_bytes,
		"fetched_blobs", pull->n_fetched, "present_bytes", (json_int_t)pull->present_bytes,
		"present_blobs", pull->n_present, "store", store, "blobs", pull->blobs,
		"received_bytes", (json_int_t)report->received_bytes, "resumed_bytes",
		(json_int_t)report->resumed_bytes, "requests", (int)report->n_requests, "retries",
		(int)report->n_retries, "source", report->source);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
}

static void print_text(const struct pull *pull, const struct pk_manifest *manifest)
{
	char digest[PK_DIGEST_TEXT];
	char total[PK_METER_SIZE];
	char fetched[PK_METER_SIZE];
	pk_digest_format(&manifest->digest, digest);
	pk_meter_format_size(manifest->total_size, total);
	pk_meter_format_size(pull->fetched_bytes, fetched);
	printf("%s\n%s in all, %s fetched in %d blobs, %d already there\n", digest, total, fetched,
		pull->n_fetched, pull->n_present);
	if (!pk_manifest_onnx(manifest))
		fputs("picketctl: note: there is no single ONNX file in this artifact; no engine "
		      "can be built from it\n",
			stderr);
}

static int pull_into(struct pk_transfer *transfer, const char *store_root)
{
	struct pk_err err = {0};
	pk_auto(pk_store) store = NULL;
	pk_auto(pk_manifest) manifest = NULL;
	pk_auto_json blobs = json_array();
	struct pull pull = {.json = transfer->json, .blobs = blobs};
	const struct pk_pull_progress progress = {
		.update = on_update, .ctx = &pull, .blob = on_blob};
	pk_meter_begin(&pull.meter, transfer->json);
	const struct pk_store_options own = pk_store_config_options();
	int rc = pk_store_open_with(store_root, transfer->store ? NULL : &own, &store, &err);
	if (rc == 0)
		rc = pk_pull(transfer->words.at[0], &transfer->options, store, &progress, &manifest,
			&err);
	pk_meter_clear(&pull.meter);
	if (rc < 0)
		return pk_transfer_fail(transfer, &err, rc);
	if (transfer->json)
		print_json(&pull, manifest, store_root, &transfer->report);
	else
		print_text(&pull, manifest);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int run(struct pk_transfer *transfer, const struct pk_ref *ref)
{
	pk_auto_free char *below_root = NULL;
	int code = pk_transfer_prepare(transfer, ref);
	if (code != PK_EXIT_OK)
		return code;
	if (!transfer->store && asprintf(&below_root, "%s/var/lib/picket", pk_cli_root()) < 0) {
		below_root = NULL;
		return pk_transfer_fail(transfer, NULL, -ENOMEM);
	}
	return pull_into(transfer, transfer->store ? transfer->store : below_root);
}

int pk_cmd_pull(int argc, char **argv)
{
	const struct pk_verb_line line = {.verb = "pull",
		.usage = usage,
		.min_args = 1,
		.max_args = 1,
		.wants = "one reference"};
	return pk_transfer_main(line, argc, argv, run);
}
