// SPDX-License-Identifier: Apache-2.0
// picketctl model: each model, where it stands and why, and what an operator does with its updates.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/model_follow.h"
#include "cli/options.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] =
	"usage: picketctl model VERB [NAME] [--json]\n"
	"\n"
	"  list                  each model: rung, update, build under way\n"
	"  show NAME             everything about one\n"
	"  explain NAME          why nothing happens to it, or what does\n"
	"  history NAME          what became of its updates, newest last\n"
	"  check NAME            look for a new one now\n"
	"  pull NAME             look, and take it whatever window and rollout say; waits and "
	"shows\n"
	"                        progress unless --no-wait\n"
	"  cancel NAME           give up the update that is under way\n"
	"  rollback NAME         back to the model before; this one is not taken again\n"
	"  pin NAME [DIGEST]     stay at DIGEST, or at the active one; --allow-downgrade takes an "
	"older\n"
	"                        one than what was seen\n"
	"  unpin NAME            follow the reference again\n"
	"  rebuild NAME          forget remembered failures and build its engine anew\n"
	"\n"
	"Exit code: 0 done, 1 refused or failed, 2 bad command line.\n";

static const char *const headings[] = {
	"MODEL", "RUNG", "RUNTIME", "UPDATE", "ACTIVE", "SINCE", "BUILD", "ARTIFACT", "CAUSE"};

static void add_build(struct pk_table *table, const json_t *model)
{
	const json_t *build = json_object_get(model, "build");
	char left[PK_DURATION_MAX];
	if (!json_is_object(build)) {
		bool waits = json_is_number(json_object_get(model, "next_retry_s"));
		double wait_s = pk_json_number(model, "next_retry_s");
		pk_format_duration((int64_t)(wait_s * (double)PK_NS_PER_S), left);
		pk_table_add(table, "%s%s", waits ? "again in " : "", waits ? left : "");
		return;
	}
	const json_t *eta = json_object_get(build, "eta_s");
	pk_format_duration((int64_t)(json_number_value(eta) * (double)PK_NS_PER_S), left);
	pk_table_add(table, "%s %s %.0f/%.0f%s%s", pk_json_text(build, "kind"),
		pk_json_text(build, "phase"), pk_json_number(build, "done"),
		pk_json_number(build, "total"), json_is_number(eta) ? ", left " : "",
		json_is_number(eta) ? left : "");
}

static void add_row(struct pk_table *table, const json_t *model)
{
	const json_t *update = json_object_get(model, "update");
	const char *cause = pk_json_text(model, "cause");
	pk_table_add(table, "%s", pk_json_text(model, "name"));
	pk_table_add(table, "%s", pk_json_text(model, "rung"));
	pk_table_add(table, "%s", pk_json_text(model, "runtime"));
	pk_table_add(table, "%s", pk_json_text(update, "phase"));
	pk_table_add(table, "%.19s", pk_json_text(json_object_get(update, "active"), "digest"));
	pk_table_add(table, "%.19sZ", pk_json_text(model, "since"));
	add_build(table, model);
	pk_table_add(table, "%s", pk_json_text(model, "artifact"));
	pk_table_add(table, "%s", cause[0] ? cause : pk_json_text(update, "reason"));
}

static void print_list(const json_t *answer)
{
	struct pk_table table = {.headings = headings, .n_columns = PK_ARRAY_LEN(headings)};
	size_t i;
	json_t *model;
	json_array_foreach (json_object_get(answer, "models"), i, model)
		add_row(&table, model);
	pk_table_print(&table);
	pk_table_finish(&table);
}

static void print_slot(const char *what, const json_t *slot)
{
	if (!json_is_object(slot))
		return;
	const char *version = pk_json_text(slot, "version");
	printf("%-10s %s%s%s", what, pk_json_text(slot, "digest"), version[0] ? "  version " : "",
		version);
	if (json_is_integer(json_object_get(slot, "seq")))
		printf("  seq %.0f", pk_json_number(slot, "seq"));
	putchar('\n');
}

static void print_line(const char *what, const char *text)
{
	if (text[0])
		printf("%-10s %s\n", what, text);
}

static void print_quarantine(const json_t *update)
{
	size_t i;
	json_t *entry;
	json_array_foreach (json_object_get(update, "quarantine"), i, entry) {
		char until[PK_ISO_TIME_MAX] = "";
		double until_s = pk_json_number(entry, "until_s");
		if (until_s > 0)
			pk_format_iso_time((int64_t)until_s * PK_NS_PER_S, until);
		printf("%-10s %s: %s%s%s\n", "quarantine", pk_json_text(entry, "digest"),
			pk_json_text(entry, "reason"), until[0] ? ", until " : "", until);
	}
}

static void print_one(const json_t *model)
{
	const json_t *update = json_object_get(model, "update");
	const json_t *baseline = json_object_get(update, "baseline");
	print_line("model", pk_json_text(model, "name"));
	print_line("artifact", pk_json_text(model, "artifact"));
	print_line("rung", pk_json_text(model, "rung"));
	print_line("cause", pk_json_text(model, "cause"));
	print_line("runtime", pk_json_text(model, "runtime"));
	print_line("update", pk_json_text(update, "phase"));
	print_line("reason", pk_json_text(update, "reason"));
	print_slot("active", json_object_get(update, "active"));
	print_slot("previous", json_object_get(update, "previous"));
	print_slot("candidate", json_object_get(update, "candidate"));
	print_line("pinned", pk_json_text(update, "pinned"));
	print_quarantine(update);
	if (json_is_object(baseline))
		printf("%-10s %.1f results/s, %.1f ms (p95), %.2f detections per frame\n",
			"baseline", pk_json_number(baseline, "fps"),
			pk_json_number(baseline, "p95_ms"), pk_json_number(baseline, "detections"));
}

static void print_explain(const json_t *answer)
{
	size_t i;
	json_t *text;
	json_array_foreach (json_object_get(answer, "lines"), i, text)
		printf("- %s\n", json_string_value(text));
}

static void print_history(const json_t *answer)
{
	size_t i;
	json_t *entry;
	json_array_foreach (json_object_get(answer, "history"), i, entry) {
		const char *reason = pk_json_text(entry, "reason");
		printf("%.19sZ  %-11s  %s%s%s\n", pk_json_text(entry, "time"),
			pk_json_text(entry, "what"), pk_json_text(entry, "digest"),
			reason[0] ? "  " : "", reason);
	}
}

struct verb {
	const char *name, *method;
	const char *suffix; // of the path; NULL: none
	int max_args;       // 1: the model's name, 2: a digest too, which --allow-downgrade is for
	bool waits;         // unless --no-wait
	const char *done;   // POST: what is said then
	void (*print)(const json_t *answer);
};

static const struct verb verbs[] = {
	{"list", "GET", NULL, 0, false, NULL, print_list},
	{"show", "GET", NULL, 1, false, NULL, print_one},
	{"explain", "GET", "explain", 1, false, NULL, print_explain},
	{"history", "GET", "history", 1, false, NULL, print_history},
	{"check", "POST", "check", 1, false, "it is looked for", NULL},
	{"pull", "POST", "pull", 1, true, "it is looked for", NULL},
	{"cancel", "POST", "cancel", 1, false, "the update is cancelled", NULL},
	{"rollback", "POST", "rollback", 1, false, "back to the model before", NULL},
	{"pin", "POST", "pin", 2, false, "pinned", NULL},
	{"unpin", "POST", "unpin", 1, false, "follows its reference again", NULL},
	{"rebuild", "POST", PK_API_REBUILD, 1, false, "its engine is built anew", NULL},
};

struct options {
	const char *name, *digest; // NULL: not given
	bool json, no_wait, any_seq;
};

static char *path_of(const struct verb *verb, const struct options *options)
{
	if (!options->name)
		return strdup(PK_API_MODELS);
	char *path = pk_client_path(PK_API_MODELS, options->name, verb->suffix);
	char *with = NULL;
	if (!path || (!options->digest && !options->any_seq))
		return path;
	// A digest has nothing in it that a query would have to escape; others are refused there.
	int n = asprintf(&with, "%s?%s%.80s%s", path, options->digest ? "digest=" : "",
		options->digest ? options->digest : "", options->any_seq ? "&any_seq=1" : "");
	free(path);
	return n < 0 ? NULL : with;
}

static void print_answer(
	const struct verb *verb, const struct options *options, const struct pk_answer *answer)
{
	if (options->json)
		puts(answer->text);
	else if (verb->print)
		verb->print(answer->json);
	else
		printf("%s: %s\n", options->name, verb->done);
}

static int run(const struct verb *verb, const struct options *options)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	pk_auto_free char *path = path_of(verb, options);
	int r = pk_client_call(verb->method, path ? path : PK_API_MODELS, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	bool ok = answer.status == 200;
	bool follow = ok && verb->waits && !options->no_wait;
	if (!ok)
		fprintf(stderr, "picketctl: %s\n", pk_json_text(answer.json, "error"));
	else if (!follow)
		print_answer(verb, options, &answer);
	pk_answer_finish(&answer);
	if (follow)
		return pk_model_follow(options->name, options->json);
	return ok ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int dispatch(const struct verb *verb, int argc, char **argv)
{
	struct options options = {0};
	struct pk_words words;
	char name[32];
	struct pk_option rows[2] = {PK_FLAG("json", &options.json)};
	if (verb->waits)
		rows[1] = (struct pk_option)PK_FLAG("no-wait", &options.no_wait);
	if (verb->max_args == 2)
		rows[1] = (struct pk_option)PK_FLAG("allow-downgrade", &options.any_seq);
	snprintf(name, sizeof(name), "model %s", verb->name);
	const struct pk_verb_line line = {name, usage, rows, rows[1].name ? 2 : 1,
		verb->max_args > 0, verb->max_args,
		verb->max_args == 2 ? "a model and at most one digest" : "one model"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	options.name = words.at[0];
	options.digest = words.n == 2 ? words.at[1] : NULL;
	return run(verb, &options);
}

int pk_cmd_model(int argc, char **argv)
{
	for (size_t i = 0; argc >= 2 && i < PK_ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return dispatch(&verbs[i], argc - 1, argv + 1);
	}
	return pk_run_verb("model", usage, NULL, 0, argc, argv);
}

int pk_cmd_models(int argc, char **argv)
{
	return dispatch(&verbs[0], argc, argv);
}
