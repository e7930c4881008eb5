// SPDX-License-Identifier: Apache-2.0
// A model as the control API shows it.
#include "base/clock.h"
#include "daemon/model_private.h"

static json_t *build_json(const struct pk_model *model)
{
	for (int i = PK_N_MADE_KINDS; i >= 0; i--) {
		const struct pk_model_side *side =
			i == PK_N_MADE_KINDS ? &model->apart : &model->sides[i];
		const struct pk_build_progress *progress = &side->progress;
		const char *kind = pk_engine_kind_name(side->kind);
		if (!side->job.queued)
			continue;
		if (!side->building)
			return json_pack("{s:s, s:s, s:i, s:i, s:n, s:n}", "kind", kind, "phase",
				"queued", "done", 0, "total", 0, "eta_s", "elapsed_s");
		json_t *eta = progress->eta_ns < 0
				      ? json_null()
				      : json_real((double)progress->eta_ns / (double)PK_NS_PER_S);
		double elapsed_s =
			(double)(pk_now_ns() - progress->started_ns) / (double)PK_NS_PER_S;
		return json_pack("{s:s, s:s, s:i, s:i, s:o, s:f}", "kind", kind, "phase",
			progress->phase, "done", progress->done, "total", progress->total, "eta_s",
			eta, "elapsed_s", elapsed_s);
	}
	return json_null();
}

static json_t *engine_json(const struct pk_engine_file *file)
{
	return file ? json_pack("{s:s, s:s}", "path", file->path, "key", file->digest)
		    : json_null();
}

static json_t *retry_json(const struct pk_model *model)
{
	int64_t soonest_ns = model->current ? -1 : pk_timer_left_ns(&model->poll_timer);
	for (int i = 0; i < PK_N_MADE_KINDS; i++) {
		int64_t left_ns = pk_timer_left_ns(&model->sides[i].retry_timer);
		bool waits = model->fallback.engines[i].state == PK_ENGINE_FAILED && left_ns >= 0;
		if (waits && (soonest_ns < 0 || left_ns < soonest_ns))
			soonest_ns = left_ns;
	}
	return soonest_ns < 0 ? json_null() : json_real((double)soonest_ns / (double)PK_NS_PER_S);
}

json_t *pk_model_json(const struct pk_model *model)
{
	const struct pk_fallback *fallback = &model->fallback;
	enum pk_engine_kind serving = pk_fallback_serving(fallback);
	const struct pk_engine_file *file = pk_model_file(model, serving);
	const char *digest = serving == PK_ENGINE_OLD ? model->old_digest
			     : model->current         ? model->current->digest
						      : NULL;
	char since[PK_ISO_TIME_MAX];
	pk_format_iso_time(model->since_ns, since);
	return json_pack("{s:s, s:s, s:s?, s:s, s:s, s:s, s:b, s:s?, s:o, s:o, s:o, s:o}", "name",
		model->name, "artifact", model->ref, "digest", digest, "rung",
		pk_rung_name(fallback->rung), "cause", fallback->cause, "since", since, "alarm",
		fallback->alarm, "runtime", file ? file->runtime : NULL, "build", build_json(model),
		"engine", engine_json(file), "next_retry_s", retry_json(model), "update",
		pk_model_update_json(model));
}

json_t *pk_model_alarm_json(const struct pk_model *model)
{
	char since[PK_ISO_TIME_MAX];
	if (!model->fallback.alarm)
		return NULL;
	pk_format_iso_time(model->since_ns, since);
	return json_pack("{s:s, s:s, s:s, s:s}", "model", model->name, "rung",
		pk_rung_name(model->fallback.rung), "cause", model->fallback.cause, "since", since);
}
