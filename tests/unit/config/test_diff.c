// SPDX-License-Identifier: Apache-2.0
#include "config/diff.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/config/cm.h"

static const char base[] =
	"node: {name: n}\n"
	"models: {m: {artifact: 'oci:r:t'}, k: {artifact: 'oci:r:u', chain: [cpu]}}\n"
	"cameras:\n"
	"  a: {source: {kind: test}, model: m, sinks: [s, t]}\n"
	"  b: {source: {kind: file, uri: v}, model: k, sinks: [s]}\n"
	"  c: {source: {kind: test}, model: k}\n"
	"sinks: {s: {kind: jsonl, path: s}, t: {kind: jsonl, path: t}}\n";

// What is replaced in base, by what, and the differences: names with + - ~, then flags.
static const struct {
	const char *what, *by, *cameras, *models, *sinks, *flags;
} cases[] = {
	{"node: {name: n}", "node: {name: 'n'} # same", "", "", "", ""},
	{"uri: v", "uri: /d/v", "", "", "", ""},
	{"kind: file, uri: v", "kind: file, uri: v, loop: false", "", "", "", ""},
	{"sinks: {s: {kind: jsonl, path: s}, t: {kind: jsonl, path: t}}",
		"sinks: {t: {kind: jsonl, path: t}, s: {kind: jsonl, path: s}}", "", "", "", ""},
	{"node: {name: n}", "node: {name: o}", "", "", "", "node "},
	{"node: {name: n}", "node: {name: n}\ntelemetry: {interval: 1m}", "", "", "", "telemetry "},
	{"node: {name: n}", "node: {name: n}\nbuild: {nice: 1}", "", "", "", "build "},
	{"node: {name: n}", "node: {name: n}\nstore: {quota: 1GiB}", "", "", "", "store "},
	{"node: {name: n}", "node: {name: n}\nregistries: {'r:5': {insecure: true}}", "", "", "",
		"registries "},
	// An inherited chain changes the models that inherit it.
	{"node: {name: n}", "node: {name: n}\nruntime: {chain: [cpu]}", "", "~m ", "", "runtime "},
	{"  a: {source: {kind: test}", "  a: {source: {kind: test, width: 320}", "~a ", "", "", ""},
	{"  a: {source: {kind: test}", "  a: {priority: 1, source: {kind: test}", "~a ", "", "",
		""},
	{"uri: v", "uri: w", "~b ", "", "", ""},
	{"kind: file, uri: v", "kind: test", "~b ", "", "", ""},
	{"  c: {source: {kind: test}, model: k}", "  c: {source: {kind: test}, model: m}", "~c ",
		"", "", ""},
	{"  c: {source: {kind: test}, model: k}", "  d: {source: {kind: test}, model: k}", "-c +d ",
		"", "", ""},
	{"sinks: [s, t]", "sinks: [t, s]", "~a ", "", "", ""},
	{"sinks: [s, t]", "sinks: [s]", "~a ", "", "", ""},
	// A sink's setting changes every camera that writes to it.
	{"t: {kind: jsonl, path: t}", "t: {kind: jsonl, path: t2}", "~a ", "", "~t ", ""},
	{"s: {kind: jsonl, path: s}", "s: {kind: snapshot, path: s, interval: 1s}", "~a ~b ", "",
		"~s ", ""},
	{"t: {kind: jsonl, path: t}", "t: {kind: jsonl, path: t}, u: {kind: jsonl, path: u}", "",
		"", "+u ", ""},
	{"artifact: 'oci:r:t'", "artifact: 'oci:r:t2'", "", "~m ", "", ""},
	{"artifact: 'oci:r:t'", "artifact: 'oci:r:t', conf: 0.5", "", "~m ", "", ""},
	{"models: {m:", "models: {l: {artifact: 'oci:r:t'}, m:", "", "+l ", "", ""},
};

static struct pk_config *parse(const char *text)
{
	struct pk_problems problems = {0};
	struct pk_config *config = NULL;
	int rc = pk_config_parse(text, strlen(text), "t", "/d", &config, &problems);

	pk_problems_print(&problems, stderr);
	assert_int_equal(rc, 0);
	pk_problems_finish(&problems);
	return config;
}

static void spell(const struct pk_config_changes *changes, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < changes->n; i++) {
		n += (size_t)snprintf(out + n, size - n, "%c%s ", "+-~"[changes->items[i].kind],
			changes -> items[i].name);
		assert_ptr_equal(pk_config_changes_find(changes, changes->items[i].name),
			&changes->items[i]);
	}
	assert_null(pk_config_changes_find(changes, "nobody"));
}

static void compare(const struct pk_config *x, const struct pk_config *y, size_t i)
{
	struct pk_config_diff diff;
	char cameras[64], models[64], sinks[64], flags[64];

	assert_int_equal(pk_config_diff(x, y, &diff), 0);
	spell(&diff.cameras, cameras, sizeof(cameras));
	spell(&diff.models, models, sizeof(models));
	spell(&diff.sinks, sinks, sizeof(sinks));
	snprintf(flags, sizeof(flags), "%s%s%s%s%s%s", diff.node ? "node " : "",
		diff.telemetry ? "telemetry " : "", diff.runtime ? "runtime " : "",
		diff.build ? "build " : "", diff.store ? "store " : "",
		diff.registries ? "registries " : "");
	if (strcmp(cameras, cases[i].cameras) || strcmp(models, cases[i].models) ||
		strcmp(sinks, cases[i].sinks) || strcmp(flags, cases[i].flags))
		fail_msg("`%s`: cameras %s, models %s, sinks %s, flags %s", cases[i].by, cameras,
			models, sinks, flags);
	assert_int_equal(diff.any, *cameras || *models || *sinks || *flags);
	pk_config_diff_finish(&diff);
}

static void test_cases(void **state)
{
	struct pk_config *x = parse(base);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[2048];
		const char *at = strstr(base, cases[i].what);
		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - base), base, cases[i].by,
			at + strlen(cases[i].what));
		struct pk_config *y = parse(text);
		compare(x, y, i);
		pk_config_destroy(y);
	}
	pk_config_destroy(x);
}

static void test_from_and_to_nothing(void **state)
{
	struct pk_config *none = parse("node: {name: n}"), *some = parse(base);
	struct pk_config_diff diff;
	char text[64];

	assert_int_equal(pk_config_diff(none, some, &diff), 0);
	spell(&diff.cameras, text, sizeof(text));
	assert_string_equal(text, "+a +b +c ");
	pk_config_diff_finish(&diff);
	assert_int_equal(pk_config_diff(some, none, &diff), 0);
	spell(&diff.models, text, sizeof(text));
	assert_string_equal(text, "-k -m ");
	pk_config_diff_finish(&diff);
	pk_config_destroy(none);
	pk_config_destroy(some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_from_and_to_nothing),
	};
	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
