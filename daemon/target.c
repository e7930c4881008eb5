// SPDX-License-Identifier: Apache-2.0
// Choosing the runtime of a model.
#include "daemon/target.h"

#include <stdio.h>
#include <string.h>

#include "daemon/text.h"

#define QUICK_RUNTIME   "cpu"
#define QUICK_OPT_LEVEL 0

static const struct pk_runtime_status *find(
	const struct pk_runtime_status *statuses, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(statuses[i].name, name) == 0)
			return &statuses[i];
	}
	return NULL;
}

static void explain(const char *name, const struct pk_runtime_status *status, char *cause)
{
	const char *why = !status           ? "not in this build"
			  : status->text[0] ? status->text
					    : "unusable";
	// The runtime may have begun its reason with its own name.
	bool named = status && strncmp(why, name, strlen(name)) == 0 && why[strlen(name)] == ':';
	pk_text_format(cause, PK_CAUSE_MAX, "%s%s%s", named ? "" : name, named ? "" : ": ", why);
}

static bool names(const struct pk_model_config *model, const char *name)
{
	for (size_t i = 0; i < model->n_chain; i++) {
		if (strcmp(model->chain[i], name) == 0)
			return true;
	}
	return false;
}

void pk_target_choose(const struct pk_model_config *model, int opt_level,
	const struct pk_runtime_status *statuses, size_t n_statuses, struct pk_target_choice *out)
{
	*out = (struct pk_target_choice){.opt_level = opt_level, .int8 = model->int8};
	for (size_t i = 0; i < model->n_chain && !out->runtime[0]; i++) {
		const char *name = model->chain[i];
		const struct pk_runtime_status *status = find(statuses, n_statuses, name);
		if (status && status->error == 0)
			snprintf(out->runtime, sizeof(out->runtime), "%s", name);
		else if (i == 0)
			explain(name, status, out->better_cause);
	}
	const struct pk_runtime_status *cpu = find(statuses, n_statuses, QUICK_RUNTIME);
	bool same = strcmp(out->runtime, QUICK_RUNTIME) == 0 && opt_level == QUICK_OPT_LEVEL;
	out->quick_ok = model->cpu_ok && names(model, QUICK_RUNTIME) && cpu && cpu->error == 0 &&
			out->runtime[0] && !same;
}

bool pk_target_equal(const struct pk_target_choice *a, const struct pk_target_choice *b)
{
	return strcmp(a->runtime, b->runtime) == 0 && a->opt_level == b->opt_level &&
	       a->int8 == b->int8 && a->quick_ok == b->quick_ok &&
	       strcmp(a->better_cause, b->better_cause) == 0;
}
