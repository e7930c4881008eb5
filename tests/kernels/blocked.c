// SPDX-License-Identifier: Apache-2.0
// The same nodes with their pictures in blocks of channels: rows that know of layouts.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/layout.h"
#include "tests/kernels/shapes.h"

static int64_t place(const struct pk_shape *s, int block, int64_t n, int64_t c, int64_t i)
{
	int64_t plane = s->dims[2] * s->dims[3], blocks = (s->dims[1] + block - 1) / block;
	return ((n * blocks + c / block) * plane + i) * block + c % block;
}

// Between plain and blocked bytes of a picture.
static void move(const struct pk_value *v, const float *from, float *to, bool to_blocked)
{
	const struct pk_shape *s = &v->shape;
	for (int64_t n = 0; n < s->dims[0]; n++) {
		for (int64_t c = 0; c < s->dims[1]; c++) {
			for (int64_t i = 0; i < s->dims[2] * s->dims[3]; i++) {
				int64_t blocked = place(s, v->block, n, c, i);
				int64_t plain = (n * s->dims[1] + c) * s->dims[2] * s->dims[3] + i;
				to[to_blocked ? blocked : plain] =
					from[to_blocked ? plain : blocked];
			}
		}
	}
}

// The value's bytes in its layout; lanes beyond the channels are NaN, which must not spread.
static void *blocked_bytes(const struct pk_value *v, const void *plain)
{
	size_t bytes = pk_layout_bytes(v);
	float *out = NULL;
	assert_int_equal(posix_memalign((void **)&out, PK_CPU_ALIGN, bytes + PK_CPU_ALIGN), 0);
	for (size_t i = 0; i < bytes / sizeof(*out); i++)
		out[i] = NAN;
	move(v, plain, out, true);
	return out;
}

static void compare(const struct node_case *c, const struct pk_cpu_kernel *kernel, const void *got,
	const float *expected, double tolerance)
{
	const struct pk_value *y = c->node->outputs[0];
	int64_t n = pk_shape_elements(&y->shape);
	float *plain = malloc((size_t)(n ? n : 1) * sizeof(*plain));
	assert_non_null(plain);
	if (y->block)
		move(y, got, plain, false);
	else
		memcpy(plain, got, (size_t)n * sizeof(*plain));
	assert_close(plain, expected, n, tolerance, kernel->name);
	free(plain);
}

static void run_rows(
	struct node_case *c, const float *expected, double tolerance, int n_runs[KERNEL_MAX_ROWS])
{
	for (int i = 0; pk_cpu_kernels[i]; i++) {
		const struct pk_cpu_kernel *kernel = pk_cpu_kernels[i];
		if (!kernel->blocked || kernel->op != c->node->op || !kernel->supports(c->node))
			continue;
		for (int shared = 0; shared < 2; shared++) {
			void *got[2] = {NULL};
			node_case_run_shared(c, kernel, shared, got);
			compare(c, kernel, got[0], expected, tolerance);
			free(got[0]);
		}
		n_runs[i]++;
	}
}

static bool is_picture(const struct pk_value *v, int block)
{
	return v && !v->data && pk_layout_block_fits(v->dtype, &v->shape, block);
}

// in: also the pictures that come in are blocked (the first convolution reads plain ones).
static void check_layout(struct node_case *c, int block, bool in, bool out,
	const struct kernel_family *family, int n_runs[KERNEL_MAX_ROWS])
{
	void *plain[NODE_CASE_MAX];
	struct pk_value *y = c->node->outputs[0];
	float *expected = node_case_reference(c);
	memcpy(plain, c->data, sizeof(plain));
	for (int i = 0; i < c->n_inputs; i++) {
		struct pk_value *v = c->values[i];
		bool is_residual = c->node->op == PK_OP_CONV && i == 3;
		if (!is_picture(v, block) || !(in || is_residual))
			continue;
		v->block = block;
		c->data[i] = blocked_bytes(v, plain[i]);
	}
	y->block = out ? block : 0;
	run_rows(c, expected, family->tolerance, n_runs);
	for (int i = 0; i < c->n_inputs; i++) {
		if (c->data[i] != plain[i])
			free(c->data[i]);
		if (c->values[i])
			c->values[i]->block = 0;
	}
	memcpy(c->data, plain, sizeof(plain));
	y->block = 0;
	free(expected);
}

void check_blocked(
	struct node_case *c, const struct kernel_family *family, int n_runs[KERNEL_MAX_ROWS])
{
	static const int blocks[] = {4, 8, 16};
	const struct pk_value *y = c->node->outputs[0];
	for (size_t i = 0; i < PK_ARRAY_LEN(blocks); i++) {
		bool fits = pk_layout_block_fits(y->dtype, &y->shape, blocks[i]);
		check_layout(c, blocks[i], true, false, family, n_runs);
		if (fits)
			check_layout(c, blocks[i], true, true, family, n_runs);
		if (fits)
			check_layout(c, blocks[i], false, true, family, n_runs);
	}
}

void make_reorder(struct node_case *c)
{
	node_case_operand(c, PK_F32,
		SHAPE(random_range(1, 2), random_range(1, 40), random_range(1, 9),
			random_range(1, 20)),
		false);
	node_case_node(c, PK_OP_REORDER);
	node_case_finish(c, NULL);
}
