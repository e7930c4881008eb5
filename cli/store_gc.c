// SPDX-License-Identifier: Apache-2.0
// picketctl store gc: what no record of a model names goes, engines of models that went too.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/store.h"
#include "engine/plan/plan.h"

#define ENGINE_SUFFIX ".engine"

struct names {
	PK_ARRAY(char *) items;
};

static void finish_names(struct names *names)
{
	for (size_t i = 0; i < names->items.n; i++)
		free(names->items.items[i]);
	pk_array_finish(&names->items);
}

// The ONNX file that an engine was made of. False: the file tells none, so nobody can load it.
static bool model_of(const char *path, struct pk_digest *out)
{
	pk_auto(pk_plan) plan = NULL;
	pk_auto_json key = NULL;
	enum pk_mismatch mismatch;
	const char *text = NULL;
	if (pk_plan_open(path, &plan, &mismatch, NULL) < 0)
		return false;
	struct pk_plan_section section = pk_plan_section(plan, PK_SECTION_KEY);
	return section.data && pk_json_parse(section.data, section.size, "key", &key, NULL) == 0 &&
	       pk_json_get_str(key, "model", &text, NULL) == 0 && pk_digest_parse(text, out) == 0;
}

static int keep_name(struct names *names, const char *name)
{
	char **slot = pk_array_push(&names->items);
	if (!slot)
		return -ENOMEM;
	*slot = strdup(name);
	return *slot ? 0 : -ENOMEM;
}

// Engines whose model stays; all of them when it is not known what stays.
static int list_engines(const char *folder, const struct pk_store_marks *marks, struct names *out)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	int r = 0;
	for (const struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		struct pk_digest model;
		pk_auto_free char *path = pk_fs_join(folder, entry->d_name);
		if (!path)
			r = -ENOMEM;
		else if (strstr(entry->d_name, ENGINE_SUFFIX) &&
			 (marks->incomplete ||
				 (model_of(path, &model) && pk_store_marks_find(marks, &model))))
			r = keep_name(out, entry->d_name);
	}
	closedir(dir);
	return r;
}

static int sweep_engines(const struct pk_store_view *view, const struct pk_store_args *args,
	struct pk_store_part_usage *removed, struct pk_err *err)
{
	struct names names pk_cleanup(finish_names) = {0};
	struct pk_store_marks marks;
	pk_auto_free char *folder = pk_fs_join(view->path, "engines");
	int r = pk_store_marks_make(&marks, view->store, &view->roots, err);
	if (r == 0)
		r = folder ? list_engines(folder, &marks, &names) : -ENOMEM;
	pk_store_marks_finish(&marks);
	if (r < 0)
		return pk_fail(err, r, "engines: %s", strerror(-r));
	const struct pk_store_sweep sweep = {
		.folder = folder,
		.suffix = ENGINE_SUFFIX,
		.keep = (const char *const *)names.items.items,
		.n_keep = names.items.n,
		.dry_run = args->dry_run,
	};
	return pk_store_sweep_folder(&sweep, removed, err);
}

struct row {
	const char *name, *label;
	const struct pk_store_part_usage *part;
};
#define N_ROWS 4

static void list_rows(const struct pk_store_gc_report *report,
	const struct pk_store_part_usage *engines, struct row out[N_ROWS])
{
	const struct row rows[N_ROWS] = {
		{"blobs", "blobs", &report->blobs},
		{"bad", "bad blobs", &report->bad},
		{"parts", "partial files", &report->parts},
		{"engines", "engines", engines},
	};
	memcpy(out, rows, sizeof(rows));
}

static void print_json(const struct pk_store_args *args, const struct pk_store_gc_report *report,
	const struct row rows[N_ROWS])
{
	json_int_t files = 0, bytes = 0;
	json_t *removed = json_object();
	for (size_t i = 0; i < N_ROWS; i++) {
		files += rows[i].part->n_files;
		bytes += rows[i].part->bytes;
		json_object_set_new(removed, rows[i].name,
			json_pack("{s:i, s:I}", "files", rows[i].part->n_files, "bytes",
				(json_int_t)rows[i].part->bytes));
	}
	pk_auto_json json = json_pack("{s:b, s:I, s:I, s:o, s:{s:i, s:I}, s:s?}", "dry_run",
		args->dry_run, "files", files, "bytes", bytes, "removed", removed, "kept", "files",
		report->kept.n_files, "bytes", (json_int_t)report->kept.bytes, "incomplete",
		report->incomplete ? report->why.text : NULL);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
}

static void print_text(const struct pk_store_args *args, const struct pk_store_gc_report *report,
	const struct row rows[N_ROWS])
{
	char size[PK_SIZE_TEXT];
	for (size_t i = 0; i < N_ROWS; i++) {
		pk_format_size((double)rows[i].part->bytes, size);
		printf("%s %4d %-14s %10s\n", args->dry_run ? "would remove" : "removed",
			rows[i].part->n_files, rows[i].label, size);
	}
	pk_format_size((double)report->kept.bytes, size);
	printf("kept %d blobs, %s\n", report->kept.n_files, size);
	if (report->incomplete)
		fprintf(stderr, "picketctl: no blob was removed: %s\n", report->why.text);
}

static int refuse_blind(
	const struct pk_store_view *view, const struct pk_store_args *args, struct pk_err *err)
{
	if (view->damaged)
		return pk_fail(err, -EBADMSG, "nothing was removed: %s", view->why.text);
	if (view->roots.n == 0 && !args->all)
		return pk_fail(err, -ENOENT,
			"no record in %s names a model, so everything would go; --all does that",
			view->state);
	return 0;
}

int pk_store_gc_verb(const struct pk_store_args *args)
{
	struct pk_err err = {0};
	struct pk_store_view view;
	struct pk_store_gc_report report;
	struct pk_store_part_usage engines = {0};
	struct row rows[N_ROWS];
	int r = pk_store_view_open(&view, args, !args->dry_run, &err);
	if (r == 0)
		r = refuse_blind(&view, args, &err);
	if (r == 0) // first: what they are made of tells which engines stay
		r = sweep_engines(&view, args, &engines, &err);
	if (r == 0)
		r = pk_store_gc(view.store, &view.roots, args->dry_run, &report, &err);
	pk_store_view_close(&view);
	if (r < 0)
		return pk_print_failure(&err, r);
	list_rows(&report, &engines, rows);
	(args->json ? print_json : print_text)(args, &report, rows);
	return report.incomplete ? PK_EXIT_FAIL : PK_EXIT_OK;
}
