// SPDX-License-Identifier: Apache-2.0
// Tells which row each node of the given models' f16 engines would get, without a GPU: a tool of
// test_rows.py.
//
//   gpu-rows MODEL.onnx[@INPUT=1x3x224x224]…
//
// A line a model: its path, steps, steps that move nothing, and operators that are left to the cpu
// ("islands"), each with its number. Without a model: the operators that no row of the GPU knows.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/compile/compile.h"
#include "engine/cpu/eval.h"
#include "engine/cuda/lower.h"
#include "engine/cuda/row.h"
#include "engine/cuda/steps.h"
#include "engine/passes/pass.h"

struct count {
	int n, views, islands[PK_N_OPS], n_islands;
};

static void count_steps(const struct pk_cuda_steps *steps, struct count *out)
{
	memset(out, 0, sizeof(*out));
	for (int i = 0; i < steps->n; i++) {
		const struct pk_cuda_step *step = &steps->items[i];
		out->n++;
		if (step->kind == PK_CUDA_STEP_VIEW) {
			out->views++;
		} else if (!pk_cuda_row_next(&step->call, INT_MAX)) {
			out->islands[step->call.node->op]++;
			out->n_islands++;
		}
	}
}

static int look(char *argument, struct count *out, struct pk_err *err)
{
	struct pk_source_model model = {0};
	struct pk_pass_options passes = {.evaluator = &pk_cpu_evaluator};
	pk_cleanup(pk_cuda_steps_finish) struct pk_cuda_steps steps = {0};
	struct pk_input_shape shape = {0};
	char *at = strchr(argument, '@'), *equals = at ? strchr(at, '=') : NULL;
	if (equals) {
		*at = *equals = '\0';
		shape.name = at + 1;
		for (char *dim = equals + 1; *dim && shape.shape.rank < PK_MAX_RANK;) {
			shape.shape.dims[shape.shape.rank++] = strtoll(dim, &dim, 10);
			dim += *dim == 'x';
		}
	}
	int r = pk_source_model_open(&model, argument, &shape, equals != NULL, NULL, err);
	if (r == 0)
		r = pk_passes_run(model.graph, &passes, NULL, err);
	if (r == 0)
		r = pk_cuda_insert_borders(model.graph, err);
	if (r == 0)
		r = pk_cuda_steps_init(&steps, model.graph, PK_F16, err);
	if (r == 0)
		count_steps(&steps, out);
	pk_source_model_close(&model);
	return r;
}

static bool is_known(enum pk_op op)
{
	for (const struct pk_cuda_row *const *row = pk_cuda_kernel_rows; *row; row++) {
		if ((*row)->op == op)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	for (int op = 1; argc < 2 && op < PK_N_OPS; op++) {
		if (!is_known((enum pk_op)op))
			printf("%s\n", pk_op_info((enum pk_op)op)->name);
	}
	for (int i = 1; i < argc; i++) {
		struct pk_err err = {0};
		struct count count;
		int r = look(argv[i], &count, &err);
		if (r < 0) {
			fprintf(stderr, "gpu-rows: %s: %s\n", argv[i], pk_err_text(&err, r));
			return 1;
		}
		printf("%s %d %d %d", argv[i], count.n, count.views, count.n_islands);
		for (int op = 0; op < PK_N_OPS; op++) {
			if (count.islands[op])
				printf(" %s=%d", pk_op_info((enum pk_op)op)->name,
					count.islands[op]);
		}
		printf("\n");
	}
	return 0;
}
