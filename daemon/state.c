// SPDX-License-Identifier: Apache-2.0
// State file: a record (base/record.h) that holds one JSON object.
#include "daemon/state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/record.h"
#include "daemon/seq_mark.h"
#include "daemon/text.h"

#define VERSION       2
#define MAX_FILE      (64u << 10) // of what is read: an older version may have written more
#define MAX_SMALL_INT 1000

void pk_state_init(struct pk_state *state)
{
	*state = (struct pk_state){.marked_seq = -1};
	pk_up_record_init(&state->update);
}

static char *path_of(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s.json", dir, name) < 0 ? NULL : path;
}

// Digests stand in file names: nothing else may come in through this door. Absent: "".
static int read_digest(const json_t *json, const char *key, char out[PK_DIGEST_TEXT])
{
	const char *text = NULL;
	struct pk_digest digest;
	out[0] = '\0';
	if (pk_json_opt_str(json, key, &text, NULL) < 0)
		return -EBADMSG;
	if (!text)
		return 0;
	if (pk_digest_parse(text, &digest) < 0)
		return -EBADMSG;
	pk_digest_format(&digest, out);
	return 0;
}

static int read_int(const json_t *json, const char *key, int64_t min, int64_t max, int64_t *out)
{
	int64_t value = *out;
	if (pk_json_opt_int(json, key, &value, NULL) < 0 || value < min || value > max)
		return -EBADMSG;
	*out = value;
	return 0;
}

static int read_unsigned(const json_t *json, const char *key, unsigned *out)
{
	int64_t value = 0;
	int r = read_int(json, key, 0, MAX_SMALL_INT, &value);
	*out = (unsigned)value;
	return r;
}

static int take_slot(const json_t *slot, struct pk_up_slot *out)
{
	*out = (struct pk_up_slot){.seq = -1};
	if (!json_is_object(slot) || read_digest(slot, "digest", out->digest) < 0 ||
		!out->digest[0])
		return -EBADMSG;
	return read_int(slot, "seq", -1, PK_UP_MAX_SEQ, &out->seq);
}

static int read_slot(const json_t *json, const char *key, struct pk_up_slot *out)
{
	const json_t *slot = json_object_get(json, key);
	*out = (struct pk_up_slot){.seq = -1};
	return slot ? take_slot(slot, out) : 0;
}

static int read_older(const json_t *item, struct pk_up_record *record)
{
	if (record->n_older == PK_UP_MAX_OLDER)
		return -EBADMSG;
	return take_slot(item, &record->older[record->n_older++]);
}

static int read_quarantine(const json_t *item, struct pk_up_record *record)
{
	const char *reason = NULL;
	if (record->n_quarantine == PK_UP_MAX_QUARANTINE)
		return -EBADMSG;
	struct pk_up_quarantine *entry = &record->quarantine[record->n_quarantine++];
	if (read_digest(item, "digest", entry->digest) < 0 || !entry->digest[0] ||
		pk_json_get_str(item, "reason", &reason, NULL) < 0 ||
		read_unsigned(item, "count", &entry->count) < 0)
		return -EBADMSG;
	pk_text_format(entry->reason, sizeof(entry->reason), "%s", reason);
	return read_int(item, "until", 0, INT64_MAX, &entry->until_s);
}

static int read_broken(const json_t *item, struct pk_state *state)
{
	char key[PK_DIGEST_TEXT];
	const char *cause = NULL;
	if (read_digest(item, "key", key) < 0 || !key[0] ||
		pk_json_get_str(item, "cause", &cause, NULL) < 0)
		return -EBADMSG;
	pk_state_remember_broken(state, key, cause);
	return 0;
}

static int read_lists(const json_t *json, struct pk_state *state)
{
	json_t *quarantine = json_object_get(json, "quarantine"), *broken = NULL, *item;
	json_t *older = json_object_get(json, "older");
	size_t i;
	if ((quarantine && !json_is_array(quarantine)) || (older && !json_is_array(older)) ||
		pk_json_get_arr(json, "broken", &broken, NULL) < 0)
		return -EBADMSG;
	json_array_foreach (quarantine, i, item) {
		if (read_quarantine(item, &state->update) < 0)
			return -EBADMSG;
	}
	json_array_foreach (older, i, item) {
		if (read_older(item, &state->update) < 0)
			return -EBADMSG;
	}
	json_array_foreach (broken, i, item) {
		if (read_broken(item, state) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int read_figure(const json_t *json, const char *key, double *out)
{
	*out = 0;
	if (!json_object_get(json, key))
		return 0;
	return pk_json_get_num(json, key, out, NULL) < 0 || !isfinite(*out) || *out < 0 ? -EBADMSG
											: 0;
}

static int read_baseline(const json_t *json, struct pk_up_baseline *out)
{
	const json_t *baseline = json_object_get(json, "baseline");
	if (!baseline)
		return 0;
	if (read_figure(baseline, "fps", &out->fps) < 0 ||
		read_figure(baseline, "captured", &out->captured) < 0 ||
		read_figure(baseline, "p95_ms", &out->p95_ms) < 0)
		return -EBADMSG;
	return read_figure(baseline, "detections", &out->detections);
}

static int read_scalars(const json_t *json, struct pk_up_record *record)
{
	const char *phase = "idle";
	const json_t *history = json_object_get(json, "history");
	record->seq_high = -1;
	if (!json_is_object(history) || pk_json_opt_str(json, "phase", &phase, NULL) < 0 ||
		!pk_update_phase_parse(phase, &record->phase) ||
		read_digest(json, "pinned", record->pinned) < 0 ||
		read_digest(history, "digest", record->seq_digest) < 0 ||
		read_unsigned(json, "attempts", &record->attempts) < 0 ||
		read_unsigned(json, "builds", &record->builds) < 0)
		return -EBADMSG;
	record->pin_any_seq = json_is_true(json_object_get(json, "pin_any_seq"));
	record->any_seq = json_is_true(json_object_get(json, "any_seq"));
	record->verified = json_is_true(json_object_get(json, "verified"));
	return read_int(history, "seq", -1, PK_UP_MAX_SEQ, &record->seq_high);
}

static int read_update(const json_t *json, struct pk_up_record *record)
{
	if (read_slot(json, "active", &record->active) < 0 ||
		read_slot(json, "previous", &record->previous) < 0 ||
		read_slot(json, "candidate", &record->candidate) < 0 ||
		read_scalars(json, record) < 0)
		return -EBADMSG;
	return read_baseline(json, &record->baseline);
}

int pk_state_decode(const char *text, size_t n, struct pk_state *state)
{
	pk_auto_json json = NULL;
	int64_t version = 0;
	pk_state_init(state);
	int r = pk_json_parse(text, n, "state", &json, NULL);
	if (r == 0)
		r = pk_json_get_int(json, "v", &version, NULL);
	if (r == 0 && version == 1) // had no more than that
		r = read_digest(json, "digest", state->update.active.digest);
	else if (r == 0)
		r = version == VERSION ? read_update(json, &state->update) : -EBADMSG;
	if (r == 0)
		r = read_lists(json, state);
	if (r < 0)
		pk_state_init(state);
	return r < 0 ? -EBADMSG : 0;
}

static int load_record(
	const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
{
	pk_auto_free char *path = path_of(dir, name);
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, MAX_FILE);
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_record_load(path, &file, NULL, err);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r == 0)
		r = pk_state_decode(pk_buf_cstr(&file), file.len, state);
	return r == 0 ? 0 : pk_fail(err, -EBADMSG, "%s is damaged", path);
}

// Raises the highest number to the mark's. A mark that is damaged is written anew by the next save.
static int take_mark(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
{
	struct pk_up_record *record = &state->update;
	struct pk_seq_mark mark;
	int r = pk_seq_mark_load(dir, name, &mark, err);
	state->marked_seq = mark.seq;
	if (mark.seq > record->seq_high) {
		record->seq_high = mark.seq;
		memcpy(record->seq_digest, mark.digest, sizeof(record->seq_digest));
	}
	return r;
}

int pk_state_load(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
{
	struct pk_err mark_err = {0};
	pk_state_init(state);
	int r = load_record(dir, name, state, err);
	int mark = take_mark(dir, name, state, &mark_err);
	if (r == 0 || r == -ENOMEM)
		return r;
	if (mark == -EBADMSG)
		return pk_fail(err, -EBADMSG,
			"%s/%s.json is lost and so is its sequence mark: an older model would be "
			"taken",
			dir, name);
	return r == -ENOENT && mark == 0
		       ? pk_fail(err, -EBADMSG, "%s/%s.json is gone, its sequence mark is not", dir,
				 name)
		       : r;
}

static const char *or_none(const char *text)
{
	return text[0] ? text : NULL;
}

static json_t *slot_json(const struct pk_up_slot *slot)
{
	return slot->digest[0] ? json_pack("{s:s, s:I}", "digest", slot->digest, "seq",
					 (json_int_t)slot->seq)
			       : NULL;
}

static json_t *older_json(const struct pk_up_record *record)
{
	json_t *list = record->n_older ? json_array() : NULL;
	for (size_t i = 0; i < record->n_older; i++)
		json_array_append_new(list, slot_json(&record->older[i]));
	return list;
}

static json_t *quarantine_json(const struct pk_up_record *record)
{
	json_t *list = json_array();
	for (size_t i = 0; i < record->n_quarantine; i++) {
		const struct pk_up_quarantine *entry = &record->quarantine[i];
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:i, s:I}", "digest", entry->digest, "reason",
				      entry->reason, "count", (int)entry->count, "until",
				      (json_int_t)entry->until_s));
	}
	return list;
}

static json_t *broken_json(const struct pk_state *state, size_t first)
{
	json_t *list = json_array();
	for (size_t i = first; i < state->n_broken; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "key", state->broken[i].key,
						    "cause", state->broken[i].cause));
	return list;
}

static json_t *baseline_json(const struct pk_up_baseline *baseline)
{
	return json_pack("{s:f, s:f, s:f, s:f}", "fps", baseline->fps, "captured",
		baseline->captured, "p95_ms", baseline->p95_ms, "detections", baseline->detections);
}

// Under this name it is no root of the store (registry/roots.h): that model may be long gone.
static json_t *history_json(const struct pk_up_record *record)
{
	return json_pack("{s:I, s:s*}", "seq", (json_int_t)record->seq_high, "digest",
		or_none(record->seq_digest));
}

static json_t *encode(const struct pk_state *state, size_t first_broken)
{
	const struct pk_up_record *record = &state->update;
	return json_pack("{s:i, s:s, s:o*, s:o*, s:o*, s:o*, s:s*, s:b, s:b, s:b, s:o, s:i, s:i, "
			 "s:o, s:o, s:o}",
		"v", VERSION, "phase", pk_update_phase_name(record->phase), "active",
		slot_json(&record->active), "previous", slot_json(&record->previous), "candidate",
		slot_json(&record->candidate), "older", older_json(record), "pinned",
		or_none(record->pinned), "pin_any_seq", (int)record->pin_any_seq, "any_seq",
		(int)record->any_seq, "verified", (int)record->verified, "history",
		history_json(record), "attempts", (int)record->attempts, "builds",
		(int)record->builds, "quarantine", quarantine_json(record), "baseline",
		baseline_json(&record->baseline), "broken", broken_json(state, first_broken));
}

int pk_state_encode(const struct pk_state *state, struct pk_buf *out)
{
	for (size_t first = 0; first <= state->n_broken; first++) {
		pk_auto_json json = encode(state, first);
		pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
		if (!text)
			return -ENOMEM;
		if (strlen(text) + PK_DIGEST_TEXT <= PK_STATE_MAX_BYTES || first == state->n_broken)
			return pk_buf_str(out, text);
	}
	return -ENOMEM;
}

static int save_mark(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
{
	struct pk_seq_mark mark = {.seq = state->update.seq_high};
	if (mark.seq <= state->marked_seq || !state->update.seq_digest[0])
		return 0;
	memcpy(mark.digest, state->update.seq_digest, sizeof(mark.digest));
	int r = pk_seq_mark_save(dir, name, &mark, err);
	if (r == 0)
		state->marked_seq = mark.seq;
	return r;
}

int pk_state_save(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
{
	pk_auto_buf struct pk_buf text;
	pk_auto_free char *path = path_of(dir, name);
	pk_buf_init(&text, MAX_FILE);
	if (!path || pk_state_encode(state, &text) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = save_mark(dir, name, state, err);
	return r < 0 ? r : pk_record_save(NULL, path, text.data, text.len, err);
}

const char *pk_state_broken_cause(const struct pk_state *state, const char *key)
{
	for (size_t i = 0; i < state->n_broken; i++) {
		if (strcmp(state->broken[i].key, key) == 0)
			return state->broken[i].cause;
	}
	return NULL;
}

void pk_state_remember_broken(struct pk_state *state, const char *key, const char *cause)
{
	if (pk_state_broken_cause(state, key))
		return;
	if (state->n_broken == PK_STATE_MAX_BROKEN) {
		memmove(state->broken, state->broken + 1,
			(PK_STATE_MAX_BROKEN - 1) * sizeof(state->broken[0]));
		state->n_broken--;
	}
	struct pk_state_broken *entry = &state->broken[state->n_broken++];
	snprintf(entry->key, sizeof(entry->key), "%s", key);
	pk_text_format(entry->cause, sizeof(entry->cause), "%s", cause);
}
