// SPDX-License-Identifier: Apache-2.0
// The signature policy of a model, applied to a manifest.
#include "daemon/model_verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/model_job.h"

struct pk_verify_policy {
	bool required;
};

bool pk_model_needs_signature(const struct pk_model *model)
{
	int required = model->config->signature.required;
	return required == PK_AUTO ? pk_model_ref_is_open(model->ref) : required == PK_TRUE;
}

int pk_verify_policy_create(const struct pk_model *model, struct pk_verify_policy **out)
{
	struct pk_verify_policy *policy = calloc(1, sizeof(*policy));
	if (!policy)
		return -ENOMEM;
	policy->required = pk_model_needs_signature(model);
	*out = policy;
	return 0;
}

void pk_verify_policy_destroy(struct pk_verify_policy *policy)
{
	free(policy);
}

void pk_model_verify(struct pk_model_job *job, pk_unused const struct pk_manifest *manifest)
{
	job->verified.rollout = 100;
	job->verified.trusted = !job->policy->required;
	job->verified.seq = -1;
	if (!job->policy->required)
		return;
	job->code = pk_fail(&job->err, -ENOSYS, "signatures cannot be verified");
}
