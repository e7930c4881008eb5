// SPDX-License-Identifier: Apache-2.0
// What the operator does with a model's updates.
#include <errno.h>
#include <string.h>

#include "daemon/model_job.h"

static int check(struct pk_model *model, pk_unused const char *digest, bool hurry,
	pk_unused struct pk_err *err)
{
	pk_model_update_post(model,
		&(struct pk_up_event){.type = PK_UP_CHECK, .operator_ = true, .hurry = hurry});
	return 0;
}

static int pull(
	struct pk_model *model, const char *digest, pk_unused bool any_seq, struct pk_err *err)
{
	return check(model, digest, true, err);
}

static int look(
	struct pk_model *model, const char *digest, pk_unused bool any_seq, struct pk_err *err)
{
	return check(model, digest, false, err);
}

static int pin(struct pk_model *model, const char *digest, bool any_seq, struct pk_err *err)
{
	struct pk_digest parsed;
	if (digest && pk_digest_parse(digest, &parsed) < 0)
		return pk_fail(
			err, -EINVAL, "`%s` is no digest (sha256:… with 64 hex digits)", digest);
	if (!digest && !model->update.record.active.digest[0])
		return pk_fail(err, -ENOENT, "there is no active model to pin");
	pk_model_update_post(model,
		&(struct pk_up_event){.type = PK_UP_PIN, .digest = digest, .any_seq = any_seq});
	return 0;
}

static int unpin(struct pk_model *model, pk_unused const char *digest, pk_unused bool any_seq,
	struct pk_err *err)
{
	if (!model->update.record.pinned[0])
		return pk_fail(err, -EBUSY, "it is not pinned");
	pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_UNPIN});
	return 0;
}

static int cancel(struct pk_model *model, pk_unused const char *digest, pk_unused bool any_seq,
	struct pk_err *err)
{
	const char *phase = pk_update_phase_name(model->update.phase);
	if (!pk_update_pending(&model->update))
		return pk_fail(err, -EBUSY, "there is nothing to cancel: its phase is %s%s", phase,
			model->update.phase >= PK_UP_ACTIVATE ? "; `rollback` goes back" : "");
	pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_CANCEL});
	return 0;
}

static int rollback(struct pk_model *model, pk_unused const char *digest, pk_unused bool any_seq,
	struct pk_err *err)
{
	enum pk_update_phase phase = model->update.phase;
	bool trying = phase == PK_UP_ACTIVATE || phase == PK_UP_OBSERVE;
	if (!trying && phase > PK_UP_WAIT)
		return pk_fail(
			err, -EBUSY, "not now: its phase is %s", pk_update_phase_name(phase));
	if (!trying && !model->update.record.previous.digest[0])
		return pk_fail(err, -ENOENT, "there is no model before this one on the node");
	pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_ROLL_BACK});
	return 0;
}

int pk_model_command(struct pk_model *model, enum pk_model_verb verb, const char *digest,
	bool any_seq, struct pk_err *err)
{
	static int (*const verbs[])(
		struct pk_model * model, const char *digest, bool any_seq, struct pk_err *err) = {
		[PK_MODEL_CHECK] = look,
		[PK_MODEL_PULL] = pull,
		[PK_MODEL_PIN] = pin,
		[PK_MODEL_UNPIN] = unpin,
		[PK_MODEL_CANCEL] = cancel,
		[PK_MODEL_ROLLBACK] = rollback,
	};
	return verbs[verb](model, digest, any_seq, err);
}

void pk_model_stopping(struct pk_model *model)
{
	pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_STOPPING});
}

json_t *pk_model_history(const struct pk_model *model)
{
	return json_pack(
		"{s:s, s:o}", "model", model->name, "history", pk_model_history_json(model));
}

static bool add_engines(const struct pk_artifact *artifact, json_t *names)
{
	for (size_t i = 0; artifact && i < PK_N_MADE_KINDS; i++) {
		const char *path = artifact->files[i].path;
		const char *name = path ? strrchr(path, '/') : NULL;
		if (name)
			json_array_append_new(names, json_string(name + 1));
	}
	return artifact;
}

bool pk_model_engines(const struct pk_model *model, json_t *names)
{
	const struct pk_up_record *record = &model->update.record;
	bool all = (add_engines(model->active, names) || !record->active.digest[0]);
	// A candidate that was not verified yet has no engine: while it waits for room, others' go.
	all = (add_engines(model->candidate, names) || !record->verified) && all;
	all = (add_engines(model->previous, names) || !record->previous.digest[0]) && all;
	(void)add_engines(model->current, names);
	(void)add_engines(model->next, names);
	const char *old = model->old.path ? strrchr(model->old.path, '/') : NULL;
	if (old)
		json_array_append_new(names, json_string(old + 1));
	return all;
}
