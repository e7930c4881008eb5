// SPDX-License-Identifier: Apache-2.0
// Command lines by getopt, told in our words.
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/cmd.h"
#include "config/quantity.h"

#define FIRST_OPTION 256 // beyond the single letters

static const char *take_number(const struct pk_option *option, const char *text)
{
	static struct pk_err err;
	double *to = option->to;
	if (pk_quantity_float(text, to, &err) == 0 && *to >= option->min && *to <= option->max)
		return NULL;
	(void)pk_fail(&err, -1, "a number from %g to %g is wanted", option->min, option->max);
	return err.text;
}

static const char *take_quantity(const struct pk_option *option, const char *text)
{
	static struct pk_err err;
	int r = option->kind == PK_OPTION_BYTES ? pk_quantity_bytes(text, option->to, &err)
						: pk_quantity_duration(text, option->to, &err);
	return r < 0 ? pk_err_text(&err, r) : NULL;
}

static const char *take(const struct pk_option *option, const char *text)
{
	switch (option->kind) {
	case PK_OPTION_FLAG:
		*(bool *)option->to = true;
		return NULL;
	case PK_OPTION_TEXT:
		memcpy(option->to, &text, sizeof(text)); // const or not, as its owner has it
		return NULL;
	case PK_OPTION_NUMBER:
		return take_number(option, text);
	case PK_OPTION_DURATION:
	case PK_OPTION_BYTES:
		return take_quantity(option, text);
	case PK_OPTION_CALL:
		return option->take(option->to, text);
	}
	return "it cannot be taken";
}

// The tables that getopt wants.
static void translate(const struct pk_verb_line *line, struct option longs[PK_MAX_OPTIONS + 2],
	char letters[2 * PK_MAX_OPTIONS + 3])
{
	char *letter = letters;
	*letter++ = ':'; // a missing value is told apart
	*letter++ = 'h';
	for (size_t i = 0; i < line->n_options; i++) {
		const struct pk_option *option = &line->options[i];
		bool flag = option->kind == PK_OPTION_FLAG;
		longs[i] = (struct option){option->name, flag ? no_argument : required_argument,
			NULL, FIRST_OPTION + (int)i};
		if (option->letter) {
			*letter++ = option->letter;
			if (!flag)
				*letter++ = ':';
		}
	}
	*letter = '\0';
	longs[line->n_options] = (struct option){"help", no_argument, NULL, 'h'};
	longs[line->n_options + 1] = (struct option){0};
}

static const struct pk_option *find(const struct pk_verb_line *line, int c)
{
	if (c >= FIRST_OPTION)
		return &line->options[c - FIRST_OPTION];
	for (size_t i = 0; i < line->n_options; i++)
		if (line->options[i].letter == c)
			return &line->options[i];
	return NULL;
}

static int complain(const struct pk_verb_line *line, const char *word, const char *why)
{
	char text[256];
	snprintf(text, sizeof(text), "%.100s: %.140s", word, why);
	return pk_usage_mistake(line->verb, text);
}

static int take_all(const struct pk_verb_line *line, int argc, char **argv)
{
	struct option longs[PK_MAX_OPTIONS + 2];
	char letters[2 * PK_MAX_OPTIONS + 3];
	translate(line, longs, letters);
	optind = 0; // getopt begins anew
	opterr = 0;
	for (int c; (c = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
		if (c == 'h') {
			fputs(line->usage, stdout);
			return PK_EXIT_OK;
		}
		const struct pk_option *option = c == '?' || c == ':' ? NULL : find(line, c);
		if (!option)
			return complain(line, argv[optind - 1],
				c == ':' ? "it wants a value" : "there is no such option");
		const char *wrong = take(option, optarg);
		if (wrong) {
			char word[64];
			snprintf(word, sizeof(word), "--%s", option->name);
			return complain(line, word, wrong);
		}
	}
	return PK_GO_ON;
}

int pk_options_parse(const struct pk_verb_line *line, int argc, char **argv, struct pk_words *rest)
{
	int code = line->n_options <= PK_MAX_OPTIONS ? take_all(line, argc, argv) : PK_EXIT_FAIL;
	if (code != PK_GO_ON)
		return code;
	int n = argc - optind;
	if (n < line->min_args || n > line->max_args) {
		char why[160];
		snprintf(why, sizeof(why), "it takes %s",
			line->max_args == 0 ? "options only" : line->wants);
		return pk_usage_mistake(line->verb, why);
	}
	if (rest)
		*rest = (struct pk_words){.at = argv + optind, .n = n};
	return PK_GO_ON;
}

int pk_usage_mistake(const char *verb, const char *why)
{
	fprintf(stderr, "picketctl: %s: %s\nsee picketctl %s --help\n", verb, why, verb);
	return PK_EXIT_USAGE;
}

int pk_run_verb(const char *group, const char *usage, const struct pk_verb *verbs, size_t n_verbs,
	int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < n_verbs; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	return pk_usage_mistake(group, argc > 1 ? "there is no such verb" : "which verb?");
}
