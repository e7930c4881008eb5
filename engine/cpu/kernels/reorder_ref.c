// SPDX-License-Identifier: Apache-2.0
// Reference reorder between any two layouts of a picture.
#include <errno.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/ir/layout.h"

struct reorder {
	struct pk_shape shape;
	int from, to;
};

static bool supports(const struct pk_node *node)
{
	return pk_check_all_dtype(node, PK_F32) && node->inputs[0]->shape.rank == 4 &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct reorder *s = pk_arena_new(arena, struct reorder);
	if (!s)
		return -ENOMEM;
	s->shape = *pk_check_in_shape(node, 0);
	s->from = node->inputs[0]->block;
	s->to = node->outputs[0]->block;
	*state = s;
	return 0;
}

// Where channel c of pixel i of picture n lies.
static int64_t place(const struct pk_shape *shape, int block, int64_t n, int64_t c, int64_t i)
{
	int64_t plane = shape->dims[2] * shape->dims[3];
	if (!block)
		return (n * shape->dims[1] + c) * plane + i;
	int64_t blocks = (shape->dims[1] + block - 1) / block;
	return ((n * blocks + c / block) * plane + i) * block + c % block;
}

static void run(const struct pk_cpu_call *call)
{
	const struct reorder *s = call->state;
	const int64_t *dims = s->shape.dims;
	for (int64_t n = 0; n < dims[0]; n++) {
		for (int64_t c = 0; c < dims[1]; c++) {
			for (int64_t i = 0; i < dims[2] * dims[3]; i++)
				((float *)call->outputs[0])[place(&s->shape, s->to, n, c, i)] =
					((const float *)call->inputs[0])[place(
						&s->shape, s->from, n, c, i)];
		}
	}
}

const struct pk_cpu_kernel pk_kernel_reorder_ref = {
	.op = PK_OP_REORDER,
	.name = "reorder_ref",
	.blocked = true,
	.supports = supports,
	.setup = setup,
	.run = run,
};
