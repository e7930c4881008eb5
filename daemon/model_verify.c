// SPDX-License-Identifier: Apache-2.0
// The signature policy of a model, applied to a manifest.
#include "daemon/model_verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/model_job.h"
#include "daemon/text.h"
#include "registry/signature.h"

struct pk_verify_policy {
	bool required;
	unsigned threshold, formats;
	char *model_name;       // NULL: not compared
	char **keys, **revoked; // paths, ids
	size_t n_keys, n_revoked;
	struct key_rule {
		char id[PK_KEY_ID_TEXT];
		struct pk_key_rules rules;
	} * rules;
	size_t n_rules;
	int64_t now_s;
};

bool pk_model_needs_signature(const struct pk_model *model)
{
	int required = model->config->signature.required;
	return required == PK_AUTO ? pk_model_ref_is_open(model->ref) : required == PK_TRUE;
}

static char **copy_list(char *const *from, size_t n, size_t *n_out, bool *failed)
{
	char **list = calloc(n + 1, sizeof(*list));
	*failed = *failed || !list;
	for (size_t i = 0; list && i < n; i++) {
		char *text = strdup(from[i]);
		*failed = *failed || !text;
		if (text)
			list[(*n_out)++] = text;
	}
	return list;
}

static unsigned formats_of(const struct pk_signature_config *config)
{
	unsigned formats = 0;
	for (size_t i = 0; i < config->n_formats; i++)
		formats |= strcmp(config->formats[i], "cosign") == 0 ? PK_SIGNATURE_COSIGN
								     : PK_SIGNATURE_BUNDLE;
	return formats;
}

static int copy_rules(const struct pk_signature_config *config, struct pk_verify_policy *policy)
{
	policy->rules = calloc(config->n_key_rules + 1, sizeof(*policy->rules));
	if (!policy->rules)
		return -ENOMEM;
	for (size_t i = 0; i < config->n_key_rules; i++) {
		const struct pk_key_rule_config *from = &config->key_rules[i];
		struct key_rule *to = &policy->rules[policy->n_rules++];
		pk_text_format(to->id, sizeof(to->id), "%s", from->id);
		to->rules.seq_min = from->seq_min;
		to->rules.seq_max = from->seq_max;
		(void)pk_parse_utc(from->not_before, &to->rules.not_before_s); // "": none
		(void)pk_parse_utc(from->not_after, &to->rules.not_after_s);
	}
	return 0;
}

int pk_verify_policy_create(const struct pk_model *model, struct pk_verify_policy **out)
{
	const struct pk_signature_config *config = &model->config->signature;
	struct pk_verify_policy *policy = calloc(1, sizeof(*policy));
	bool failed = false;
	if (!policy)
		return -ENOMEM;
	policy->required = pk_model_needs_signature(model);
	policy->threshold = (unsigned)config->threshold;
	policy->formats = formats_of(config);
	policy->now_s = pk_model_wall_s(model);
	policy->keys = copy_list(config->keys, config->n_keys, &policy->n_keys, &failed);
	policy->revoked =
		copy_list(config->revoked, config->n_revoked, &policy->n_revoked, &failed);
	policy->model_name = config->model[0] ? strdup(config->model) : NULL;
	failed = failed || (config->model[0] && !policy->model_name) ||
		 copy_rules(config, policy) < 0;
	if (failed) {
		pk_verify_policy_destroy(policy);
		return -ENOMEM;
	}
	*out = policy;
	return 0;
}

void pk_verify_policy_destroy(struct pk_verify_policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->n_keys; i++)
		free(policy->keys[i]);
	for (size_t i = 0; i < policy->n_revoked; i++)
		free(policy->revoked[i]);
	free(policy->keys);
	free(policy->revoked);
	free(policy->rules);
	free(policy->model_name);
	free(policy);
}

static int load_keys(
	const struct pk_verify_policy *policy, struct pk_keyring *ring, struct pk_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < policy->n_keys; i++)
		r = pk_keyring_add(ring, policy->keys[i], NULL, err);
	for (size_t i = 0; r == 0 && i < policy->n_revoked; i++)
		(void)pk_keyring_revoke(ring, policy->revoked[i], NULL); // not there: cannot sign
	// A rule for a key that is not there is a mistake, and one that would let a key sign more.
	for (size_t i = 0; r == 0 && i < policy->n_rules; i++)
		r = pk_keyring_limit(ring, policy->rules[i].id, &policy->rules[i].rules, err);
	if (r == -ENOENT)
		pk_err_prefix(err, "signature");
	return r;
}

static int judge(struct pk_model_job *job, const struct pk_manifest *manifest,
	const struct pk_keyring *ring, struct pk_signature_verdict *verdict)
{
	const struct pk_verify_policy *mine = job->policy;
	const struct pk_signature_policy policy = {
		.required = mine->required,
		.keys = ring->keys,
		.n_keys = ring->n,
		.threshold = mine->threshold,
		.formats = mine->formats,
		.model_name = mine->model_name,
		.now_s = mine->now_s,
	};
	pk_auto(pk_registry) registry = NULL;
	struct pk_ref ref;
	int r = pk_ref_parse(job->ref, &ref, &job->err);
	if (r < 0)
		return r;
	r = pk_registry_open(&ref, &job->options, &registry, &job->err);
	if (r == 0)
		r = pk_signature_verify(registry, manifest, &policy, verdict, &job->err);
	pk_ref_finish(&ref);
	return r;
}

static void take(struct pk_model_job *job, const struct pk_signature_verdict *verdict)
{
	job->verified.trusted = !job->policy->required;
	job->verified.seq = verdict->seq;
	if (verdict->n_keys > 0)
		pk_text_format(job->verified.by, sizeof(job->verified.by), "key %.16s… (%s)",
			verdict->key_ids[0], verdict->format);
}

// A signature that is missing may still come: it is pushed after what it signs.
void pk_model_verify(struct pk_model_job *job, const struct pk_manifest *manifest)
{
	struct pk_keyring ring = {0};
	struct pk_signature_verdict verdict = {.seq = -1};
	job->verified.rollout = manifest->rollout_percent < 0 ? 100 : manifest->rollout_percent;
	job->code = load_keys(job->policy, &ring, &job->err);
	if (job->code == 0) {
		job->code = judge(job, manifest, &ring, &verdict);
		job->permanent =
			job->code == -EKEYREJECTED && pk_signature_reason_is_final(verdict.reason);
	}
	if (job->code == 0)
		take(job, &verdict);
	pk_keyring_finish(&ring);
}
