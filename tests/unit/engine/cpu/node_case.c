// SPDX-License-Identifier: Apache-2.0
// One node with its operands, run by any kernel row between guard bytes.
#include "node_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/layout.h"

#define GUARD      64 // bytes before and after; keeps the 64-byte alignment
#define GUARD_BYTE 0xa5

static uint32_t random_state = 1;

void random_seed(uint32_t seed)
{
	random_state = seed ? seed : 1;
}

// xorshift32 (Marsaglia 2003).
uint32_t random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

int64_t random_range(int64_t low, int64_t high)
{
	return low + (int64_t)(random_u32() % (uint32_t)(high - low + 1));
}

float random_float(void)
{
	return (float)(random_u32() >> 8) * 0x1p-23F - 1;
}

static void *exact_alloc(size_t bytes)
{
	void *p = NULL;
	assert_int_equal(posix_memalign(&p, PK_CPU_ALIGN, bytes ? bytes : 1), 0);
	return p;
}

void node_case_begin(struct node_case *c)
{
	memset(c, 0, sizeof(*c));
	c->graph = pk_graph_create(0);
	assert_non_null(c->graph);
}

static void fill(enum pk_dtype dtype, void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t v = random_range(-20, 20);
		switch (dtype) {
		case PK_F32:
			((float *)data)[i] = random_float();
			break;
		case PK_F64:
			((double *)data)[i] = (double)random_float();
			break;
		case PK_F16:
			((uint16_t *)data)[i] = pk_f32_to_f16(random_float());
			break;
		case PK_BOOL:
			((uint8_t *)data)[i] = v > 0;
			break;
		default:
			for (size_t b = 0; b < pk_dtype_bytes(dtype); b++)
				((uint8_t *)data)[(size_t)i * pk_dtype_bytes(dtype) + b] =
					(uint8_t)((uint64_t)v >> (8 * b));
		}
	}
}

void *node_case_operand(
	struct node_case *c, enum pk_dtype dtype, struct pk_shape shape, bool constant)
{
	char name[8] = {'v', (char)('0' + c->n_inputs), 0};
	size_t bytes = pk_tensor_bytes(dtype, &shape);
	void *data = exact_alloc(bytes);
	fill(dtype, data, pk_shape_elements(&shape));
	struct pk_value *v = constant ? pk_graph_add_const(c->graph, name, dtype, &shape, data)
				      : pk_graph_add_input(c->graph, name, dtype, &shape);
	assert_non_null(v);
	c->data[c->n_inputs] = data;
	c->values[c->n_inputs++] = v;
	return data;
}

void node_case_omit(struct node_case *c)
{
	c->n_inputs++;
}

struct pk_node *node_case_node(struct node_case *c, enum pk_op op)
{
	c->node = pk_graph_new_node(c->graph, op, "node", c->values, c->n_inputs, NULL);
	assert_non_null(c->node);
	return c->node;
}

void node_case_finish(struct node_case *c, const struct pk_shape *shape)
{
	struct pk_err err = {0};
	int n_outputs = c->node->op == PK_OP_TOP_K ? 2 : 1;
	int r = pk_graph_finish_node(c->graph, c->node, NULL, n_outputs, shape, &err);
	if (r < 0)
		fail_msg("finish_node: %s", pk_err_text(&err, r));
}

void node_case_end(struct node_case *c)
{
	pk_graph_destroy(c->graph);
	for (int i = 0; i < c->n_inputs; i++)
		free(c->data[i]);
}

static char *guarded(size_t bytes)
{
	char *p = exact_alloc(bytes + 2 * GUARD);
	memset(p, GUARD_BYTE, bytes + 2 * GUARD);
	return p;
}

static void check_guard(const char *p, size_t bytes, const char *kernel, const char *what)
{
	for (size_t i = 0; i < GUARD; i++) {
		if ((uint8_t)p[i] != GUARD_BYTE || (uint8_t)p[GUARD + bytes + i] != GUARD_BYTE)
			fail_msg("%s wrote outside its %s", kernel, what);
	}
}

// over: the operand whose address output 0 gets (its bytes are kept), or -1.
static void run_row(struct node_case *c, const struct pk_cpu_kernel *kernel, int over,
	struct pk_cpu_pool *pool, void *outputs[2])
{
	struct pk_arena *arena = pk_arena_create(0);
	const void *state = NULL;
	size_t sizes[2] = {0}, workspace = 0, packed = 0;
	char *guards[2] = {NULL};
	void *data[2];
	const void *operands[NODE_CASE_MAX];
	assert_true(pk_cpu_kernel_supports(kernel, c->node));
	for (int i = 0; i < c->node->n_outputs; i++) {
		sizes[i] = pk_layout_bytes(c->node->outputs[i]);
		guards[i] = guarded(sizes[i]);
		data[i] = guards[i] + GUARD;
	}
	memcpy(operands, c->data, sizeof(operands));
	if (over >= 0) {
		memcpy(data[0], c->data[over], sizes[0]);
		operands[over] = data[0];
	}
	struct pk_cpu_memory memory = pk_cpu_kernel_memory(kernel, c->node);
	workspace = pk_cpu_memory_bytes(&memory, pk_cpu_pool_threads(pool));
	packed = kernel->pack_bytes ? kernel->pack_bytes(c->node) : 0;
	char *workspace_guard = guarded(workspace), *packed_guard = guarded(packed);
	if (kernel->pack)
		kernel->pack(c->node, packed_guard + GUARD);
	if (kernel->setup)
		assert_int_equal(kernel->setup(c->node, arena, &state), 0);
	struct pk_cpu_call call = {.inputs = operands,
		.outputs = data,
		.packed = packed_guard + GUARD,
		.state = state,
		.pool = pool};
	pk_cpu_call_set_memory(&call, &memory, workspace_guard + GUARD);
	kernel->run(&call);
	for (int i = 0; i < c->node->n_outputs; i++) {
		check_guard(guards[i], sizes[i], kernel->name, "output");
		outputs[i] = exact_alloc(sizes[i]);
		memcpy(outputs[i], data[i], sizes[i]);
		free(guards[i]);
	}
	check_guard(workspace_guard, workspace, kernel->name, "workspace");
	check_guard(packed_guard, packed, kernel->name, "packed weights");
	free(workspace_guard);
	free(packed_guard);
	pk_arena_destroy(arena);
}

void node_case_run(struct node_case *c, const struct pk_cpu_kernel *kernel, void *outputs[2])
{
	run_row(c, kernel, -1, NULL, outputs);
}

// A row that declares it may run in place gives the same bytes over each operand of equal length.
static void check_in_place(struct node_case *c, const struct pk_cpu_kernel *kernel)
{
	const struct pk_value *y = c->node->outputs[0];
	size_t bytes = pk_layout_bytes(y);
	if (!kernel->in_place || !(pk_op_info(c->node->op)->flags & PK_OP_ELEMENTWISE))
		return;
	void *apart[2] = {NULL};
	run_row(c, kernel, -1, NULL, apart);
	for (int i = 0; i < c->node->n_inputs; i++) {
		const struct pk_value *x = c->node->inputs[i];
		void *over[2] = {NULL};
		if (!x || pk_layout_bytes(x) != bytes || x->block != y->block ||
			pk_shape_elements(&x->shape) != pk_shape_elements(&y->shape))
			continue;
		run_row(c, kernel, i, NULL, over);
		if (memcmp(over[0], apart[0], bytes) != 0)
			fail_msg("%s: other result over operand %d", kernel->name, i);
		free(over[0]);
	}
	free(apart[0]);
}

void node_case_run_shared(
	struct node_case *c, const struct pk_cpu_kernel *kernel, bool shared, void *outputs[2])
{
	static struct pk_cpu_pool *pool; // of the whole program
	if (shared && !pool)
		assert_int_equal(pk_cpu_pool_create(3, &pool, NULL), 0);
	run_row(c, kernel, -1, shared ? pool : NULL, outputs);
}

// Three threads give the same bytes as one.
static void check_threads(struct node_case *c, const struct pk_cpu_kernel *kernel)
{
	void *alone[2] = {NULL}, *shared[2] = {NULL};
	node_case_run_shared(c, kernel, false, alone);
	node_case_run_shared(c, kernel, true, shared);
	for (int i = 0; i < c->node->n_outputs; i++) {
		const struct pk_value *y = c->node->outputs[i];
		if (memcmp(alone[i], shared[i], pk_tensor_bytes(y->dtype, &y->shape)) != 0)
			fail_msg("%s: other result on three threads", kernel->name);
		free(alone[i]);
		free(shared[i]);
	}
}

void *node_case_reference(struct node_case *c)
{
	const struct pk_cpu_kernel *kernel = pk_cpu_kernel_reference(c->node);
	void *outputs[2] = {NULL};
	assert_non_null(kernel);
	node_case_run(c, kernel, outputs);
	free(outputs[1]);
	return outputs[0];
}

static void compare(struct node_case *c, int output, const void *got, const void *expected,
	double tolerance, const char *what)
{
	const struct pk_value *v = c->node->outputs[output];
	if (v->dtype == PK_F32)
		assert_close(got, expected, pk_shape_elements(&v->shape), tolerance, what);
	else
		assert_memory_equal(got, expected, pk_tensor_bytes(v->dtype, &v->shape));
}

// Where element i of a plain picture lies in blocks.
static int64_t place_in_blocks(const struct pk_shape *s, int block, int64_t i)
{
	int64_t plane = s->dims[2] * s->dims[3], at = i % plane, c = i / plane % s->dims[1];
	int64_t n = i / plane / s->dims[1], blocks = (s->dims[1] + block - 1) / block;
	return ((n * blocks + c / block) * plane + at) * block + c % block;
}

// Lanes beyond the channels are NaN: no kernel may let them show.
static float *to_blocks(const struct pk_value *value, const float *plain)
{
	size_t bytes = pk_layout_bytes(value);
	float *out = exact_alloc(bytes);
	memset(out, 0xff, bytes);
	for (int64_t i = 0; i < pk_shape_elements(&value->shape); i++)
		out[place_in_blocks(&value->shape, value->block, i)] = plain[i];
	return out;
}

static float *from_blocks(const struct pk_value *value, float *blocked)
{
	int64_t n = pk_shape_elements(&value->shape);
	float *out = exact_alloc((size_t)n * sizeof(*out));
	for (int64_t i = 0; i < n; i++)
		out[i] = blocked[place_in_blocks(&value->shape, value->block, i)];
	free(blocked);
	return out;
}

// Rows that know of layouts, with the layouts that the values have now. Number of rows.
static int check_layout(struct node_case *c, double tolerance, const void *expected)
{
	struct pk_value *y = c->node->outputs[0];
	void *plain[NODE_CASE_MAX];
	int n = 0;
	memcpy(plain, c->data, sizeof(plain));
	for (int i = 0; i < c->node->n_inputs; i++) {
		if (c->node->inputs[i] && c->node->inputs[i]->block)
			c->data[i] = to_blocks(c->node->inputs[i], plain[i]);
	}
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		void *got[2] = {NULL};
		if (!(*k)->blocked || !pk_cpu_kernel_supports(*k, c->node))
			continue;
		node_case_run(c, *k, got);
		check_in_place(c, *k);
		if (y->block)
			got[0] = from_blocks(y, got[0]);
		assert_close(got[0], expected, pk_shape_elements(&y->shape), tolerance, (*k)->name);
		free(got[0]);
		n++;
	}
	for (int i = 0; i < c->node->n_inputs; i++) {
		if (c->data[i] != plain[i])
			free(c->data[i]);
		c->data[i] = plain[i];
	}
	return n;
}

static bool set_block(struct pk_value *value, int block)
{
	if (block && (!value || value->data ||
			     !pk_layout_block_fits(value->dtype, &value->shape, block)))
		return false;
	if (value)
		value->block = block;
	return true;
}

int node_case_check_blocks(struct node_case *c, double tolerance)
{
	static const int blocks[] = {4, 8, 16};
	float *expected = node_case_reference(c);
	int n = 0, n_values = c->node->n_inputs + 1;
	for (int mask = 1; mask < 3 << n_values; mask++) {
		int block = blocks[mask >> n_values];
		bool fits = (mask & ((1 << n_values) - 1)) != 0;
		for (int i = 0; i < n_values; i++) {
			struct pk_value *value =
				i == n_values - 1 ? c->node->outputs[0] : c->node->inputs[i];
			fits = set_block(value, mask >> i & 1 ? block : 0) && fits;
		}
		n += fits ? check_layout(c, tolerance, expected) : 0;
	}
	for (int i = 0; i < n_values; i++)
		set_block(i == n_values - 1 ? c->node->outputs[0] : c->node->inputs[i], 0);
	free(expected);
	return n;
}

int node_case_check_rows(struct node_case *c, double tolerance)
{
	const struct pk_cpu_kernel *reference = pk_cpu_kernel_reference(c->node);
	void *expected[2] = {NULL};
	int n = 0;
	assert_non_null(reference);
	node_case_run(c, reference, expected);
	check_in_place(c, reference);
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		void *got[2] = {NULL};
		if (*k == reference || !pk_cpu_kernel_supports(*k, c->node))
			continue;
		node_case_run(c, *k, got);
		check_in_place(c, *k);
		check_threads(c, *k);
		for (int i = 0; i < c->node->n_outputs; i++)
			compare(c, i, got[i], expected[i], tolerance, (*k)->name);
		free(got[0]);
		free(got[1]);
		n++;
	}
	free(expected[0]);
	free(expected[1]);
	return n;
}

void assert_close(const float *a, const float *b, int64_t n, double tolerance, const char *what)
{
	double largest = 0;
	for (int64_t i = 0; i < n; i++) {
		if (isfinite(b[i]))
			largest = fmax(largest, fabs((double)b[i]));
	}
	for (int64_t i = 0; i < n; i++) {
		bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
		if (!same && !(fabs((double)a[i] - (double)b[i]) <= tolerance * largest))
			fail_msg("%s: element %lld is %.9g, expected %.9g", what, (long long)i,
				(double)a[i], (double)b[i]);
	}
}
