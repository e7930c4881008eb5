// SPDX-License-Identifier: Apache-2.0
// The decisions of a model's fallback chain, carried out.
#include "daemon/model.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "daemon/model_private.h"
#include "daemon/text.h"

// An engine that has served so long without a fault is trusted again.
#define PROOF_NS (60 * PK_NS_PER_S)

const struct pk_engine_file *pk_model_file(const struct pk_model *model, enum pk_engine_kind kind)
{
	const struct pk_engine_file *file = NULL;
	if (kind == PK_ENGINE_OLD)
		file = &model->old;
	else if (kind < PK_N_MADE_KINDS && model->current)
		file = &model->current->files[kind];
	return file && file->path ? file : NULL;
}

int64_t pk_model_delay_ns(int64_t min_ns, int64_t max_ns, unsigned n)
{
	int64_t delay_ns = min_ns;
	for (unsigned i = 1; i < n && delay_ns < max_ns; i++)
		delay_ns *= 2;
	return delay_ns < max_ns ? delay_ns : max_ns;
}

bool pk_model_save(struct pk_model *model)
{
	struct pk_err err = {0};
	int r = pk_state_save(model->env->paths->state, model->name, &model->state, &err);
	if (r < 0)
		pk_log_warning("model %s: what is known of it cannot be saved: %s", model->name,
			pk_err_text(&err, r));
	return r == 0;
}

static void keep_old(struct pk_model *model, enum pk_engine_kind kind)
{
	struct pk_engine_file *from = &model->current->files[kind];
	pk_engine_file_finish(&model->old);
	model->old = *from;
	model->old.path = from->path ? strdup(from->path) : NULL;
	model->old.key = from->key ? strdup(from->key) : NULL;
	model->old.timing = NULL;
	memcpy(model->old_digest, model->current->digest, sizeof(model->old_digest));
}

static void do_keep_old(struct pk_model *model, const struct pk_fb_action *action)
{
	if (model->current && action->kind < PK_N_MADE_KINDS)
		keep_old(model, action->kind);
}

static void do_drop_old(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	pk_engine_file_finish(&model->old);
	model->old_digest[0] = '\0';
}

static void do_cancel_builds(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	pk_model_build_cancel(model);
}

static void do_renew(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	model->load_serial = 0; // an answer that is under way means another artifact
	if (!model->next)
		return;
	pk_artifact_unref(model->current);
	model->current = pk_steal(model->next);
}

bool pk_model_is_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void do_check_engine(struct pk_model *model, const struct pk_fb_action *action)
{
	const struct pk_engine_file *file = pk_model_file(model, action->kind);
	struct pk_fb_event event = {.kind = action->kind};
	const char *broken = file ? pk_state_broken_cause(&model->state, file->digest) : NULL;
	if (!file) {
		event.type = PK_FB_ENGINE_BROKEN;
		event.cause = model->target.better_cause[0] ? model->target.better_cause
							    : "no runtime for it";
	} else if (broken) {
		event.type = PK_FB_ENGINE_BROKEN;
		event.cause = broken;
	} else {
		event.type =
			pk_model_is_file(file->path) ? PK_FB_ENGINE_FOUND : PK_FB_ENGINE_MISSING;
	}
	pk_model_post(model, &event);
}

static void do_build(struct pk_model *model, const struct pk_fb_action *action)
{
	pk_model_build(model, action->kind);
}

static void do_remove_engine(struct pk_model *model, const struct pk_fb_action *action)
{
	const struct pk_engine_file *file = pk_model_file(model, action->kind);
	if (file && unlink(file->path) < 0 && errno != ENOENT)
		pk_log_warning("%s: %s", file->path, strerror(errno));
}

static void do_forget_broken(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	if (model->state.n_broken == 0)
		return;
	model->state.n_broken = 0;
	(void)pk_model_save(model);
}

static void do_remember_broken(struct pk_model *model, const struct pk_fb_action *action)
{
	const struct pk_engine_file *file = pk_model_file(model, action->kind);
	if (!file)
		return;
	pk_state_remember_broken(
		&model->state, file->digest, model->fallback.engines[action->kind].cause);
	(void)pk_model_save(model);
}

static void do_assign(struct pk_model *model, const struct pk_fb_action *action)
{
	const struct pk_engine_file *file = pk_model_file(model, action->kind);
	const struct pk_fallback_label *told = &model->fallback.told;
	const char *digest = action->kind == PK_ENGINE_OLD ? model->old_digest
			     : model->current              ? model->current->digest
							   : "";
	model->serial++;
	if (action->kind != PK_ENGINE_NONE &&
		model->fallback.engines[action->kind].state == PK_ENGINE_LOADING) {
		model->load_serial = model->serial;
		model->load_kind = action->kind;
	}
	// When it does not get there, the worker is going down, and says so.
	(void)pk_supervisor_send(model->env->supervisor,
		json_pack("{s:s, s:s, s:s*, s:s*, s:s, s:s, s:s, s:I}", "type", "assign", "model",
			model->name, "engine", file ? file->path : NULL, "key",
			file ? file->key : NULL, "rung", pk_rung_name(told->rung), "cause",
			told->cause, "digest", digest, "serial", (json_int_t)model->serial),
		true);
}

static void do_start_timer(struct pk_model *model, const struct pk_fb_action *action)
{
	if (action->kind >= PK_N_MADE_KINDS)
		return;
	int64_t delay_ns = pk_model_delay_ns(model->env->config->build.retry_min_ns,
		model->env->config->build.retry_max_ns, action->n_failures);
	pk_loop_start_timer(model->env->loop, &model->sides[action->kind].retry_timer, delay_ns);
}

static void do_tell_rung(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	const struct pk_fallback *fallback = &model->fallback;
	const char *rung = pk_rung_name(fallback->rung);
	model->since_ns = pk_realtime_ns();
	pk_events_post(model->env->events, PK_EVENT_RUNG,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_RUNG", rung},
			{"PICKET_CAUSE", fallback->cause}),
		"model %s: %s%s%s", model->name, rung, fallback->cause[0] ? ": " : "",
		fallback->cause);
	model->env->changed(model->env->ctx);
}

static void do_alarm_on(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	pk_events_post(model->env->events, PK_EVENT_ALARM,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_CAUSE", model->fallback.cause}),
		"model %s does not infer: %s", model->name, model->fallback.cause);
	model->env->changed(model->env->ctx);
}

static void do_alarm_off(struct pk_model *model, pk_unused const struct pk_fb_action *action)
{
	pk_events_post(model->env->events, PK_EVENT_ALARM_CLEARED,
		PK_FIELDS({"PICKET_MODEL", model->name}), "model %s is no longer alarmed",
		model->name);
	model->env->changed(model->env->ctx);
}

static void (*const doers[])(struct pk_model *model, const struct pk_fb_action *action) = {
	[PK_FB_KEEP_OLD] = do_keep_old,
	[PK_FB_DROP_OLD] = do_drop_old,
	[PK_FB_CANCEL_BUILDS] = do_cancel_builds,
	[PK_FB_RENEW] = do_renew,
	[PK_FB_CHECK_ENGINE] = do_check_engine,
	[PK_FB_BUILD] = do_build,
	[PK_FB_REMOVE_ENGINE] = do_remove_engine,
	[PK_FB_FORGET_BROKEN] = do_forget_broken,
	[PK_FB_REMEMBER_BROKEN] = do_remember_broken,
	[PK_FB_ASSIGN] = do_assign,
	[PK_FB_START_TIMER] = do_start_timer,
	[PK_FB_TELL_RUNG] = do_tell_rung,
	[PK_FB_ALARM_ON] = do_alarm_on,
	[PK_FB_ALARM_OFF] = do_alarm_off,
};

// Actions may post further events: they wait until this one is done with.
void pk_model_post(struct pk_model *model, const struct pk_fb_event *event)
{
	assert(model->n_pending < PK_MODEL_MAX_PENDING);
	struct pk_model_pending *pending = &model->pending[model->n_pending++];
	pending->event = *event;
	pk_text_format(
		pending->cause, sizeof(pending->cause), "%s", event->cause ? event->cause : "");
	if (model->busy)
		return;
	model->busy = true;
	while (model->n_pending > 0) {
		struct pk_model_pending now = model->pending[0];
		now.event.cause = now.cause;
		memmove(model->pending, model->pending + 1,
			--model->n_pending * sizeof(model->pending[0]));
		struct pk_fb_actions actions;
		pk_fallback_step(&model->fallback, &now.event, &actions);
		for (size_t i = 0; i < actions.n; i++)
			doers[actions.items[i].type](model, &actions.items[i]);
	}
	model->busy = false;
}

static void on_proof(void *ctx)
{
	struct pk_model *model = ctx;
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_PROVEN,
				     .kind = pk_fallback_serving(&model->fallback)});
}

static void on_loaded(struct pk_model *model, enum pk_engine_kind kind)
{
	pk_loop_start_timer(model->env->loop, &model->proof_timer, PROOF_NS);
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_ASSIGNED, .kind = kind});
	pk_model_update_served(model, kind);
}

static void on_refused(
	struct pk_model *model, enum pk_engine_kind kind, int64_t code, const json_t *message)
{
	const char *error = json_string_value(json_object_get(message, "error"));
	const char *mismatch = json_string_value(json_object_get(message, "mismatch"));
	bool stale = code == -EBADMSG || code == -ESTALE || code == -ENOENT;
	const char *reason = code == -ENOENT     ? "missing"
			     : stale && mismatch ? mismatch
						 : "unusable";
	char cause[PK_CAUSE_MAX];
	error = error ? error : "no reason given";
	if (stale)
		pk_text_format(cause, sizeof(cause), "engine file %s", reason);
	else
		pk_text_format(cause, sizeof(cause), "engine %s: %s", reason, error);
	pk_events_post(model->env->events, PK_EVENT_ENGINE_REFUSED,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_REASON", reason},
			{"PICKET_KIND", pk_engine_kind_name(kind)}, {"PICKET_CAUSE", error}),
		"model %s: %s engine not taken, %s: %s", model->name, pk_engine_kind_name(kind),
		reason, error);
	pk_model_post(model,
		&(struct pk_fb_event){
			.type = PK_FB_ASSIGN_FAILED, .kind = kind, .cause = cause, .stale = stale});
	pk_model_update_refused(model, cause, stale);
}

static void on_assign_done(struct pk_model *model, const json_t *message)
{
	int64_t serial = 0, code = 0;
	(void)pk_json_opt_int(message, "serial", &serial, NULL);
	(void)pk_json_opt_int(message, "code", &code, NULL);
	if (serial == 0 || serial != model->load_serial) {
		if (code < 0 && serial == model->serial)
			pk_log_warning("model %s: the worker did not take its new label: %s",
				model->name,
				json_string_value(json_object_get(message, "error")) ?: "?");
		return;
	}
	enum pk_engine_kind kind = model->load_kind;
	model->load_serial = 0;
	if (code == 0)
		on_loaded(model, kind);
	else
		on_refused(model, kind, code, message);
}

static void on_fault(struct pk_model *model, const json_t *message)
{
	const char *cause = json_string_value(json_object_get(message, "cause"));
	char text[PK_CAUSE_MAX];
	pk_text_format(text, sizeof(text), "run fault: %s", cause ? cause : "no reason given");
	pk_events_post(model->env->events, PK_EVENT_ENGINE_FAULT,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_CAUSE", text}), "model %s: %s",
		model->name, text);
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_RUN_FAULT, .cause = text});
	pk_model_update_fault(model, text);
}

static void on_serving(struct pk_model *model, const json_t *message)
{
	char gap[32] = "";
	const json_t *gap_ms = json_object_get(message, "gap_ms");
	if (gap_ms)
		snprintf(gap, sizeof(gap), "%.1f", json_number_value(gap_ms));
	const char *rung = json_string_value(json_object_get(message, "rung"));
	pk_events_post(model->env->events, PK_EVENT_SERVING,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_RUNG", rung},
			{"PICKET_GAP_MS", gap_ms ? gap : NULL}),
		"model %s: first result on rung %s%s%s%s", model->name, rung ? rung : "?",
		gap_ms ? ", " : "", gap, gap_ms ? " ms after the last" : "");
}

void pk_model_message(struct pk_model *model, const char *type, const json_t *message)
{
	static const struct {
		const char *type;
		void (*handle)(struct pk_model *model, const json_t *message);
	} rows[] = {{"assign_done", on_assign_done}, {"fault", on_fault}, {"serving", on_serving}};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		if (strcmp(type, rows[i].type) == 0)
			rows[i].handle(model, message);
	}
}

void pk_model_worker_up(struct pk_model *model)
{
	model->load_serial = 0;
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_WORKER_UP});
}

void pk_model_worker_down(struct pk_model *model, const char *cause, bool crashed)
{
	model->load_serial = 0;
	pk_loop_stop_timer(&model->proof_timer);
	pk_model_post(
		model, &(struct pk_fb_event){
			       .type = PK_FB_WORKER_DOWN, .cause = cause, .crashed = crashed});
	if (crashed)
		pk_model_update_crash(model, cause);
}

void pk_model_rebuild(struct pk_model *model)
{
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_REBUILD});
}

static void load_state(struct pk_model *model)
{
	struct pk_err err = {0};
	int r = pk_state_load(model->env->paths->state, model->name, &model->state, &err);
	if (r < 0 && r != -ENOENT)
		pk_events_post(model->env->events, PK_EVENT_STATE_IGNORED,
			PK_FIELDS({"PICKET_MODEL", model->name},
				{"PICKET_CAUSE", pk_err_text(&err, r)}),
			"model %s: %s; it is not used", model->name, pk_err_text(&err, r));
}

int pk_model_create(const struct pk_model_env *env, const struct pk_model_config *config,
	const struct pk_target_choice *target, struct pk_model **out, struct pk_err *err)
{
	struct pk_model *model = calloc(1, sizeof(*model));
	if (!model)
		return pk_fail(err, -ENOMEM, "out of memory");
	model->env = env;
	model->config = config;
	model->name = strdup(config->name);
	model->ref = strdup(config->artifact);
	if (!model->name || !model->ref) {
		free(model->name);
		free(model->ref);
		free(model);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	model->target = *target;
	model->since_ns = pk_realtime_ns();
	model->proof_timer = (struct pk_timer){.fire = on_proof, .ctx = model};
	pk_fallback_init(&model->fallback, target->quick_ok, target->better_cause);
	pk_model_build_init(model);
	load_state(model);
	pk_model_update_begin(model);
	*out = model;
	return 0;
}

void pk_model_destroy(struct pk_model *model)
{
	if (!model)
		return;
	pk_model_update_end(model);
	pk_model_build_cancel(model);
	pk_model_build_apart_cancel(model);
	for (size_t i = 0; i < PK_ARRAY_LEN(model->sides); i++)
		pk_loop_stop_timer(&model->sides[i].retry_timer);
	pk_loop_stop_timer(&model->proof_timer);
	pk_engine_file_finish(&model->old);
	pk_artifact_unref(model->current);
	pk_artifact_unref(model->next);
	free(model->name);
	free(model->ref);
	free(model);
}

void pk_model_update(struct pk_model *model, const struct pk_model_config *config,
	const struct pk_target_choice *target)
{
	char *ref = strcmp(model->ref, config->artifact) != 0 ? strdup(config->artifact) : NULL;
	bool retarget = !pk_target_equal(&model->target, target);
	model->config = config;
	if (ref) {
		free(model->ref);
		model->ref = ref;
		model->memo = (struct pk_resolved_memo){0};
	}
	if (retarget) {
		model->target = *target;
		pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_POLICY,
					     .cause = target->better_cause,
					     .cpu_ok = target->quick_ok});
	}
	pk_model_update_config(model, retarget);
}

const char *pk_model_name(const struct pk_model *model)
{
	return model->name;
}

enum pk_rung pk_model_rung(const struct pk_model *model)
{
	return model->fallback.rung;
}

const char *pk_model_cause(const struct pk_model *model)
{
	return model->fallback.cause;
}
