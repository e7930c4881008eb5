// SPDX-License-Identifier: Apache-2.0
// Whether a model may be used at all: its signatures against the config's keys.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/manifest.h"

struct pk_model;
struct pk_model_job;
struct pk_verify_policy; // a copy of what the config says of signatures

// On 0 *out is the caller's. -ENOMEM.
int pk_verify_policy_create(const struct pk_model *model, struct pk_verify_policy **out)
	pk_must_check;
void pk_verify_policy_destroy(struct pk_verify_policy *policy);
// Whether a signature is asked for: as the config says, or for whatever comes over a network.
bool pk_model_needs_signature(const struct pk_model *model);

// Fills job->verified, or job->code, err and permanent. Blocks; the job's thread.
void pk_model_verify(struct pk_model_job *job, const struct pk_manifest *manifest);
