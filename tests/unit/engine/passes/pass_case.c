// SPDX-License-Identifier: Apache-2.0
// Text in, text out: what one pass makes of a graph.
#include "tests/unit/engine/passes/pass_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/text.h"
#include "engine/ir/verify.h"

struct pk_graph *pass_case_parse(const char *body)
{
	struct pk_buf text;
	struct pk_err err = {0};
	struct pk_graph *graph = NULL;
	pk_buf_init(&text, 1 << 20);
	pk_buf_printf(&text, "graph {\n%s\n}\n", body);
	if (pk_text_parse(text.data, text.len, NULL, 0, &graph, &err) < 0)
		fail_msg("%s\nin %s", err.text, body);
	pk_buf_finish(&text);
	return graph;
}

static void print(const struct pk_graph *graph, struct pk_buf *out)
{
	pk_buf_init(out, 1 << 20);
	assert_int_equal(pk_text_print(graph, NULL, out), 0);
}

static void verify(const struct pk_graph *graph, const char *what)
{
	struct pk_err err = {0};
	if (pk_verify_graph(graph, &err) < 0)
		fail_msg("%s: %s", what, err.text);
}

static void check(pk_pass_fn *pass, const struct pk_evaluator *evaluator, const struct pass_case *c)
{
	pk_auto(pk_graph) graph = pass_case_parse(c->in);
	pk_auto(pk_graph) wanted = pass_case_parse(c->out ? c->out : c->in);
	struct pk_err err = {0};
	struct pk_pass_ctx ctx = {evaluator, 1 << 20, &err};
	int n_changes = 0, n;
	do {
		n = pass(graph, &ctx);
		if (n < 0)
			fail_msg("%s: %s", c->what, err.text);
		verify(graph, c->what);
		n_changes += n;
	} while (n > 0 && n_changes < 100);
	struct pk_buf have, want;
	print(graph, &have);
	print(wanted, &want);
	if (strcmp(have.data, want.data) != 0)
		fail_msg("%s:\n%s\nwanted:\n%s", c->what, have.data, want.data);
	if ((n_changes > 0) != (c->out != NULL))
		fail_msg("%s: %d changes", c->what, n_changes);
	pk_buf_finish(&have);
	pk_buf_finish(&want);
}

void pass_case_check(pk_pass_fn *pass, const struct pk_evaluator *evaluator,
	const struct pass_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(pass, evaluator, &cases[i]);
}
