// SPDX-License-Identifier: Apache-2.0
// How kernels that reduce along axes share the work.
#include "engine/cuda/kernels/rows.h"

#include <string.h>

#include "engine/cuda/kernels/row_util.h"

#define REDUCED_MAX    4     // axes, as struct pk_cu_rows has
#define COLUMN_PARTS   8     // threads a position at least, where positions lie side by side
#define COLUMN_MOST    32    // and at most: eight positions a line are left
#define THREADS_WANTED 16384 // enough for every multiprocessor that is served

// Kept axes by falling stride of x, so that neighbouring positions lie side by side.
static void keep_axis(const struct pk_cu_rows_layout *l, int axis, struct pk_cu_rows *p)
{
	int at = p->rank++;
	for (; at > 0 && p->x[at - 1] < l->x->strides[axis]; at--) {
		p->dims[at] = p->dims[at - 1];
		p->x[at] = p->x[at - 1];
		p->y[at] = p->y[at - 1];
		p->scale[at] = p->scale[at - 1];
	}
	p->dims[at] = (int)l->x->shape.dims[axis];
	p->x[at] = (int)l->x->strides[axis];
	p->y[at] = (int)l->y[axis];
	p->scale[at] = (int)l->scale[axis];
	p->rows *= p->dims[at];
}

// Reduced axes stay in their order, which the index of an element counts by; they fold.
static bool reduce_axis(const struct pk_cu_rows_layout *l, int axis, struct pk_cu_rows *p)
{
	int x = (int)l->x->strides[axis], y = (int)l->y[axis], scale = (int)l->scale[axis];
	int dim = (int)l->x->shape.dims[axis], at = p->reduced_rank - 1;
	p->n *= dim;
	if (dim == 1)
		return true;
	if (at >= 0 && p->reduced_x[at] == dim * x && p->reduced_y[at] == dim * y &&
		p->reduced_scale[at] == dim * scale) {
		p->reduced_dims[at] *= dim;
	} else {
		if (++at == REDUCED_MAX)
			return false;
		p->reduced_dims[at] = dim;
		p->reduced_rank++;
	}
	p->reduced_x[at] = x;
	p->reduced_y[at] = y;
	p->reduced_scale[at] = scale;
	return true;
}

static void share_work(struct pk_cu_rows *p)
{
	int last = p->reduced_rank - 1;
	p->parts = 1;
	if (p->reduced_x[last] == 1) {
		while (p->parts < PK_CU_BLOCK && p->parts < p->n)
			p->parts *= 2;
		p->apart = 1;
		return;
	}
	while (p->parts < COLUMN_MOST && p->parts < p->n &&
		(p->parts < COLUMN_PARTS || (int64_t)p->rows * p->parts < THREADS_WANTED))
		p->parts *= 2;
	p->apart = PK_CU_BLOCK / p->parts;
}

bool pk_cu_rows_make(const struct pk_cu_rows_layout *layout, struct pk_cu_rows *out)
{
	memset(out, 0, sizeof(*out));
	out->rows = out->n = 1;
	for (int axis = 0; axis < layout->x->shape.rank; axis++) {
		if (!(layout->gone >> axis & 1))
			keep_axis(layout, axis, out);
		else if (!reduce_axis(layout, axis, out))
			return false;
	}
	if (!out->reduced_rank) {
		out->reduced_rank = 1;
		out->reduced_dims[0] = 1;
	}
	share_work(out);
	return true;
}

void pk_cu_rows_launch(const struct pk_cu_rows *p, const char *function, struct pk_cuda_launch *out)
{
	pk_cu_launch(out, function, (int64_t)p->rows * p->parts);
	pk_cu_params(out, p, sizeof(*p));
}
