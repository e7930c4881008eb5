// SPDX-License-Identifier: Apache-2.0
// What shares bytes and what must not; a section that does not fit its graph is refused.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda/layout.h"
#include "engine/cuda/memory.h"
#include "engine/ir/text.h"

static const struct pk_cuda_row in_place = {.name = "in_place", .in_place = true};
static const struct pk_cuda_row plain = {.name = "plain"};

static const char text[] = "graph {\n"
			   "  input %x: f32[16,64]\n"
			   "  %a: f32[16,64] = unary(%x) {fn=exp}\n"
			   "  %b: f32[16,64] = unary(%a) {fn=neg}\n"
			   "  %v: f32[1024] = reshape(%b)\n"
			   "  %c: f32[16,64] = binary(%b, %b) {fn=add}\n"
			   "  %d: f32[1024] = unary(%v) {fn=abs}\n"
			   "  output %c\n"
			   "  output %d\n"
			   "}\n";

struct fixture {
	struct pk_graph *graph;
	struct pk_cuda_steps steps;
};

static void make(struct fixture *f, const struct pk_cuda_row *row)
{
	struct pk_err err = {0};
	if (pk_text_parse(text, strlen(text), NULL, 0, &f->graph, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pk_cuda_steps_init(&f->steps, f->graph, PK_F32, &err), 0);
	for (int i = 0; i < f->steps.n; i++) {
		if (f->steps.items[i].kind == PK_CUDA_STEP_NONE) {
			f->steps.items[i].kind = PK_CUDA_STEP_KERNELS;
			f->steps.items[i].row = row;
		}
	}
}

static void finish(struct fixture *f)
{
	pk_cuda_steps_finish(&f->steps);
	pk_graph_destroy(f->graph);
}

static int group(const struct fixture *f, const struct pk_cuda_memory *memory, const char *name)
{
	return memory->groups[pk_graph_find_value(f->graph, name)->id];
}

static void test_sharing(void **state)
{
	struct fixture f;
	struct pk_cuda_memory memory;
	(void)state;
	make(&f, &in_place);
	assert_int_equal(pk_cuda_memory_plan(&f.steps, &memory, NULL), 0);
	assert_true(group(&f, &memory, "x") != group(&f, &memory, "a")); // inputs stay
	assert_int_equal(group(&f, &memory, "a"), group(&f, &memory, "b"));
	assert_int_equal(group(&f, &memory, "b"), group(&f, &memory, "v")); // a view
	assert_true(group(&f, &memory, "c") != group(&f, &memory, "b"));    // the view still lives
	assert_int_equal(group(&f, &memory, "d"), group(&f, &memory, "v"));
	pk_cuda_memory_finish(&memory);
	finish(&f);
	make(&f, &plain);
	assert_int_equal(pk_cuda_memory_plan(&f.steps, &memory, NULL), 0);
	assert_true(group(&f, &memory, "a") != group(&f, &memory, "b"));
	assert_int_equal(group(&f, &memory, "b"), group(&f, &memory, "v"));
	pk_cuda_memory_finish(&memory);
	finish(&f);
}

static int read_back(const struct fixture *f, const struct pk_buf *bytes)
{
	struct pk_cuda_memory memory;
	struct pk_err err = {0};
	struct pk_cuda_bytes section = {bytes->data, bytes->len};
	enum pk_dtype type;
	int r = pk_cuda_memory_float_type(&section, &type, &err);
	if (r == 0)
		r = pk_cuda_memory_read(&f->steps, &section, &memory, &err);
	if (r == 0)
		pk_cuda_memory_finish(&memory);
	else
		assert_true(err.text[0]);
	return r;
}

static void test_section(void **state)
{
	struct fixture f;
	struct pk_cuda_memory memory;
	pk_auto_buf struct pk_buf bytes;
	(void)state;
	pk_buf_init(&bytes, 1u << 16);
	make(&f, &in_place);
	assert_int_equal(pk_cuda_memory_plan(&f.steps, &memory, NULL), 0);
	assert_int_equal(pk_cuda_memory_write(&f.steps, &memory, &bytes), 0);
	assert_int_equal(read_back(&f, &bytes), 0);
	uint64_t *words = (uint64_t *)(void *)bytes.data;
	size_t at = 4 + (size_t)group(&f, &memory, "c");
	uint64_t right = words[at];
	words[at] = words[4 + (size_t)group(&f, &memory, "b")]; // live together
	assert_int_equal(read_back(&f, &bytes), -EBADMSG);
	words[at] = right + 1;
	assert_int_equal(read_back(&f, &bytes), -EBADMSG);
	words[at] = UINT64_MAX - 255;
	assert_int_equal(read_back(&f, &bytes), -EBADMSG);
	words[at] = right;
	words[0] = PK_I8;
	assert_int_equal(read_back(&f, &bytes), -EBADMSG);
	words[0] = PK_F32;
	bytes.len -= 8;
	assert_int_equal(read_back(&f, &bytes), -EBADMSG);
	bytes.len = 8;
	assert_int_equal(read_back(&f, &bytes), -EBADMSG);
	pk_cuda_memory_finish(&memory);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_section),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
