// SPDX-License-Identifier: Apache-2.0
// Which values share bytes: views, slices, parts of a concat, results over dead operands; and where
// they must not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/compile/sharing.h"
#include "engine/ir/text.h"

static bool any_in_place(const struct pk_node *node)
{
	return node->op != PK_OP_CONV;
}

static const struct pk_memory_rules rules = {.align = 64, .in_place = any_in_place};

struct placed {
	struct pk_graph *graph;
	struct pk_sharing sharing;
};

static struct placed place(const char *body)
{
	struct placed p = {0};
	struct pk_err err = {0};
	char text[4096];
	snprintf(text, sizeof(text), "graph {\n%s\n}\n", body);
	if (pk_text_parse(text, strlen(text), NULL, 0, &p.graph, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pk_sharing_find(p.graph, &rules, &p.sharing, &err), 0);
	return p;
}

static void finish(struct placed *p)
{
	pk_sharing_finish(&p->sharing);
	pk_graph_destroy(p->graph);
}

static int id_of(const struct placed *p, const char *name)
{
	const struct pk_value *value = pk_graph_find_value(p->graph, name);
	assert_non_null(value);
	return value->id;
}

// `part` lies in the buffer of `whole`, `offset` bytes after its start.
static bool lies(const struct placed *p, const char *part, const char *whole, size_t offset)
{
	int a = id_of(p, part), b = id_of(p, whole);
	return p->sharing.buffers[a] == p->sharing.buffers[b] &&
	       p->sharing.offsets[a] == p->sharing.offsets[b] + offset;
}

static bool apart(const struct placed *p, const char *a, const char *b)
{
	return p->sharing.buffers[id_of(p, a)] != p->sharing.buffers[id_of(p, b)];
}

static bool moves_nothing(const struct placed *p, const char *output)
{
	int at = 0;
	struct pk_node *node;
	pk_graph_each_node (node, p->graph) {
		if (strcmp(node->outputs[0]->name, output) == 0)
			return p->sharing.moves_nothing[at];
		at++;
	}
	fail_msg("no node makes %s", output);
	return false;
}

#define V(name)     "%" name ": f32[1,4,4,4] = " // 256 bytes
#define V2(name)    "%" name ": f32[1,8,4,4] = "
#define X           "input %x: f32[1,4,4,4]\n"
#define RELU(y, x)  V(y) "unary(%" x ") {fn=relu}\n"
#define SLOW(y, x)  V(y) "softmax(%" x ") {fn=softmax, axis=1}\n" // never in place
#define HALF0(y, x) V(y) "slice(%" x ") {starts=[0,0,0,0]}\n"
#define HALF1(y, x) V(y) "slice(%" x ") {starts=[0,4,0,0]}\n"

static void test_dead_operand_is_overwritten(void **state)
{
	(void)state;
	struct placed p = place(X SLOW("a", "x") RELU("b", "a") RELU("c", "b") "output %c");
	assert_true(lies(&p, "b", "a", 0));
	assert_true(lies(&p, "c", "a", 0));
	assert_true(apart(&p, "a", "x"));
	finish(&p);
}

static void test_live_operands_stay(void **state)
{
	(void)state;
	// x is a graph input; a is read again later; a is a graph output.
	struct placed p = place(X RELU("a", "x") "output %a");
	assert_true(apart(&p, "a", "x"));
	finish(&p);
	p = place(X SLOW("a", "x") RELU("b", "a") V("c") "binary(%a, %b) {fn=add}\noutput %c");
	assert_true(apart(&p, "b", "a"));
	assert_true(lies(&p, "c", "a", 0)); // both die there: one is taken
	finish(&p);
	p = place(X SLOW("a", "x") RELU("b", "a") "output %b\noutput %a");
	assert_true(apart(&p, "b", "a"));
	finish(&p);
}

static void test_view_keeps_its_operand_live(void **state)
{
	(void)state;
	struct placed p = place(X SLOW("a", "x") "%v: f32[64] = reshape(%a)\n" RELU(
		"b", "a") "%w: f32[64] = unary(%v) {fn=exp}\noutput %b\noutput %w");
	assert_true(lies(&p, "v", "a", 0));
	assert_true(moves_nothing(&p, "v"));
	assert_true(apart(&p, "b", "a")); // v is read after b is written
	assert_true(lies(&p, "w", "v", 0));
	finish(&p);
}

static void test_broadcast_operand_is_not_overwritten(void **state)
{
	(void)state;
	// The short operand overlaps the long one: it is a slice of it.
	struct placed p = place("input %x: f32[4,16]\n"
				"%a: f32[4,16] = softmax(%x) {fn=softmax, axis=1}\n"
				"%s: f32[1,16] = slice(%a) {starts=[1,0]}\n"
				"%y: f32[4,16] = binary(%a, %s) {fn=add}\noutput %y");
	assert_true(lies(&p, "s", "a", 64));
	assert_true(apart(&p, "y", "a"));
	finish(&p);
}

static void test_slices(void **state)
{
	(void)state;
	struct placed p = place("input %x: f32[1,8,4,4]\n" HALF0("a", "x") HALF1("b", "x")
			V("y") "binary(%a, %b) {fn=mul}\noutput %y");
	assert_true(lies(&p, "a", "x", 0));
	assert_true(lies(&p, "b", "x", 256));
	assert_true(moves_nothing(&p, "a") && moves_nothing(&p, "b"));
	finish(&p);
	// Not whole runs, strided, misaligned, of a constant.
	p = place("input %x: f32[1,8,4,4]\n"
		  "const %k: f32[2,2] = {1,2,3,4}\n"
		  "%a: f32[1,8,2,4] = slice(%x) {starts=[0,0,1,0]}\n"
		  "%b: f32[1,4,4,4] = slice(%x) {starts=[0,0,0,0], steps=[1,2,1,1]}\n"
		  "%c: f32[8,4,4] = reshape(%x)\n"
		  "%d: f32[1,4,4] = slice(%c) {starts=[3,0,0]}\n"
		  "%e: f32[16] = reshape(%d)\n"
		  "%f: f32[8] = slice(%e) {starts=[1]}\n"
		  "%g: f32[1,2] = slice(%k) {starts=[1,0]}\n"
		  "output %a output %b output %d output %f output %g");
	assert_true(apart(&p, "a", "x"));
	assert_true(apart(&p, "b", "x"));
	assert_true(lies(&p, "d", "x", 192)); // a chain of views
	assert_true(lies(&p, "e", "x", 192));
	assert_true(apart(&p, "f", "x"));
	assert_false(moves_nothing(&p, "f") || moves_nothing(&p, "g"));
	finish(&p);
}

static void test_concat_parts_are_written_in_place(void **state)
{
	(void)state;
	struct placed p = place(X SLOW("a", "x") SLOW("b", "x")
			V2("c") "concat(%a, %b) {axis=1}\n"
				"%d: f32[1,12,4,4] = concat(%x, %c) {axis=1}\noutput %d");
	assert_true(lies(&p, "a", "d", 256)); // a chain of two
	assert_true(lies(&p, "b", "d", 512));
	assert_true(moves_nothing(&p, "c"));
	assert_true(apart(&p, "x", "d")); // graph input: copied
	assert_false(moves_nothing(&p, "d"));
	finish(&p);
}

static void test_concat_guards(void **state)
{
	(void)state;
	// Twice in one concat.
	struct placed p = place(X SLOW("a", "x") V2("c") "concat(%a, %a) {axis=1}\noutput %c");
	assert_true(lies(&p, "a", "c", 0));
	assert_false(moves_nothing(&p, "c"));
	finish(&p);
	// In two concats: in the first only.
	p = place(X SLOW("a", "x") SLOW("b", "x") V2("c") "concat(%a, %b) {axis=1}\n" V2(
		"d") "concat(%b, %a) {axis=1}\noutput %c output %d");
	assert_true(lies(&p, "a", "c", 0));
	assert_true(apart(&p, "a", "d"));
	finish(&p);
	// A constant; a graph output; an inner axis; two images.
	p = place(X "const %k: f32[1,1,4,4] = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}\n" SLOW(
		"a", "x") SLOW("b",
		"x") "%c: f32[1,9,4,4] = concat(%k, %a, %b) {axis=1}\noutput %c output %a");
	assert_true(apart(&p, "a", "c"));
	assert_true(lies(&p, "b", "c", 320));
	finish(&p);
	p = place(X SLOW("a", "x") SLOW("b", "x") "%c: f32[1,4,8,4] = concat(%a, %b) {axis=2}\n"
						  "output %c");
	assert_true(apart(&p, "a", "c"));
	finish(&p);
	p = place("input %x: f32[2,4,4]\n%a: f32[2,4,4] = softmax(%x) {fn=softmax, axis=1}\n"
		  "%c: f32[2,8,4] = concat(%a, %a) {axis=1}\noutput %c");
	assert_true(apart(&p, "a", "c"));
	finish(&p);
	// The second part would not be aligned.
	p = place("input %x: f32[3,5]\n%a: f32[3,5] = softmax(%x) {fn=softmax, axis=1}\n"
		  "%b: f32[3,5] = softmax(%x) {fn=softmax, axis=0}\n"
		  "%c: f32[6,5] = concat(%a, %b) {axis=0}\noutput %c");
	assert_true(lies(&p, "a", "c", 0));
	assert_true(apart(&p, "b", "c"));
	finish(&p);
}

// The halves of one tensor stand beside a third part that is made from one of them: the whole
// tensor lies in the concat. In another order the halves are copied.
static void test_halves_return_to_their_place(void **state)
{
	(void)state;
#define HALVES                                                                                     \
	"input %x: f32[1,8,4,4]\n" V2("t") "softmax(%x) {fn=softmax, axis=1}\n" HALF0("a", "t")    \
		HALF1("b", "t") SLOW("m", "b")
	struct placed p =
		place(HALVES "%c: f32[1,12,4,4] = concat(%a, %b, %m) {axis=1}\noutput %c");
	assert_true(lies(&p, "t", "c", 0));
	assert_true(lies(&p, "b", "c", 256));
	assert_true(lies(&p, "m", "c", 512));
	assert_true(moves_nothing(&p, "c"));
	finish(&p);
	p = place(HALVES "%c: f32[1,12,4,4] = concat(%b, %a, %m) {axis=1}\noutput %c");
	assert_true(apart(&p, "t", "c"));
	assert_true(lies(&p, "m", "c", 512));
	finish(&p);
	p = place(HALVES "%c: f32[1,12,4,4] = concat(%a, %m, %b) {axis=1}\noutput %c");
	assert_true(apart(&p, "t", "c")); // m would be written over b
	finish(&p);
}

// The addend is a slice of what becomes a later concat's buffer; the sum is another part of it.
// The addend dies in the sum, but its bytes live on in the concat.
static void test_addend_in_a_later_concat(void **state)
{
	(void)state;
	struct placed p =
		place(HALVES V("s") "binary(%b, %m) {fn=add}\n"
				    "%c: f32[1,12,4,4] = concat(%a, %b, %s) {axis=1}\noutput %c");
	assert_true(lies(&p, "b", "c", 256));
	assert_true(lies(&p, "s", "c", 512));
	finish(&p);
	// Now b is dead after the sum, but t, which it is a part of, is not.
	p = place(HALVES V("s") "binary(%b, %m) {fn=add}\n"
				"%c: f32[1,12,4,4] = concat(%t, %s) {axis=1}\noutput %c");
	assert_true(lies(&p, "b", "c", 256));
	assert_true(lies(&p, "s", "c", 512));
	finish(&p);
}

// The operand lies in a concat's buffer: it may only be overwritten when the concat is dead too.
static void test_overwriting_inside_a_concat(void **state)
{
	(void)state;
#define CAT X SLOW("a", "x") SLOW("b", "x") V2("c") "concat(%a, %b) {axis=1}\n"
	struct placed p = place(CAT V2("u") "softmax(%c) {fn=softmax, axis=1}\n" RELU(
		"r", "a") "output %u output %r");
	assert_true(lies(&p, "r", "a", 0)); // c is dead
	finish(&p);
	p = place(CAT RELU("r", "a") V2("u") "softmax(%c) {fn=softmax, axis=1}\n"
					     "output %u output %r");
	assert_true(apart(&p, "r", "a"));
	finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_operand_is_overwritten),
		cmocka_unit_test(test_live_operands_stay),
		cmocka_unit_test(test_view_keeps_its_operand_live),
		cmocka_unit_test(test_broadcast_operand_is_not_overwritten),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_concat_parts_are_written_in_place),
		cmocka_unit_test(test_concat_guards),
		cmocka_unit_test(test_halves_return_to_their_place),
		cmocka_unit_test(test_addend_in_a_later_concat),
		cmocka_unit_test(test_overwriting_inside_a_concat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
