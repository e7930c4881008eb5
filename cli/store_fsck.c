// SPDX-License-Identifier: Apache-2.0
// picketctl store fsck: every blob hashed, what is bad moved aside, what is missing fetched again.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "config/config.h"
#include "daemon/registries.h"
#include "registry/registry.h"

#define MIB           (1 << 20)
#define WORTH_TELLING (64 * MIB) // less takes no time

struct check {
	const struct pk_store_args *args;
	struct pk_progress progress;
	json_t *blobs; // all that is not ok
	int n_repaired;
	int n_failed; // roots that could not be made whole
	struct pk_err why;
};

static int on_found(void *ctx, enum pk_store_finding finding, const char *name, int64_t size)
{
	struct check *check = ctx;
	if (finding == PK_STORE_OK)
		return 0;
	json_array_append_new(
		check->blobs, json_pack("{s:s, s:s, s:I}", "name", name, "finding",
				      pk_store_finding_name(finding), "size", (json_int_t)size));
	if (!check->args->json) {
		pk_progress_end(&check->progress);
		printf("%-8s %s\n", pk_store_finding_name(finding), name);
	}
	return 0;
}

static int on_progress(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
	struct check *check = ctx;
	if (!check->args->json && total_bytes > WORTH_TELLING)
		pk_progress_tell(&check->progress, "hashing", (int)(done_bytes / MIB),
			(int)(total_bytes / MIB), "MiB");
	return 0;
}

// The reference's repository with this digest: "REPOSITORY@sha256:…". A plain file has no other
// name than its own.
static char *by_digest(const char *text, const char *digest, struct pk_err *err)
{
	struct pk_ref ref;
	char *out = NULL;
	int n = -1;
	if (pk_ref_parse(text, &ref, err) < 0)
		return NULL;
	if (ref.name)
		n = asprintf(&out, "%s/%s@%s", ref.location, ref.name, digest);
	else if (strcmp(ref.scheme, "https") == 0)
		n = asprintf(&out, "%s", text);
	else
		n = asprintf(&out, "%s:%s@%s", ref.scheme, ref.location, digest);
	pk_ref_finish(&ref);
	return n < 0 ? NULL : out;
}

static int pull_root(const char *ref, const struct pk_digest *root,
	const struct pk_registry_options *options, struct pk_store *store, struct pk_err *err)
{
	char digest[PK_DIGEST_TEXT];
	pk_auto(pk_manifest) manifest = NULL;
	pk_digest_format(root, digest);
	pk_auto_free char *text = by_digest(ref, digest, err);
	if (!text)
		return -EINVAL;
	return pk_pull(text, options, store, NULL, &manifest, err);
}

// Which model of the config a root belongs to is not asked: its repository has it or has it not.
static int repair_root(struct check *check, const struct pk_store_view *view,
	const struct pk_config *config, const struct pk_digest *root)
{
	struct pk_registries hosts = {0};
	int r = config ? pk_registries_copy(config, &hosts) : 0;
	if (r < 0)
		return r;
	const struct pk_registry_options options = {.hosts = hosts.hosts, .n_hosts = hosts.n};
	r = -ENOENT;
	if (check->args->from)
		r = pull_root(check->args->from, root, &options, view->store, &check->why);
	for (size_t i = 0; r < 0 && config && !check->args->from && i < config->n_models; i++)
		r = pull_root(config->models[i].artifact, root, &options, view->store, &check->why);
	if (r == -ENOENT && !check->why.text[0])
		(void)pk_fail(
			&check->why, r, "no model of the config to fetch it from; --from REF");
	pk_registries_finish(&hosts);
	return r;
}

static int repair(struct check *check, const struct pk_store_view *view, struct pk_err *err)
{
	pk_auto(pk_config) config = check->args->from ? NULL : pk_store_config();
	for (size_t i = 0; i < view->roots.n; i++) {
		const struct pk_digest *root = &view->roots.manifests[i];
		int before = pk_store_count_missing(view->store, root, err);
		if (before < 0)
			return before;
		if (before == 0)
			continue;
		int after = repair_root(check, view, config, root) < 0
				    ? 1
				    : pk_store_count_missing(view->store, root, err);
		check->n_repaired += after == 0 ? before : 0;
		check->n_failed += after != 0;
	}
	return 0;
}

static void print_report(const struct check *check, const struct pk_store_fsck_report *report)
{
	const int *n = report->n;
	char size[PK_SIZE_TEXT];
	pk_format_size((double)report->bytes, size);
	if (!check->args->json) {
		printf("%s hashed: %d ok, %d bad, %d missing, %d foreign", size, n[PK_STORE_OK],
			n[PK_STORE_BAD], n[PK_STORE_MISSING], n[PK_STORE_FOREIGN]);
		printf(check->args->repair ? ", %d fetched again\n" : "\n", check->n_repaired);
		return;
	}
	pk_auto_json json = json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:O, s:s?}", "ok",
		n[PK_STORE_OK], "bad", n[PK_STORE_BAD], "missing", n[PK_STORE_MISSING], "foreign",
		n[PK_STORE_FOREIGN], "repaired", check->n_repaired, "bytes",
		(json_int_t)report->bytes, "blobs", check->blobs, "error",
		check->why.text[0] ? check->why.text : NULL);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
}

static int conclude(const struct check *check, const struct pk_store_view *view,
	const struct pk_store_fsck_report *report)
{
	print_report(check, report);
	if (view->damaged)
		fprintf(stderr, "picketctl: %s\n", view->why.text);
	if (check->n_failed > 0)
		fprintf(stderr, "picketctl: not repaired: %s\n", check->why.text);
	bool sound = check->args->repair
			     ? check->n_failed == 0
			     : report->n[PK_STORE_BAD] + report->n[PK_STORE_MISSING] == 0;
	return sound && !view->damaged ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_store_fsck_verb(const struct pk_store_args *args)
{
	struct pk_err err = {0};
	struct pk_store_view view;
	struct pk_store_fsck_report report = {0};
	pk_auto_json blobs = json_array();
	struct check check = {.args = args, .blobs = blobs};
	const struct pk_store_fsck_watch watch = {
		.found = on_found, .progress = on_progress, .ctx = &check};
	int code = PK_EXIT_FAIL;
	pk_progress_begin(&check.progress);
	int r = pk_store_view_open(&view, args, false, &err);
	if (r == 0)
		r = pk_store_fsck(view.store, &view.roots, &watch, &report, &err);
	pk_progress_end(&check.progress);
	if (r == 0 && args->repair)
		r = repair(&check, &view, &err);
	if (r < 0)
		(void)pk_print_failure(&err, r);
	else
		code = conclude(&check, &view, &report);
	pk_store_fsck_report_finish(&report);
	pk_store_view_close(&view);
	return code;
}
