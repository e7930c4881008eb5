// SPDX-License-Identifier: Apache-2.0
// Events of a model's update, one per transition, and the file of what became of models.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "daemon/model_job.h"
#include "daemon/text.h"

#define HISTORY_MAX       64 // entries
#define HISTORY_MAX_BYTES (64u << 10)

static const struct tell {
	int event;         // enum pk_event_type; -1: none
	const char *words; // "%s" is the digest
	bool with_reason;
	const char *history; // NULL: not kept
} tells[PK_N_UP_TELLS] = {
	[PK_UP_TELL_FOUND] = {PK_EVENT_UPDATE_FOUND, "%s is wanted", false, NULL},
	[PK_UP_TELL_HELD] = {PK_EVENT_UPDATE_HELD, "%s is not taken", true, NULL},
	[PK_UP_TELL_FETCHED] = {-1, NULL, false, NULL}, // pk_model_tell_fetched has the figures
	[PK_UP_TELL_VERIFIED] = {PK_EVENT_VERIFIED, "%s is verified", false, NULL},
	[PK_UP_TELL_REFUSED] = {PK_EVENT_VERIFY_FAILED, "%s is refused", true, "refused"},
	[PK_UP_TELL_UNFIT] = {PK_EVENT_ADMIT_REJECTED, "%s cannot be used", true, "rejected"},
	[PK_UP_TELL_REJECTED] = {PK_EVENT_UPDATE_REJECTED, "%s is rejected", true, "rejected"},
	[PK_UP_TELL_FAILED] = {PK_EVENT_ARTIFACT_FAILED, "no update", true, NULL},
	[PK_UP_TELL_BUILT] = {PK_EVENT_ENGINE_BUILT, "%s is built and gated", false, NULL},
	[PK_UP_TELL_ACTIVATED] = {PK_EVENT_ACTIVATED, "%s serves, on probation", false, NULL},
	[PK_UP_TELL_COMMITTED] = {PK_EVENT_COMMITTED, "%s is active", false, "committed"},
	[PK_UP_TELL_ROLLED_BACK] = {PK_EVENT_ROLLED_BACK, "back from %s", true, "rolled back"},
	[PK_UP_TELL_QUARANTINED] = {PK_EVENT_QUARANTINED, "%s is quarantined", true, NULL},
	[PK_UP_TELL_CANCELLED] = {PK_EVENT_UPDATE_CANCELLED, "%s is cancelled", false, "cancelled"},
	[PK_UP_TELL_PINNED] = {PK_EVENT_PINNED, "pinned to %s", false, "pinned"},
	[PK_UP_TELL_UNPINNED] = {PK_EVENT_UNPINNED, "no longer pinned to %s", false, "unpinned"},
	[PK_UP_TELL_DEGRADED] = {PK_EVENT_UPDATE_DEGRADED, "%s does not serve again yet", true,
		NULL},
	[PK_UP_TELL_UNSAVED] = {PK_EVENT_STATE_UNSAVED, "the state cannot be written", false, NULL},
};

static char *history_path(const struct pk_model *model)
{
	char *path = NULL;
	int n = asprintf(&path, "%s/%s.history", model->env->paths->state, model->name);
	return n < 0 ? NULL : path;
}

json_t *pk_model_history_json(const struct pk_model *model)
{
	json_t *list = json_array();
	pk_auto_free char *path = history_path(model);
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, HISTORY_MAX_BYTES);
	if (!path || pk_fs_read(path, HISTORY_MAX_BYTES, &text, NULL) < 0)
		return list;
	char *save = NULL;
	for (char *line = strtok_r((char *)(uintptr_t)pk_buf_cstr(&text), "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		json_t *entry = NULL; // a line that is damaged says nothing
		if (pk_json_parse(line, strlen(line), "history", &entry, NULL) == 0)
			json_array_append_new(list, entry);
	}
	return list;
}

// For people: nothing depends on it, so what cannot be written is lost.
static void remember(struct pk_model *model, const char *what, const char *digest)
{
	char time[PK_ISO_TIME_MAX];
	pk_auto_json list = pk_model_history_json(model);
	pk_auto_free char *path = history_path(model);
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, HISTORY_MAX_BYTES);
	pk_format_iso_time(pk_realtime_ns(), time);
	json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "time", time, "what", what,
					    "digest", digest, "reason", model->update.reason));
	while (json_array_size(list) > HISTORY_MAX)
		json_array_remove(list, 0);
	size_t i;
	json_t *entry;
	json_array_foreach (list, i, entry) {
		pk_auto_free char *line = json_dumps(entry, JSON_COMPACT);
		if (line)
			pk_buf_printf(&text, "%s\n", line);
	}
	if (path && !pk_buf_error(&text))
		(void)pk_fs_write_atomic(path, text.data, text.len, 0600, NULL);
}

// In words, with the digest where "%s" stands.
static void put_words(const char *words, const char *digest, char out[256])
{
	const char *at = strstr(words, "%s");
	int head = at ? (int)(at - words) : (int)strlen(words);
	pk_text_format(out, 256, "%.*s%s%s", head, words, at ? digest : "", at ? at + 2 : "");
}

static const char *verified_text(const struct pk_model *model)
{
	return model->verified_by[0] ? model->verified_by : "no signature is asked for";
}

static void post(struct pk_model *model, const struct tell *tell, const char *digest)
{
	const struct pk_up_record *record = &model->update.record;
	char words[256], seq[32], attempt[16], duration[32], wait[PK_DURATION_MAX] = "";
	const char *reason = tell->with_reason                  ? model->update.reason
			     : tell->event == PK_EVENT_VERIFIED ? verified_text(model)
								: "";
	bool candidate = strcmp(digest, record->candidate.digest) == 0;
	int64_t n = candidate ? record->candidate.seq : record->active.seq;
	snprintf(seq, sizeof(seq), "%lld", (long long)n);
	snprintf(attempt, sizeof(attempt), "%u", record->attempts);
	snprintf(duration, sizeof(duration), "%lld",
		(long long)((pk_now_ns() - model->begun_ns) / PK_NS_PER_US));
	put_words(tell->words, digest, words);
	if (tell->event == PK_EVENT_ARTIFACT_FAILED)
		pk_format_duration(pk_timer_left_ns(&model->poll_timer), wait);
	pk_events_post(model->env->events, (enum pk_event_type)tell->event,
		PK_FIELDS({"PICKET_MODEL", model->name},
			{"PICKET_DIGEST", digest[0] ? digest : NULL},
			{"PICKET_SEQ", n >= 0 ? seq : NULL},
			{"PICKET_PHASE", pk_update_phase_name(model->update.phase)},
			{"PICKET_REASON", reason[0] ? reason : NULL},
			{"PICKET_CAUSE", tell->with_reason ? reason : NULL},
			{"PICKET_ARTIFACT", model->ref},
			{"PICKET_ATTEMPT", record->attempts ? attempt : NULL},
			{"PICKET_DURATION_USEC", model->begun_ns ? duration : NULL}),
		"model %s: %s%s%s", model->name, words, reason[0] ? ": " : "", reason);
}

void pk_model_tell(struct pk_model *model, enum pk_up_tell what, const char *digest)
{
	const struct tell *tell = &tells[what];
	if (tell->event >= 0)
		post(model, tell, digest);
	if (tell->history)
		remember(model, tell->history, digest);
}

void pk_model_tell_fetched(struct pk_model *model, const struct pk_model_job *job)
{
	char bytes[32], resumed[32];
	snprintf(bytes, sizeof(bytes), "%lld", (long long)job->report.received_bytes);
	snprintf(resumed, sizeof(resumed), "%lld", (long long)job->report.resumed_bytes);
	pk_events_post(model->env->events, PK_EVENT_DOWNLOAD_DONE,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_DIGEST", job->digest},
			{"PICKET_BYTES", bytes}, {"PICKET_RESUMED", resumed},
			{"PICKET_SOURCE", job->report.source[0] ? job->report.source : NULL}),
		"model %s: %s is in the store%s", model->name, job->digest,
		job->was_local ? ", and was before" : "");
}

void pk_model_tell_waiting(struct pk_model *model, int64_t wait_ns)
{
	char wait[PK_DURATION_MAX];
	const char *digest = model->update.record.candidate.digest;
	bool window = model->wait_until_s > 0;
	pk_format_duration(wait_ns, wait);
	pk_events_post(model->env->events, PK_EVENT_UPDATE_WAITING,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_DIGEST", digest},
			{"PICKET_REASON", window ? "window" : "holdoff"}),
		"model %s: %s waits %s for its %s", model->name, digest, wait,
		window ? "window" : "hold-off");
}

void pk_model_tell_observed(
	struct pk_model *model, const struct pk_watch_result *result, const char *verdict)
{
	const char *digest = model->update.record.candidate.digest;
	char fps[32], p95[32], detections[32], errors[32];
	snprintf(fps, sizeof(fps), "%.3f", result->fps_ratio);
	snprintf(p95, sizeof(p95), "%.3f", result->p95_ratio);
	snprintf(detections, sizeof(detections), "%.3f", result->detections_ratio);
	snprintf(errors, sizeof(errors), "%.4f", result->error_rate);
	pk_events_post(model->env->events, PK_EVENT_CANARY_RESULT,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_DIGEST", digest},
			{"PICKET_FPS_RATIO", fps}, {"PICKET_P95_RATIO", p95},
			{"PICKET_DETECTIONS_RATIO", detections}, {"PICKET_ERROR_RATE", errors},
			{"PICKET_REASON", verdict}),
		"model %s: %s on probation: %s (rate %s, p95 %s, detections %s of the last "
		"model's; "
		"errors %s)",
		model->name, digest, verdict, fps, p95, detections, errors);
}
