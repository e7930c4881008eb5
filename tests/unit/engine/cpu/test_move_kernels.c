// SPDX-License-Identifier: Apache-2.0
// Kernels that move elements: every output element is the right input element, for all types.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node_case.h"

static const enum pk_dtype dtypes[] = {PK_F32, PK_I64, PK_U8, PK_F16, PK_BOOL};

// Flat index of coordinates in a dense tensor.
static int64_t flat(const struct pk_shape *shape, const int64_t *at)
{
	int64_t idx = 0;
	for (int i = 0; i < shape->rank; i++)
		idx = idx * shape->dims[i] + at[i];
	return idx;
}

static void coordinates(const struct pk_shape *shape, int64_t idx, int64_t *at)
{
	for (int i = shape->rank - 1; i >= 0; i--) {
		at[i] = idx % shape->dims[i];
		idx /= shape->dims[i];
	}
}

// Maps output coordinates to input coordinates; false: the element is zero.
typedef bool source_fn(const struct pk_node *node, const int64_t *out, int64_t *in);

static void check(struct node_case *c, source_fn *source)
{
	const struct pk_shape *x = &c->node->inputs[0]->shape, *y = &c->node->outputs[0]->shape;
	size_t bytes = pk_dtype_bytes(c->node->outputs[0]->dtype);
	const char zero[8] = {0};
	char *got = node_case_reference(c);
	for (int64_t i = 0; i < pk_shape_elements(y); i++) {
		int64_t out[PK_MAX_RANK] = {0}, in[PK_MAX_RANK] = {0};
		coordinates(y, i, out);
		const char *expected = zero;
		if (source(c->node, out, in))
			expected = (const char *)c->data[0] + flat(x, in) * (int64_t)bytes;
		assert_memory_equal(got + i * (int64_t)bytes, expected, bytes);
	}
	free(got);
	node_case_check_rows(c, 0);
	node_case_end(c);
}

static struct pk_shape random_shape(int rank)
{
	struct pk_shape s = {.rank = rank};
	for (int i = 0; i < rank; i++)
		s.dims[i] = random_range(1, 5);
	return s;
}

static struct pk_node *begin(struct node_case *c, enum pk_op op, struct pk_shape shape, int round)
{
	node_case_begin(c);
	node_case_operand(c, dtypes[round % 5], shape, false);
	return node_case_node(c, op);
}

static bool slice_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	for (int i = 0; i < node->inputs[0]->shape.rank; i++)
		in[i] = pk_node_attr(node, PK_ATTR_STARTS)->i[i] +
			out[i] * pk_node_attr(node, PK_ATTR_STEPS)->i[i];
	return true;
}

static void slices(void **state)
{
	(void)state;
	random_seed(41);
	for (int round = 0; round < 200; round++) {
		struct pk_shape x = random_shape(round % 9), y = x;
		int64_t starts[PK_MAX_RANK] = {0}, steps[PK_MAX_RANK] = {0};
		struct node_case c;
		for (int i = 0; i < x.rank; i++) {
			starts[i] = random_range(0, x.dims[i] - 1);
			steps[i] = random_range(0, 1) ? random_range(1, 3) : -random_range(1, 3);
			int64_t room = steps[i] > 0 ? x.dims[i] - 1 - starts[i] : starts[i];
			y.dims[i] = 1 + room / llabs(steps[i]);
		}
		struct pk_node *node = begin(&c, PK_OP_SLICE, x, round);
		pk_node_set_ints(node, PK_ATTR_STARTS, starts, x.rank);
		pk_node_set_ints(node, PK_ATTR_STEPS, steps, x.rank);
		node_case_finish(&c, &y);
		check(&c, slice_source);
	}
}

static bool transpose_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	for (int i = 0; i < node->inputs[0]->shape.rank; i++)
		in[pk_node_attr(node, PK_ATTR_PERM)->i[i]] = out[i];
	return true;
}

static void transposes(void **state)
{
	(void)state;
	random_seed(42);
	for (int round = 0; round < 200; round++) {
		struct pk_shape x = random_shape(round % 7);
		int64_t perm[PK_MAX_RANK];
		struct node_case c;
		for (int i = 0; i < x.rank; i++)
			perm[i] = i;
		for (int i = x.rank - 1; i > 0; i--) {
			int64_t j = random_range(0, i), t = perm[i];
			perm[i] = perm[j];
			perm[j] = t;
		}
		pk_node_set_ints(begin(&c, PK_OP_TRANSPOSE, x, round), PK_ATTR_PERM, perm, x.rank);
		node_case_finish(&c, NULL);
		check(&c, transpose_source);
	}
}

static bool expand_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	const struct pk_shape *x = &node->inputs[0]->shape, *y = &node->outputs[0]->shape;
	for (int i = 0; i < x->rank; i++)
		in[i] = x->dims[i] == 1 ? 0 : out[y->rank - x->rank + i];
	return true;
}

static bool tile_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	const struct pk_shape *x = &node->inputs[0]->shape;
	for (int i = 0; i < x->rank; i++)
		in[i] = out[i] % x->dims[i];
	return true;
}

static void expands_and_tiles(void **state)
{
	(void)state;
	random_seed(43);
	for (int round = 0; round < 200; round++) {
		struct pk_shape y = random_shape(round % 9), x = y;
		struct node_case c;
		for (int i = 0; i < x.rank; i++)
			x.dims[i] = random_range(0, 1) ? 1 : x.dims[i];
		begin(&c, PK_OP_EXPAND, x, round);
		node_case_finish(&c, &y);
		check(&c, expand_source);
		x = random_shape(round % 9);
		for (int i = 0; i < x.rank; i++)
			y.dims[i] = x.dims[i] * random_range(1, 2);
		y.rank = x.rank;
		begin(&c, PK_OP_TILE, x, round);
		node_case_finish(&c, &y);
		check(&c, tile_source);
	}
}

static bool depth_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	int64_t block = pk_node_int(node, PK_ATTR_BLOCK),
		channels = node->outputs[0]->shape.dims[1];
	int64_t cell = out[2] % block * block + out[3] % block;
	bool dcr = pk_node_int(node, PK_ATTR_MODE) == PK_MODE_DCR;
	in[0] = out[0];
	in[1] = dcr ? cell * channels + out[1] : out[1] * block * block + cell;
	in[2] = out[2] / block;
	in[3] = out[3] / block;
	return true;
}

static bool space_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	int64_t block = pk_node_int(node, PK_ATTR_BLOCK), channels = node->inputs[0]->shape.dims[1];
	int64_t cell = out[1] / channels;
	in[0] = out[0];
	in[1] = out[1] % channels;
	in[2] = out[2] * block + cell / block;
	in[3] = out[3] * block + cell % block;
	return true;
}

static void blocks(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		int64_t block = 1 + round % 3;
		struct node_case c;
		struct pk_node *node =
			begin(&c, PK_OP_DEPTH_TO_SPACE, SHAPE(2, 3 * block * block, 4, 5), round);
		pk_node_set_int(node, PK_ATTR_BLOCK, block);
		pk_node_set_int(node, PK_ATTR_MODE, round & 1 ? PK_MODE_DCR : PK_MODE_CRD);
		node_case_finish(&c, NULL);
		check(&c, depth_source);
		node = begin(&c, PK_OP_SPACE_TO_DEPTH, SHAPE(2, 3, 4 * block, 5 * block), round);
		pk_node_set_int(node, PK_ATTR_BLOCK, block);
		node_case_finish(&c, NULL);
		check(&c, space_source);
	}
}

static bool pad_source(const struct pk_node *node, const int64_t *out, int64_t *in)
{
	const struct pk_shape *x = &node->inputs[0]->shape;
	const struct pk_attr_value *pads = pk_node_attr(node, PK_ATTR_PADS);
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	for (int i = 0; i < x->rank; i++) {
		int64_t at = out[i] - pads->i[i], n = x->dims[i];
		if (mode == PK_MODE_CONSTANT && (at < 0 || at >= n))
			return false;
		while (at < 0 || at >= n) {
			if (mode == PK_MODE_EDGE)
				at = at < 0 ? 0 : n - 1;
			else if (mode == PK_MODE_WRAP)
				at += at < 0 ? n : -n;
			else if (n == 1)
				at = 0;
			else
				at = at < 0 ? -at : 2 * (n - 1) - at;
		}
		in[i] = at;
	}
	return true;
}

static void pads(void **state)
{
	(void)state;
	static const int64_t modes[] = {
		PK_MODE_CONSTANT, PK_MODE_REFLECT, PK_MODE_EDGE, PK_MODE_WRAP};
	random_seed(44);
	for (int round = 0; round < 400; round++) {
		struct pk_shape x = random_shape(1 + round % 4);
		int64_t mode = modes[round % 4], amounts[2 * PK_MAX_RANK];
		struct node_case c;
		for (int i = 0; i < 2 * x.rank; i++) {
			int64_t n = x.dims[i % x.rank];
			amounts[i] = random_range(0, mode == PK_MODE_REFLECT ? n - 1 : n);
			if (mode == PK_MODE_CONSTANT && random_range(0, 2) == 0 && n > 2)
				amounts[i] = -1;
		}
		struct pk_node *node = begin(&c, PK_OP_PAD, x, round / 4);
		pk_node_set_ints(node, PK_ATTR_PADS, amounts, 2 * x.rank);
		pk_node_set_int(node, PK_ATTR_MODE, mode);
		node_case_finish(&c, NULL);
		check(&c, pad_source);
	}
}

static void pad_value_has_the_type(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	*(uint8_t *)node_case_operand(&c, PK_U8, SHAPE(1), false) = 3;
	struct pk_node *node = node_case_node(&c, PK_OP_PAD);
	pk_node_set_ints(node, PK_ATTR_PADS, (int64_t[]){1, 2}, 2);
	pk_node_set_int(node, PK_ATTR_MODE, PK_MODE_CONSTANT);
	pk_node_set_float(node, PK_ATTR_VALUE, 114);
	node_case_finish(&c, NULL);
	uint8_t *got = node_case_reference(&c);
	assert_memory_equal(got, ((uint8_t[]){114, 3, 114, 114}), 4);
	free(got);
	node_case_end(&c);
}

static void concats(void **state)
{
	(void)state;
	random_seed(45);
	for (int round = 0; round < 100; round++) {
		struct pk_shape shape = random_shape(1 + round % 5);
		int axis = (int)random_range(0, shape.rank - 1), n = (int)random_range(1, 4);
		int64_t sizes[4];
		struct node_case c;
		node_case_begin(&c);
		for (int i = 0; i < n; i++) {
			shape.dims[axis] = sizes[i] = random_range(0, 4);
			node_case_operand(&c, dtypes[round % 5], shape, false);
		}
		pk_node_set_int(node_case_node(&c, PK_OP_CONCAT), PK_ATTR_AXIS, axis);
		node_case_finish(&c, NULL);
		const struct pk_shape *y = &c.node->outputs[0]->shape;
		size_t bytes = pk_dtype_bytes(dtypes[round % 5]);
		char *got = node_case_reference(&c);
		for (int64_t i = 0; i < pk_shape_elements(y); i++) {
			int64_t at[PK_MAX_RANK];
			int from = 0;
			coordinates(y, i, at);
			while (at[axis] >= sizes[from])
				at[axis] -= sizes[from++];
			assert_memory_equal(got + i * (int64_t)bytes,
				(char *)c.data[from] +
					flat(&c.node->inputs[from]->shape, at) * (int64_t)bytes,
				bytes);
		}
		free(got);
		node_case_end(&c);
	}
}

static void gathers(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	float *x = node_case_operand(&c, PK_F32, SHAPE(2, 4, 3), false);
	int64_t *idx = node_case_operand(&c, PK_I64, SHAPE(2, 2), false);
	idx[0] = 0, idx[1] = -1, idx[2] = 2, idx[3] = 1;
	pk_node_set_int(node_case_node(&c, PK_OP_GATHER), PK_ATTR_AXIS, 1);
	node_case_finish(&c, NULL);
	static const int rows[] = {0, 3, 2, 1};
	float *got = node_case_reference(&c);
	for (int i = 0; i < 24; i++)
		assert_true(got[i] == x[i / 12 * 12 + rows[i / 3 % 4] * 3 + i % 3]);
	free(got);
	// Indices from data may be anything: the nearest row, never foreign memory (under ASan).
	idx[0] = INT64_MAX, idx[1] = INT64_MIN, idx[2] = 4, idx[3] = -5;
	got = node_case_reference(&c);
	assert_true(got[0] == x[9] && got[3] == x[0] && got[6] == x[9] && got[9] == x[0]);
	free(got);
	node_case_end(&c);
}

static void reshape_copies(void **state)
{
	(void)state;
	struct node_case c;
	struct pk_shape y = SHAPE(3, 8);
	begin(&c, PK_OP_RESHAPE, SHAPE(2, 3, 4), 0);
	node_case_finish(&c, &y);
	float *got = node_case_reference(&c);
	assert_memory_equal(got, c.data[0], 24 * sizeof(float));
	free(got);
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices),
		cmocka_unit_test(transposes),
		cmocka_unit_test(expands_and_tiles),
		cmocka_unit_test(blocks),
		cmocka_unit_test(pads),
		cmocka_unit_test(pad_value_has_the_type),
		cmocka_unit_test(concats),
		cmocka_unit_test(gathers),
		cmocka_unit_test(reshape_copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
