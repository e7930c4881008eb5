// SPDX-License-Identifier: Apache-2.0
// Control flow whose way is known at import.
#include <errno.h>

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
