// SPDX-License-Identifier: Apache-2.0
// A node run by a row of the cuda runtime on the host build of its kernels.
#include "tests/gpu/gpu_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/element.h"
#include "tests/gpu/host_kernels.h"

#define GUARD      256 // bytes before and after; keeps the alignment
#define GUARD_BYTE 0xa5
#define N_ORDERS   4 // forward, reverse, two random ones

struct buffer {
	struct pk_cuda_tensor t;
	size_t bytes;
	char *base, *data;
};

struct run {
	struct node_case *c;
	const struct pk_cuda_row *row;
	struct pk_cuda_call call;
	struct pk_cuda_tensor in[NODE_CASE_MAX], out[2];
	struct buffer inputs[NODE_CASE_MAX], outputs[2], packed, workspace;
	void *expected[2];
};

struct pk_cuda_tensor gpu_case_tensor(const struct pk_value *value, enum pk_dtype float_type)
{
	struct pk_cuda_tensor t = {.dtype = value->dtype, .shape = value->shape};
	int64_t step = 1;
	bool nhwc = value->shape.rank == 4 &&
		    (value->dtype == PK_F32 || value->dtype == PK_I8 || value->dtype == PK_U8);
	if (nhwc) {
		const int64_t *d = value->shape.dims;
		t.layout = PK_CUDA_NHWC;
		t.dtype = value->dtype == PK_F32 ? float_type : value->dtype;
		t.channels = (d[1] + PK_CUDA_CHANNEL_STEP - 1) / PK_CUDA_CHANNEL_STEP *
			     PK_CUDA_CHANNEL_STEP;
		t.strides[1] = 1;
		t.strides[3] = t.channels;
		t.strides[2] = d[3] * t.strides[3];
		t.strides[0] = d[2] * t.strides[2];
		t.elements = d[0] * t.strides[0];
		return t;
	}
	for (int i = value->shape.rank - 1; i >= 0; i--) {
		t.strides[i] = step;
		step *= value->shape.dims[i];
	}
	t.elements = step;
	return t;
}

static struct buffer new_buffer(const struct pk_cuda_tensor *t, size_t bytes)
{
	struct buffer b = {.bytes = bytes};
	void *p = NULL;
	if (t) {
		b.t = *t;
		b.bytes = (size_t)t->elements * pk_dtype_bytes(t->dtype);
	}
	assert_int_equal(posix_memalign(&p, GUARD, b.bytes + 2 * GUARD), 0);
	b.base = p;
	b.data = b.base + GUARD;
	memset(b.base, GUARD_BYTE, b.bytes + 2 * GUARD);
	return b;
}

static void check_guard(const struct buffer *b, const char *row, const char *what)
{
	for (size_t i = 0; b->base && i < GUARD; i++) {
		if ((uint8_t)b->base[i] != GUARD_BYTE ||
			(uint8_t)b->data[b->bytes + i] != GUARD_BYTE)
			fail_msg("%s wrote outside its %s", row, what);
	}
}

// Offset in the buffer of the i-th element in row-major order.
static size_t place_of(const struct pk_cuda_tensor *t, int64_t i)
{
	int64_t at = 0;
	for (int axis = t->shape.rank - 1; axis >= 0; axis--) {
		at += i % t->shape.dims[axis] * t->strides[axis];
		i /= t->shape.dims[axis];
	}
	return (size_t)at;
}

// One element between types; the two differ only in the width of floats.
static void move_element(
	void *dst, enum pk_dtype to, size_t at, const void *src, enum pk_dtype from, size_t i)
{
	if (to != from)
		pk_element_put_float(to, dst, at, pk_element_get(from, src, i));
	else
		memcpy((char *)dst + at * pk_dtype_bytes(to),
			(const char *)src + i * pk_dtype_bytes(to), pk_dtype_bytes(to));
}

static void to_device(struct buffer *b, const void *dense, enum pk_dtype dtype)
{
	memset(b->data, 0, b->bytes);
	for (int64_t i = 0; i < pk_shape_elements(&b->t.shape); i++)
		move_element(b->data, b->t.dtype, place_of(&b->t, i), dense, dtype, (size_t)i);
}

static void *from_device(const struct buffer *b, enum pk_dtype dtype)
{
	int64_t n = pk_shape_elements(&b->t.shape);
	void *dense = calloc((size_t)n + 1, pk_dtype_bytes(dtype));
	assert_non_null(dense);
	for (int64_t i = 0; i < n; i++)
		move_element(dense, dtype, (size_t)i, b->data, b->t.dtype, place_of(&b->t, i));
	return dense;
}

static void check_pads(const struct buffer *b, const char *row)
{
	if (b->t.layout != PK_CUDA_NHWC)
		return;
	for (int64_t i = 0; i < b->t.elements; i++) {
		bool pad = i % b->t.channels >= b->t.shape.dims[1];
		if (pad && pk_element_get(b->t.dtype, b->data, (size_t)i) != 0)
			fail_msg("%s left %g in a channel of padding", row,
				pk_element_get(b->t.dtype, b->data, (size_t)i));
	}
}

static const struct pk_cuda_row *row_named(const char *name)
{
	for (const struct pk_cuda_row *const *row = pk_cuda_kernel_rows; *row; row++) {
		if (!strcmp((*row)->name, name))
			return *row;
	}
	fail_msg("there is no row %s", name);
	return NULL;
}

// What a float operand loses on its way to the device is no error of the kernel.
static void round_operands(struct run *r)
{
	for (int i = 0; i < r->c->n_inputs; i++) {
		const struct pk_value *v = r->c->values[i];
		if (!v || v->dtype != PK_F32 || r->in[i].dtype != PK_F16)
			continue;
		float *x = r->c->data[i];
		for (int64_t k = 0; k < pk_shape_elements(&v->shape); k++)
			x[k] = pk_f16_to_f32(pk_f32_to_f16(x[k]));
	}
}

static void describe(struct run *r, struct node_case *c, const char *row, enum pk_dtype float_type)
{
	memset(r, 0, sizeof(*r));
	r->c = c;
	r->row = row_named(row);
	for (int i = 0; i < c->node->n_inputs; i++) {
		if (c->node->inputs[i])
			r->in[i] = gpu_case_tensor(c->node->inputs[i], float_type);
	}
	for (int i = 0; i < c->node->n_outputs; i++)
		r->out[i] = gpu_case_tensor(c->node->outputs[i], float_type);
	r->call = (struct pk_cuda_call){c->node, r->in, r->out, float_type};
}

bool gpu_case_supported(struct node_case *c, const char *row, enum pk_dtype float_type)
{
	struct run r;
	describe(&r, c, row, float_type);
	return r.row->op == c->node->op && r.row->supports(&r.call);
}

static void begin(struct run *r, struct node_case *c, const char *row, enum pk_dtype float_type)
{
	describe(r, c, row, float_type);
	if (r->row->op != c->node->op || !r->row->supports(&r->call))
		fail_msg("%s does not take the node", row);
	round_operands(r);
	node_case_run(c, pk_cpu_kernel_reference(c->node), r->expected);
	for (int i = 0; i < c->node->n_inputs; i++) {
		if (!c->node->inputs[i])
			continue;
		r->inputs[i] = new_buffer(&r->in[i], 0);
		to_device(&r->inputs[i], c->data[i], c->node->inputs[i]->dtype);
		if (r->row->host_inputs >> i & 1) // it must not be read
			memset(r->inputs[i].data, 0xff, r->inputs[i].bytes);
	}
	r->packed = new_buffer(NULL, r->row->pack_bytes ? r->row->pack_bytes(&r->call) : 0);
	if (r->row->pack)
		r->row->pack(&r->call, r->packed.data);
	check_guard(&r->packed, row, "packed weights");
}

static void finish(struct run *r)
{
	for (int i = 0; i < NODE_CASE_MAX; i++)
		free(r->inputs[i].base);
	free(r->packed.base);
	free(r->expected[0]);
	free(r->expected[1]);
}

static void *address(struct run *r, struct pk_cuda_pointer p)
{
	switch (p.kind) {
	case PK_CUDA_INPUT:
		assert_in_range(p.idx, 0, NODE_CASE_MAX - 1);
		return r->inputs[p.idx].data;
	case PK_CUDA_OUTPUT:
		return r->outputs[p.idx].data;
	case PK_CUDA_PACKED:
		return r->packed.data;
	default:
		return r->workspace.data;
	}
}

static void launch(struct run *r, struct pk_cuda_launch *l)
{
	void *pointers[PK_CUDA_MAX_POINTERS], *args[PK_CUDA_MAX_POINTERS + 1];
	const struct pk_host_kernel *kernel = pk_host_kernel_by_name(l->function);
	if (!kernel)
		fail_msg("there is no kernel %s", l->function);
	for (int i = 0; i < l->n_pointers; i++) {
		pointers[i] = address(r, l->pointers[i]);
		args[i] = &pointers[i];
	}
	args[l->n_pointers] = l->params;
	assert_true(l->block[0] * l->block[1] * l->block[2] <= 1024);
	assert_true(l->grid[1] <= 65535 && l->grid[2] <= 65535 && l->grid[0] > 0);
	kernel->run(l->grid, l->block, l->shared_bytes, args);
}

static void launches(struct run *r)
{
	struct pk_cuda_launch l;
	size_t workspace = r->row->workspace ? r->row->workspace(&r->call) : 0;
	r->workspace = new_buffer(NULL, workspace);
	for (int i = 0; i < r->c->node->n_outputs; i++)
		r->outputs[i] = new_buffer(&r->out[i], 0);
	for (int i = 0; r->row->launch(&r->call, i, &l); i++)
		launch(r, &l);
}

static void end_launches(struct run *r)
{
	for (int i = 0; i < 2; i++)
		free(r->outputs[i].base);
	free(r->workspace.base);
	memset(r->outputs, 0, sizeof(r->outputs));
}

static bool same_float(const float *a, const float *b, int64_t n, double tolerance)
{
	double largest = 0;
	for (int64_t i = 0; i < n; i++)
		largest = isfinite(b[i]) ? fmax(largest, fabs((double)b[i])) : largest;
	for (int64_t i = 0; i < n; i++) {
		bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
		if (!same && !(fabs((double)a[i] - (double)b[i]) <= tolerance * largest))
			return false;
	}
	return true;
}

// Of output i; loud: a difference fails the test.
static bool same(struct run *r, int i, double tolerance, bool loud)
{
	const struct pk_value *v = r->c->node->outputs[i];
	int64_t n = pk_shape_elements(&v->shape);
	void *got = from_device(&r->outputs[i], v->dtype);
	bool ok;
	if (v->dtype == PK_F32) {
		ok = same_float(got, r->expected[i], n, tolerance);
		if (!ok && loud)
			assert_close(got, r->expected[i], n, tolerance, r->row->name);
	} else {
		ok = memcmp(got, r->expected[i], pk_tensor_bytes(v->dtype, &v->shape)) == 0;
		if (!ok && loud)
			fail_msg("%s: other %s results", r->row->name, pk_dtype_name(v->dtype));
	}
	free(got);
	return ok;
}

static void set_order(int order)
{
	static const enum pk_host_order orders[N_ORDERS] = {
		PK_HOST_FORWARD, PK_HOST_REVERSE, PK_HOST_RANDOM, PK_HOST_RANDOM};
	pk_host_set_order(orders[order], (unsigned)order);
}

void gpu_case_check(
	struct node_case *c, const char *row, enum pk_dtype float_type, double tolerance)
{
	struct run r;
	begin(&r, c, row, float_type);
	for (int order = 0; order < N_ORDERS; order++) {
		set_order(order);
		launches(&r);
		check_guard(&r.workspace, row, "workspace");
		for (int i = 0; i < c->node->n_outputs; i++) {
			check_guard(&r.outputs[i], row, "result");
			same(&r, i, tolerance, true);
			check_pads(&r.outputs[i], row);
		}
		end_launches(&r);
		assert_false(pk_host_take_divergence());
	}
	finish(&r);
}

// Whether some order of threads shows that the barrier in this line is gone.
static bool missed(struct run *r, int line, double tolerance)
{
	bool seen = false;
	pk_host_drop_barrier(line);
	for (int order = 0; order < N_ORDERS && !seen; order++) {
		set_order(order);
		launches(r);
		for (int i = 0; i < r->c->node->n_outputs; i++)
			seen |= !same(r, i, tolerance, false);
		seen |= pk_host_take_divergence();
		end_launches(r);
	}
	pk_host_drop_barrier(0);
	return seen;
}

void gpu_case_check_barriers(
	struct node_case *c, const char *row, enum pk_dtype float_type, double tolerance)
{
	struct run r;
	int lines[64] = {0}, n = 0;
	begin(&r, c, row, float_type);
	pk_host_forget_barriers();
	launches(&r);
	end_launches(&r);
	while (n < 64 && (lines[n] = pk_host_barrier_at(n)))
		n++;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		if (!missed(&r, lines[i], tolerance))
			fail_msg("%s: nothing is seen of it when the barrier in line %d is gone",
				row, lines[i]);
	}
	finish(&r);
}
