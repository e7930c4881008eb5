// SPDX-License-Identifier: Apache-2.0
// Command lines as tables: what a verb takes is parsed, judged and complained about in one place.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

enum pk_option_kind {
	PK_OPTION_FLAG,     // to: bool
	PK_OPTION_TEXT,     // to: char *, a part of argv
	PK_OPTION_NUMBER,   // to: double, in min..max
	PK_OPTION_DURATION, // to: int64_t, ns
	PK_OPTION_BYTES,    // to: int64_t
	PK_OPTION_CALL,     // take judges it
};

struct pk_option {
	const char *name; // without its dashes
	enum pk_option_kind kind;
	char letter; // short form; 0: none
	void *to;
	double min, max;
	// NULL, or what is wrong with the text, until the next call.
	const char *(*take)(void *to, const char *text);
};

#define PK_FLAG(option_name, target)                                                               \
	{                                                                                          \
		.name = (option_name), .kind = PK_OPTION_FLAG, .to = (target)                      \
	}
#define PK_TEXT(option_name, target)                                                               \
	{                                                                                          \
		.name = (option_name), .kind = PK_OPTION_TEXT, .to = (target)                      \
	}
#define PK_NUMBER(option_name, target, least, most)                                                \
	{                                                                                          \
		.name = (option_name), .kind = PK_OPTION_NUMBER, .to = (target), .min = (least),   \
		.max = (most)                                                                      \
	}
#define PK_DURATION(option_name, target)                                                           \
	{                                                                                          \
		.name = (option_name), .kind = PK_OPTION_DURATION, .to = (target)                  \
	}
#define PK_BYTES(option_name, target)                                                              \
	{                                                                                          \
		.name = (option_name), .kind = PK_OPTION_BYTES, .to = (target)                     \
	}
#define PK_CALL(option_name, judge, target)                                                        \
	{                                                                                          \
		.name = (option_name), .kind = PK_OPTION_CALL, .to = (target), .take = (judge)     \
	}

#define PK_MAX_OPTIONS 40

struct pk_verb_line {
	const char *verb;  // "bundle sign"
	const char *usage; // what --help prints
	const struct pk_option *options;
	size_t n_options; // at most PK_MAX_OPTIONS
	int min_args, max_args;
	const char *wants; // said when there are fewer or more: "one artifact, oci:FOLDER:TAG"
};

struct pk_words {
	char **at; // NULL-ended
	int n;
};

#define PK_GO_ON (-1)

// argv[0] is the verb's last word; --help and -h are every verb's. PK_GO_ON, with what stands
// besides the options in rest (nullable); otherwise the exit code: help was printed, or a mistake.
int pk_options_parse(const struct pk_verb_line *line, int argc, char **argv, struct pk_words *rest)
	pk_must_check;

// "picketctl: VERB: why", and where to read more; PK_EXIT_USAGE.
int pk_usage_mistake(const char *verb, const char *why);

struct pk_verb {
	const char *name;
	int (*run)(int argc, char **argv);
};

// Runs the verb of a group that argv[1] names, or prints the group's usage.
int pk_run_verb(const char *group, const char *usage, const struct pk_verb *verbs, size_t n_verbs,
	int argc, char **argv);
#define PK_RUN_VERB(group, usage, verbs, argc, argv)                                               \
	pk_run_verb(group, usage, verbs, PK_ARRAY_LEN(verbs), argc, argv)
