// SPDX-License-Identifier: Apache-2.0
// A model's update in JSON, and in words: why nothing is happening, or what is.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/model_job.h"
#include "daemon/model_verify.h"
#include "daemon/text.h"

static json_t *slot_json(const struct pk_up_slot *slot, const struct pk_artifact *artifact)
{
	if (!slot->digest[0])
		return json_null();
	json_t *json = json_pack("{s:s, s:s?}", "digest", slot->digest, "version",
		artifact && artifact->version[0] ? artifact->version : NULL);
	json_object_set_new(json, "seq", slot->seq >= 0 ? json_integer(slot->seq) : json_null());
	return json;
}

static json_t *quarantine_json(const struct pk_model *model)
{
	const struct pk_up_record *record = &model->update.record;
	json_t *list = json_array();
	for (size_t i = 0; i < record->n_quarantine; i++) {
		const struct pk_up_quarantine *entry = &record->quarantine[i];
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:i, s:I}", "digest", entry->digest, "reason",
				      entry->reason, "count", (int)entry->count, "until_s",
				      (json_int_t)entry->until_s));
	}
	return list;
}

static json_t *progress_json(const struct pk_model *model)
{
	const struct pk_model_job *job = model->work_job;
	if (!job || job->kind != PK_JOB_FETCH || model->update.phase != PK_UP_FETCH)
		return json_null();
	return json_pack("{s:I, s:I}", "done_bytes", (json_int_t)atomic_load(&job->done_bytes),
		"total_bytes", (json_int_t)atomic_load(&job->total_bytes));
}

static json_t *seconds_json(int64_t ns)
{
	return ns < 0 ? json_null() : json_real((double)ns / (double)PK_NS_PER_S);
}

static json_t *baseline_json(const struct pk_model *model)
{
	struct pk_up_baseline now;
	pk_watch_baseline(&model->watch, &now);
	const struct pk_up_baseline *figures = now.fps > 0 ? &now : &model->update.record.baseline;
	if (figures->fps <= 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f}", "fps", figures->fps, "captured_fps",
		figures->captured, "p95_ms", figures->p95_ms, "detections", figures->detections);
}

json_t *pk_model_update_json(const struct pk_model *model)
{
	const struct pk_update *update = &model->update;
	const struct pk_up_record *record = &update->record;
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s?, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:o, "
			 "s:b}",
		"phase", pk_update_phase_name(update->phase), "reason", update->reason, "active",
		slot_json(&record->active, model->active), "previous",
		slot_json(&record->previous, model->previous), "candidate",
		slot_json(&record->candidate, model->candidate), "pinned",
		record->pinned[0] ? record->pinned : NULL, "seq_high", (json_int_t)record->seq_high,
		"attempts", (int)record->attempts, "failures", (int)update->n_failures, "phase_s",
		seconds_json(pk_now_ns() - model->phase_ns), "next_poll_s",
		seconds_json(pk_timer_left_ns(&model->poll_timer)), "progress",
		progress_json(model), "quarantine", quarantine_json(model), "baseline",
		baseline_json(model), "signed_only", (int)pk_model_needs_signature(model));
}

// Lines for `explain`.

static void line(json_t *lines, const char *fmt, ...) pk_printf(2, 3);
static void line(json_t *lines, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pk_text_mend(text);
	json_array_append_new(lines, json_string(text));
}

static void explain_slots(const struct pk_model *model, json_t *lines)
{
	const struct pk_up_record *record = &model->update.record;
	if (record->active.digest[0])
		line(lines, "%s is active", record->active.digest);
	else
		line(lines, "there is no active model yet");
	if (record->candidate.digest[0])
		line(lines, "%s is to become the next one; phase: %s", record->candidate.digest,
			pk_update_phase_name(model->update.phase));
	if (record->pinned[0])
		line(lines,
			"pinned to %s by an operator: %s is not followed until `picketctl model "
			"unpin %s`",
			record->pinned, model->ref, model->name);
	else if (pk_model_ref_is_fixed(model->ref))
		line(lines, "the config names a digest: %s; it changes only with the config",
			model->ref);
}

static void explain_hold(const struct pk_model *model, json_t *lines)
{
	const struct pk_update *update = &model->update;
	if (!update->held[0])
		return;
	line(lines, "%s names %s, which is not taken: %s", model->ref, update->held,
		update->reason);
	const struct pk_up_quarantine *entry =
		pk_up_quarantined(&update->record, update->held, pk_model_wall_s(model));
	if (entry && entry->until_s) {
		char time[PK_ISO_TIME_MAX];
		pk_format_iso_time(entry->until_s * PK_NS_PER_S, time);
		line(lines, "that quarantine ends at %s; `picketctl model pull %s` ends it now",
			time, model->name);
	} else if (entry) {
		line(lines,
			"that quarantine does not end; another digest under the same tag is taken, "
			"or pin it: `picketctl model pin %s %s`",
			model->name, update->held);
	} else {
		double percent = model->config->rollout;
		bool is_signed = strcmp(model->signed_rollout_of, update->held) == 0 &&
				 model->signed_rollout < percent;
		line(lines, "its rollout is at %g %% (%s), and this node stands at %.2f %%",
			is_signed ? model->signed_rollout : percent,
			is_signed ? "as signed" : "as configured",
			pk_rollout_bucket(update->held, model->env->node_id));
	}
}

static void explain_wait(const struct pk_model *model, json_t *lines)
{
	char time[PK_ISO_TIME_MAX], left[PK_DURATION_MAX];
	if (model->update.phase != PK_UP_WAIT)
		return;
	if (model->wait_until_s) {
		pk_format_iso_time(model->wait_until_s * PK_NS_PER_S, time);
		line(lines,
			"it is ready and waits for its window, which opens at %s (UTC); `picketctl "
			"model pull %s` does not wait",
			time, model->name);
	} else {
		pk_format_duration(pk_timer_left_ns(&model->wait_timer), left);
		line(lines, "it is ready; the random hold-off ends in %s", left);
	}
}

static void explain_poll(const struct pk_model *model, json_t *lines)
{
	const struct pk_update *update = &model->update;
	char left[PK_DURATION_MAX], time[PK_ISO_TIME_MAX];
	int64_t left_ns = pk_timer_left_ns(&model->poll_timer);
	if (update->n_failures)
		line(lines, "%u tries in a row failed, the last one: %s", update->n_failures,
			update->reason);
	if (model->checked_ns) {
		pk_format_iso_time(model->checked_ns, time);
		line(lines, "%s was last looked at on %s", model->ref, time);
	}
	if (update->resolve_serial) {
		line(lines, "%s is being looked at", model->ref);
	} else if (left_ns >= 0) {
		pk_format_duration(left_ns, left);
		line(lines, "the next look is in %s", left);
	}
	bool current = !update->held[0] && !update->n_failures && model->memo.digest[0] &&
		       strcmp(model->memo.digest, update->record.active.digest) == 0;
	if (current && update->phase == PK_UP_IDLE)
		line(lines, "nothing is to be done: %s names the active model", model->ref);
}

static void explain_rest(const struct pk_model *model, json_t *lines)
{
	const struct pk_update *update = &model->update;
	char spent[PK_DURATION_MAX];
	if (pk_model_needs_signature(model))
		line(lines, "models must be signed by one of %zu keys",
			model->config->signature.n_keys);
	else if (pk_model_ref_is_open(model->ref))
		line(lines, "models are taken UNSIGNED from the network, as configured");
	if (update->phase == PK_UP_OBSERVE) {
		pk_format_duration(pk_now_ns() - model->phase_ns, spent);
		line(lines, "it has been on probation for %s", spent);
	}
	if (update->phase == PK_UP_IDLE && update->reason[0] && !update->held[0] &&
		!update->n_failures)
		line(lines, "what happened last: %s", update->reason);
}

json_t *pk_model_explain_json(const struct pk_model *model)
{
	json_t *lines = json_array();
	explain_slots(model, lines);
	explain_hold(model, lines);
	explain_wait(model, lines);
	explain_poll(model, lines);
	explain_rest(model, lines);
	return json_pack("{s:s, s:o, s:o}", "model", model->name, "lines", lines, "update",
		pk_model_update_json(model));
}
