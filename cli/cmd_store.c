// SPDX-License-Identifier: Apache-2.0
// picketctl store: looks after the files on this node, with or without picketd.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/store.h"
#include "config/config.h"

static const char usage[] =
	"usage: picketctl store VERB [OPTIONS]\n"
	"\n"
	"  usage            what the store holds, its quota and reserve, the room on the disk\n"
	"  gc [--dry-run]   removes what no record of a model names: blobs, bad blobs, engines,\n"
	"                   partial files of a week ago; not while picketd runs\n"
	"  fsck [--repair]  hashes every blob, moves bad ones aside, lists what is missing;\n"
	"                   --repair fetches that again\n"
	"\n"
	"  --store DIR      the store (default: ROOT/var/lib/picket); its records are in "
	"DIR/state\n"
	"  --from REF       with --repair: fetch from this repository (default: the models' own)\n"
	"  --all            with gc: also when no record names anything, so that all would go\n"
	"  --json           one JSON object instead of text\n"
	"\n"
	"Exit code 0: done and sound, 1: something is bad or missing, or it did not work.\n";

// The picketd of this root holds it for life (daemon/main.c). Where nobody ever ran, nobody runs.
static int lock_out_daemon(struct pk_store_view *view, struct pk_err *err)
{
	pk_auto_free char *path = pk_fs_join(pk_cli_root(), "run/picket/picketd.lock");
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	view->daemon_lock = open(pk_cli_root()[0] ? path : "/run/picket/picketd.lock",
		O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (view->daemon_lock < 0)
		return errno == ENOENT ? 0 : pk_fail_errno(err, "%s", path);
	if (flock(view->daemon_lock, LOCK_EX | LOCK_NB) < 0)
		return pk_fail(err, -EBUSY,
			"picketd runs on this store: stop it first, or leave the cleaning to it");
	return 0;
}

struct pk_config *pk_store_config(void)
{
	struct pk_config *config = NULL;
	struct pk_problems problems = {0};
	pk_auto_free char *path = pk_fs_join(pk_cli_root(), "etc/picket/picket.yaml");
	pk_auto_free char *drop_ins = pk_fs_join(pk_cli_root(), "etc/picket/picket.d");
	if (!path || !drop_ins || pk_config_load(path, drop_ins, &config, &problems) < 0)
		config = NULL;
	pk_problems_finish(&problems);
	return config;
}

struct pk_store_options pk_store_config_options(void)
{
	struct pk_store_options options = {0};
	pk_auto(pk_config) config = pk_store_config();
	if (config) {
		options.quota_bytes = config->store.quota_bytes;
		options.reserve_bytes = config->store.reserve_bytes;
	}
	return options;
}

static int open_store(struct pk_store_view *view, struct pk_err *err)
{
	const struct pk_store_options options = pk_store_config_options();
	pk_auto_free char *blobs = pk_fs_join(view->path, "blobs/sha256");
	if (!blobs)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (!pk_fs_exists(blobs))
		return pk_fail(err, -ENOENT, "%s: there is no store", view->path);
	return pk_store_open_with(view->path, &options, &view->store, err);
}

int pk_store_view_open(struct pk_store_view *view, const struct pk_store_args *args, bool alone,
	struct pk_err *err)
{
	*view = (struct pk_store_view){.daemon_lock = -1};
	int n = args->store ? asprintf(&view->path, "%s", args->store)
			    : asprintf(&view->path, "%s/var/lib/picket", pk_cli_root());
	if (n < 0)
		view->path = NULL;
	view->state = view->path ? pk_fs_join(view->path, "state") : NULL;
	if (!view->state)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = alone && !args->store ? lock_out_daemon(view, err) : 0;
	if (r == 0)
		r = open_store(view, err);
	if (r < 0)
		return r;
	r = pk_store_roots_read(view->state, &view->roots, &view->why);
	view->damaged = r == -EBADMSG;
	return r == 0 || view->damaged ? 0 : pk_fail(err, r, "%s", pk_err_text(&view->why, r));
}

void pk_store_view_close(struct pk_store_view *view)
{
	pk_store_close(view->store);
	pk_store_roots_finish(&view->roots);
	free(view->path);
	free(view->state);
	if (view->daemon_lock >= 0)
		close(view->daemon_lock);
	*view = (struct pk_store_view){.daemon_lock = -1};
}

static json_t *part_json(const struct pk_store_part_usage *part)
{
	return json_pack("{s:i, s:I}", "files", part->n_files, "bytes", (json_int_t)part->bytes);
}

static void print_usage_json(
	const struct pk_store_view *view, const struct pk_store_usage_detail *detail)
{
	pk_auto_json json = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:i}", "store", view->path,
		"blobs", part_json(&detail->blobs), "bad", part_json(&detail->bad), "parts",
		part_json(&detail->parts), "engines", part_json(&detail->engines), "timing",
		part_json(&detail->timing), "total_bytes", (json_int_t)detail->total_bytes,
		"quota_bytes", (json_int_t)detail->quota_bytes, "reserve_bytes",
		(json_int_t)detail->reserve_bytes, "disk_free_bytes",
		(json_int_t)detail->disk_free_bytes, "disk_bytes", (json_int_t)detail->disk_bytes,
		"roots", (int)view->roots.n);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
}

static void print_usage_text(
	const struct pk_store_view *view, const struct pk_store_usage_detail *detail)
{
	const struct {
		const char *name;
		const struct pk_store_part_usage *part;
	} rows[] = {
		{"blobs", &detail->blobs},
		{"bad blobs", &detail->bad},
		{"partial files", &detail->parts},
		{"engines", &detail->engines},
		{"timing caches", &detail->timing},
	};
	char size[PK_SIZE_TEXT], quota[PK_SIZE_TEXT], reserve[PK_SIZE_TEXT], left[PK_SIZE_TEXT];
	puts(view->path);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		pk_format_size((double)rows[i].part->bytes, size);
		printf("  %-14s %10s  %d files\n", rows[i].name, size, rows[i].part->n_files);
	}
	pk_format_size((double)detail->total_bytes, size);
	pk_format_size((double)detail->quota_bytes, quota);
	pk_format_size((double)detail->reserve_bytes, reserve);
	pk_format_size((double)detail->disk_free_bytes, left);
	printf("  %-14s %10s  of %s\n", "total", size, detail->quota_bytes ? quota : "no quota");
	printf("  %-14s %10s  of it %s kept in reserve\n", "disk free", left, reserve);
}

int pk_store_usage_verb(const struct pk_store_args *args)
{
	struct pk_err err = {0};
	struct pk_store_view view;
	struct pk_store_usage_detail detail;
	int r = pk_store_view_open(&view, args, false, &err);
	if (r == 0)
		r = pk_store_usage_detail(view.store, &detail, &err);
	if (r == 0 && args->json)
		print_usage_json(&view, &detail);
	else if (r == 0)
		print_usage_text(&view, &detail);
	pk_store_view_close(&view);
	return r < 0 ? pk_print_failure(&err, r) : PK_EXIT_OK;
}

// Runs verb with what its line says.
static int run(
	const char *name, int (*verb)(const struct pk_store_args *args), int argc, char **argv)
{
	struct pk_store_args args = {0};
	const struct pk_option rows[] = {
		PK_TEXT("store", &args.store),
		PK_TEXT("from", &args.from),
		{.name = "dry-run", .letter = 'n', .to = &args.dry_run},
		PK_FLAG("repair", &args.repair),
		PK_FLAG("all", &args.all),
		PK_FLAG("json", &args.json),
	};
	const struct pk_verb_line line = {name, usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	return code == PK_GO_ON ? verb(&args) : code;
}

static int store_usage(int argc, char **argv)
{
	return run("store usage", pk_store_usage_verb, argc, argv);
}

static int store_gc(int argc, char **argv)
{
	return run("store gc", pk_store_gc_verb, argc, argv);
}

static int store_fsck(int argc, char **argv)
{
	return run("store fsck", pk_store_fsck_verb, argc, argv);
}

int pk_cmd_store(int argc, char **argv)
{
	static const struct pk_verb verbs[] = {
		{"usage", store_usage}, {"gc", store_gc}, {"fsck", store_fsck}};
	return PK_RUN_VERB("store", usage, verbs, argc, argv);
}
