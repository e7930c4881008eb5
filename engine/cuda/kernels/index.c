// SPDX-License-Identifier: Apache-2.0
// Rows of copy.cu that go by indices: gathers, and tables of offsets for padding and nearest
// resizing.
#include <string.h>

#include "engine/cpu/kernels/index_map.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/resize.h"
#include "engine/cuda/kernels/move.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

static const char *gather_entry(const struct pk_cuda_call *call)
{
	static const char *const names[] = {"gather_b1", "gather_b2", "gather_b4", "gather_b8",
		"gather_f16_f32", "gather_f32_f16"};
	const char *suffix = pk_cu_move_suffix(call->inputs[0].dtype, call->outputs[0].dtype);
	for (size_t i = 0; suffix && i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(names[i] + strlen("gather_"), suffix))
			return names[i];
	}
	return NULL;
}

// Strides of x and of the indices along axis `axis` of y.
static void gather_axis(const struct pk_cuda_call *call, int axis, int *x_stride, int *index_stride)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *index = &call->inputs[1];
	int at = (int)pk_node_int(call->node, PK_ATTR_AXIS), n = index->shape.rank;
	*x_stride = *index_stride = 0;
	if (call->node->op == PK_OP_GATHER_ELEMENTS) {
		*x_stride = axis == at ? 0 : (int)x->strides[axis];
		*index_stride = (int)index->strides[axis];
	} else if (axis < at) {
		*x_stride = (int)x->strides[axis];
	} else if (axis < at + n) {
		*index_stride = (int)index->strides[axis - at];
	} else {
		*x_stride = (int)x->strides[axis - n + 1];
	}
}

static bool gather_supports(const struct pk_cuda_call *call)
{
	return pk_cu_node_ok(call) && gather_entry(call) &&
	       call->inputs[1].layout == PK_CUDA_DENSE && call->outputs[0].shape.rank <= PK_CU_RANK;
}

static bool gather_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	int at = (int)pk_node_int(call->node, PK_ATTR_AXIS), order[PK_MAX_RANK] = {0};
	bool pads = pk_cu_has_pads(y);
	if (idx == 0 && pads) {
		pk_cu_launch_pads(y, out);
		return true;
	}
	if (idx > pads)
		return false;
	struct pk_cu_gather p = {
		.rank = y->shape.rank,
		.n = 1,
		.n_axis = (int)x->shape.dims[at],
		.axis_stride = (int)x->strides[at],
		.wide = call->inputs[1].dtype == PK_I64,
	};
	pk_cu_axis_order(y, order);
	for (int i = 0; i < p.rank; i++) {
		p.dims[i] = (int)y->shape.dims[order[i]];
		p.y[i] = (int)y->strides[order[i]];
		gather_axis(call, order[i], &p.x[i], &p.index[i]);
		p.n *= p.dims[i];
	}
	pk_cu_launch(out, gather_entry(call), p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_INPUT, 1);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

#define GATHER(id, text)                                                                           \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.supports = gather_supports,                                                       \
		.source = "copy.cu",                                                               \
		.launch = gather_launch,                                                           \
	};
GATHER(GATHER, gather_index)
GATHER(GATHER_ELEMENTS, gather_elements_index)

// Index of the input for output index i along axis: -1 fills.
static int64_t source_index(const struct pk_cuda_call *call, int axis, int64_t i)
{
	const struct pk_node *node = call->node;
	if (node->op == PK_OP_RESIZE)
		return pk_resize_nearest(node, axis, i);
	const struct pk_attr_value *pads = pk_node_attr(node, PK_ATTR_PADS);
	const struct pk_shape *x = &node->inputs[0]->shape;
	int64_t before = pads->i[axis], after = pads->i[x->rank + axis];
	int64_t low = before < 0 ? -before : 0, high = x->dims[axis] + (after < 0 ? after : 0);
	return pk_pad_source(pk_node_int(node, PK_ATTR_MODE), i - before, low, high);
}

// Channels that move as one word of 16 bytes: those of a nearest resize stay side by side.
static int word_of(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	int k = (int)(16 / pk_dtype_bytes(x->dtype));
	bool crop = pk_node_int(call->node, PK_ATTR_MODE) != PK_MODE_NEAREST ||
		    pk_node_int(call->node, PK_ATTR_COORD) == PK_COORD_TF_CROP_AND_RESIZE;
	if (crop || x->layout != PK_CUDA_NHWC || x->shape.dims[1] != y->shape.dims[1] ||
		pk_node_attr(call->node, PK_ATTR_SCALES)->f[1] != 1 || x->channels % k)
		return 1;
	return k;
}

static const char *map_entry(const struct pk_cuda_call *call)
{
	static const char *const by_bytes[] = {
		[1] = "map_b1", [2] = "map_b2", [4] = "map_b4", [8] = "map_b8"};
	if (call->node->op == PK_OP_RESIZE && word_of(call) > 1)
		return "map_b16";
	size_t bytes = pk_dtype_bytes(call->inputs[0].dtype);
	return bytes ? by_bytes[bytes] : NULL;
}

// Axes in y's order; whole words of channels are one element.
static void make_map(const struct pk_cuda_call *call, struct pk_cu_map *p)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	int order[PK_MAX_RANK] = {0};
	int k = call->node->op == PK_OP_RESIZE ? word_of(call) : 1, at = 0;
	*p = (struct pk_cu_map){.rank = y->shape.rank, .n = 1};
	pk_cu_axis_order(y, order);
	for (int i = 0; i < p->rank; i++) {
		bool words = k > 1 && order[i] == 1;
		p->dims[i] = (int)(words ? y->channels / k : y->shape.dims[order[i]]);
		p->y[i] = (int)(words ? 1 : y->strides[order[i]] / k);
		p->table[i] = at;
		at += p->dims[i];
		p->n *= p->dims[i];
	}
	size_t bytes = pk_dtype_bytes(y->dtype);
	char element[8] = {0};
	pk_number_set_f(y->dtype, element, 0, pk_node_float(call->node, PK_ATTR_VALUE));
	for (size_t i = 0; i < sizeof(p->fill); i += bytes)
		memcpy((char *)p->fill + i, element, bytes);
}

static size_t map_bytes(const struct pk_cuda_call *call)
{
	struct pk_cu_map p;
	size_t n = 0;
	make_map(call, &p);
	for (int i = 0; i < p.rank; i++)
		n += (size_t)p.dims[i];
	return n * sizeof(int);
}

static void map_pack(const struct pk_cuda_call *call, void *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	int order[PK_MAX_RANK] = {0}, *tables = out;
	int k = call->node->op == PK_OP_RESIZE ? word_of(call) : 1;
	struct pk_cu_map p;
	make_map(call, &p);
	pk_cu_axis_order(y, order);
	for (int i = 0; i < p.rank; i++) {
		for (int o = 0; o < p.dims[i]; o++) {
			bool words = k > 1 && order[i] == 1;
			int64_t from = words ? o : source_index(call, order[i], o);
			int64_t stride = words ? 1 : x->strides[order[i]] / k;
			*tables++ = from < 0 ? -1 : (int)(from * stride);
		}
	}
}

static bool map_supports(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	if (call->node->op == PK_OP_RESIZE &&
		pk_node_int(call->node, PK_ATTR_MODE) != PK_MODE_NEAREST)
		return false;
	return pk_cu_node_ok(call) && x->dtype == y->dtype && x->layout == y->layout &&
	       map_entry(call) && y->shape.rank >= 1 && y->shape.rank <= PK_CU_RANK;
}

static bool map_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	const char *entry = map_entry(call);
	bool pads = pk_cu_has_pads(&call->outputs[0]) && strcmp(entry, "map_b16") != 0;
	struct pk_cu_map p;
	if (idx == 0 && pads) {
		pk_cu_launch_pads(&call->outputs[0], out);
		return true;
	}
	if (idx > pads)
		return false;
	make_map(call, &p);
	pk_cu_launch(out, entry, p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_pointer(out, PK_CUDA_PACKED, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

#define MAP(id, text)                                                                              \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.supports = map_supports,                                                          \
		.pack_bytes = map_bytes,                                                           \
		.pack = map_pack,                                                                  \
		.source = "copy.cu",                                                               \
		.launch = map_launch,                                                              \
	};
MAP(PAD, pad_map)
MAP(RESIZE, resize_map)
