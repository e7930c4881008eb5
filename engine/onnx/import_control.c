// SPDX-License-Identifier: Apache-2.0
// Control flow whose way is known at import.
#include <errno.h>

#include "base/checked.h"
#include "engine/onnx/body.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

static void bind_branch_outputs(
	struct pk_importer *im, const struct pk_onnx_graph *branch, const struct pk_names *names)
{
	for (int i = 0; i < im->n_outputs && !im->rc; i++) {
		struct pk_value *value;
		struct pk_err why = {0};
		int rc = pk_body_resolve(im->state, names, branch->outputs[i].name, &value, &why);
		if (rc)
			pk_importer_fail(im, rc, "%s", why.text);
		else if (!value)
			im->poisoned = true;
		else
			pk_emit_alias(im, i, value);
	}
}

// The nodes of the branch take the place of the If. They see the names around it.
static void inline_branch(struct pk_importer *im, const struct pk_onnx_graph *branch)
{
	struct pk_names names = {.outer = im->names};
	struct pk_err why = {0};
	if (branch->n_outputs < (size_t)im->n_outputs) {
		pk_importer_fail(im, -EINVAL, "the branch has %zu outputs, the node %d",
			branch->n_outputs, im->n_outputs);
		return;
	}
	int rc = pk_names_build(&names, branch, im->state->scratch, &why);
	if (!rc)
		rc = pk_body_import(im->state, branch, &names, &why);
	if (rc)
		pk_importer_fail(im, rc, "%s", why.text);
	else
		bind_branch_outputs(im, branch, &names);
}

int pk_import_if(struct pk_importer *im)
{
	int64_t condition;
	if (!pk_value_scalar_int(im->inputs[0], &condition))
		return pk_importer_fail(im, -ENOTSUP,
			"its condition is computed at run time; it must follow from constants and "
			"shapes (export the model without control flow)");
	inline_branch(im, pk_importer_attr(im, condition ? "then_branch" : "else_branch")->g);
	return im->rc;
}

// Iterations of all loops of a model together: what is unrolled must still be a graph.
#define MAX_ITERATIONS 4096
#define MAX_STATE      64 // loop-carried values and scan outputs

// A Loop while it is unrolled. Its body takes (iteration, condition, state…) and gives (condition,
// state…, scans…).
struct loop {
	const struct pk_onnx_graph *body;
	int n_state, n_scans;
	struct pk_value *state[MAX_STATE];
	struct pk_value **scans[MAX_STATE]; // by iteration, each as [1, …]
	int64_t n_trips, n_done;
	bool goes_on;
};

static void set_input(struct pk_importer *im, struct pk_names *names, struct pk_onnx_str text,
	struct pk_value *value)
{
	struct pk_name *name = pk_names_find(names, text);
	if (!name || !name->input)
		pk_importer_fail(
			im, -EINVAL, "the body's input `%.*s` has no place", PK_STR_ARG(text));
	else
		name->value = value;
}

static struct pk_value *body_output(
	struct pk_importer *im, const struct loop *loop, const struct pk_names *names, int i)
{
	struct pk_value *value = NULL;
	struct pk_err why = {0};
	int rc = pk_body_resolve(im->state, names, loop->body->outputs[i].name, &value, &why);
	if (rc)
		pk_importer_fail(im, rc, "%s", why.text);
	else if (!value)
		im->poisoned = true;
	return value;
}

static void take_scan(struct pk_importer *im, struct loop *loop, int i, struct pk_value *value)
{
	struct pk_shape row = {.rank = value->shape.rank + 1};
	if (row.rank > PK_MAX_RANK) {
		pk_importer_fail(im, -ENOTSUP, "a scan output has too many dimensions");
		return;
	}
	row.dims[0] = 1;
	for (int k = 1; k < row.rank; k++)
		row.dims[k] = value->shape.dims[k - 1];
	loop->scans[i][loop->n_done] = pk_emit_reshape(im, PK_TEMP, value, &row);
}

static void take_outputs(struct pk_importer *im, struct loop *loop, const struct pk_names *names)
{
	int64_t goes_on = 0;
	struct pk_value *condition = body_output(im, loop, names, 0);
	if (condition && !pk_value_scalar_int(condition, &goes_on))
		pk_importer_fail(im, -ENOTSUP,
			"its condition is computed at run time; it must follow from constants and "
			"shapes (export the model without control flow)");
	struct pk_value *next[MAX_STATE] = {0};
	for (int i = 0; i < loop->n_state && !im->rc && !im->poisoned; i++)
		next[i] = body_output(im, loop, names, 1 + i);
	for (int i = 0; i < loop->n_scans && !im->rc && !im->poisoned; i++) {
		struct pk_value *value = body_output(im, loop, names, 1 + loop->n_state + i);
		if (value && !im->rc)
			take_scan(im, loop, i, value);
	}
	for (int i = 0; i < loop->n_state && !im->rc && !im->poisoned; i++)
		loop->state[i] = next[i];
	loop->goes_on = goes_on != 0;
}

static void unroll_once(struct pk_importer *im, struct loop *loop)
{
	struct pk_names names = {.outer = im->names};
	struct pk_err why = {0};
	struct pk_shape scalar = {0};
	uint8_t yes = 1;
	if (++im->state->n_iterations > MAX_ITERATIONS) {
		pk_importer_fail(im, -ENOTSUP, "unrolling it is not supported beyond %d iterations",
			MAX_ITERATIONS);
		return;
	}
	int rc = pk_names_build(&names, loop->body, im->state->scratch, &why);
	struct pk_value *iteration = pk_emit_const(im, PK_TEMP, PK_I64, &scalar, &loop->n_done);
	struct pk_value *condition = pk_emit_const(im, PK_TEMP, PK_BOOL, &scalar, &yes);
	if (rc)
		pk_importer_fail(im, rc, "%s", why.text);
	if (!im->rc)
		set_input(im, &names, loop->body->inputs[0].name, iteration);
	if (!im->rc)
		set_input(im, &names, loop->body->inputs[1].name, condition);
	for (int i = 0; i < loop->n_state && !im->rc; i++)
		set_input(im, &names, loop->body->inputs[2 + i].name, loop->state[i]);
	rc = im->rc ? 0 : pk_body_import(im->state, loop->body, &names, &why);
	if (rc)
		pk_importer_fail(im, rc, "%s", why.text);
	if (!im->rc)
		take_outputs(im, loop, &names);
	loop->n_done++;
}

static bool read_loop(struct pk_importer *im, struct loop *loop)
{
	struct pk_value *trips = pk_importer_input(im, 0), *condition = pk_importer_input(im, 1);
	int64_t goes_on = 1;
	loop->n_trips = MAX_ITERATIONS + 1;
	if ((trips && !pk_value_scalar_int(trips, &loop->n_trips)) ||
		(condition && !pk_value_scalar_int(condition, &goes_on))) {
		pk_importer_fail(im, -ENOTSUP,
			"its trip count or condition is computed at run time; both must follow "
			"from constants and shapes (export the model without control flow)");
		return false;
	}
	loop->goes_on = goes_on != 0;
	loop->body = pk_importer_attr(im, "body")->g;
	loop->n_state = PK_MAX(im->n_inputs - 2, 0);
	size_t n_outputs = loop->body->n_outputs, n_state = (size_t)loop->n_state;
	if (loop->body->n_inputs != n_state + 2 || n_outputs < n_state + 1 ||
		n_outputs > MAX_STATE || n_outputs - 1 < (size_t)im->n_outputs) {
		pk_importer_fail(im, -EINVAL,
			"the body takes %zu values and gives %zu, with %zu "
			"loop-carried ones",
			loop->body->n_inputs, n_outputs, n_state);
		return false;
	}
	loop->n_scans = (int)(n_outputs - 1 - n_state);
	for (int i = 0; i < loop->n_state; i++) {
		loop->state[i] = im->inputs[2 + i];
		if (!loop->state[i])
			pk_importer_fail(im, -EINVAL, "loop-carried value %d is left out", i);
	}
	int64_t n = PK_MIN(PK_MAX(loop->n_trips, 1), (int64_t)MAX_ITERATIONS + 1);
	for (int i = 0; i < loop->n_scans && !im->rc; i++) {
		loop->scans[i] =
			pk_arena_array(im->state->scratch, (size_t)n, sizeof(*loop->scans[i]));
		if (!loop->scans[i])
			pk_importer_fail(im, -ENOMEM, "no memory");
	}
	return !im->rc;
}

static void bind_loop_outputs(struct pk_importer *im, const struct loop *loop)
{
	for (int i = 0; i < im->n_outputs && !im->rc && !im->poisoned; i++) {
		if (i < loop->n_state) {
			pk_emit_alias(im, i, loop->state[i]);
			continue;
		}
		if (!loop->n_done) {
			pk_importer_fail(im, -ENOTSUP,
				"scan outputs of a loop that never runs are not supported");
			return;
		}
		struct pk_node *node = pk_emit_begin(
			im, PK_OP_CONCAT, loop->scans[i - loop->n_state], (int)loop->n_done);
		pk_emit_end(im, node, i, NULL);
	}
}

// Every iteration's nodes one after the other, in place of the Loop.
int pk_import_loop(struct pk_importer *im)
{
	struct loop loop = {0};
	if (!read_loop(im, &loop))
		return im->rc;
	while (loop.goes_on && loop.n_done < loop.n_trips && !im->rc && !im->poisoned)
		unroll_once(im, &loop);
	bind_loop_outputs(im, &loop);
	return im->rc;
}
