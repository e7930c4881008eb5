// SPDX-License-Identifier: Apache-2.0
// Quarantine by digest, and signed sequence numbers that only grow.
#include "daemon/update_record.h"

#include <string.h>

#include "daemon/text.h"

static const char *const phase_names[PK_N_UP_PHASES] = {"idle", "resolve", "fetch", "verify",
	"admit", "build", "golden", "wait", "activate", "observe", "commit", "reject", "rollback"};

const char *pk_update_phase_name(enum pk_update_phase phase)
{
	return (size_t)phase < PK_ARRAY_LEN(phase_names) ? phase_names[phase] : "idle";
}

bool pk_update_phase_parse(const char *name, enum pk_update_phase *out)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(phase_names); i++) {
		if (strcmp(name, phase_names[i]) != 0)
			continue;
		*out = (enum pk_update_phase)i;
		return true;
	}
	return false;
}

void pk_up_record_init(struct pk_up_record *record)
{
	static const struct pk_up_slot none = {.seq = -1};
	*record = (struct pk_up_record){
		.active = none, .previous = none, .candidate = none, .seq_high = -1};
}

static bool same(const char *a, const char *b)
{
	return a[0] && strcmp(a, b) == 0;
}

static struct pk_up_quarantine *find(struct pk_up_record *record, const char *digest)
{
	for (size_t i = 0; i < record->n_quarantine; i++) {
		if (same(digest, record->quarantine[i].digest))
			return &record->quarantine[i];
	}
	return NULL;
}

const struct pk_up_quarantine *pk_up_quarantined(
	const struct pk_up_record *record, const char *digest, int64_t now_s)
{
	const struct pk_up_quarantine *entry =
		find((struct pk_up_record *)(uintptr_t)record, digest);
	return entry && (!entry->until_s || now_s < entry->until_s) ? entry : NULL;
}

static void remove_at(struct pk_up_record *record, size_t i)
{
	memmove(&record->quarantine[i], &record->quarantine[i + 1],
		(--record->n_quarantine - i) * sizeof(record->quarantine[0]));
}

static struct pk_up_quarantine *add(struct pk_up_record *record, const char *digest)
{
	if (record->n_quarantine == PK_UP_MAX_QUARANTINE)
		remove_at(record, 0);
	struct pk_up_quarantine *entry = &record->quarantine[record->n_quarantine++];
	*entry = (struct pk_up_quarantine){0};
	pk_text_format(entry->digest, sizeof(entry->digest), "%s", digest);
	return entry;
}

void pk_up_quarantine_add(struct pk_up_record *record, const char *digest, const char *reason,
	bool soft, int64_t now_s)
{
	struct pk_up_quarantine *entry = find(record, digest);
	if (!entry)
		entry = add(record, digest);
	if (entry->count < UINT8_MAX)
		entry->count++;
	entry->until_s = soft && entry->count <= 1 ? now_s + PK_UP_SOFT_S : 0;
	pk_text_format(entry->reason, sizeof(entry->reason), "%s", reason);
	if (same(digest, record->pinned))
		record->pinned[0] = '\0';
}

void pk_up_quarantine_forget(struct pk_up_record *record, const char *digest, bool soft_only)
{
	const struct pk_up_quarantine *entry = find(record, digest);
	if (entry && (entry->until_s || !soft_only))
		remove_at(record, (size_t)(entry - record->quarantine));
}

static void forget_older(struct pk_up_record *record, const char *digest)
{
	size_t n = 0;
	for (size_t i = 0; i < record->n_older; i++) {
		if (!same(digest, record->older[i].digest))
			record->older[n++] = record->older[i];
	}
	record->n_older = n;
}

void pk_up_promote(struct pk_up_record *record)
{
	const struct pk_up_slot last = record->previous;
	if (record->active.digest[0])
		record->previous = record->active;
	record->active = record->candidate;
	forget_older(record, last.digest);
	forget_older(record, record->active.digest);
	forget_older(record, record->previous.digest);
	if (!last.digest[0] || same(last.digest, record->active.digest) ||
		same(last.digest, record->previous.digest))
		return;
	if (record->n_older == PK_UP_MAX_OLDER)
		record->n_older--;
	memmove(&record->older[1], &record->older[0], record->n_older * sizeof(last));
	record->older[0] = last;
	record->n_older++;
}

void pk_up_demote(struct pk_up_record *record)
{
	static const struct pk_up_slot none = {.seq = -1};
	record->candidate = record->active;
	record->active = record->previous;
	record->previous = record->n_older ? record->older[0] : none;
	forget_older(record, record->previous.digest);
}

const char *pk_up_judge_seq(
	const struct pk_up_record *record, int64_t seq, char text[PK_UP_REASON_MAX])
{
	int64_t high = record->seq_high;
	if (seq < 0 && high >= 0)
		return "it has no sequence number, and an earlier model had one";
	if (seq > PK_UP_MAX_SEQ)
		return "its sequence number is above 2^53";
	if (seq < 0 || high < 0)
		return NULL;
	bool jump = seq > high + PK_UP_MAX_SEQ_JUMP;
	bool twice = seq == high && !same(record->candidate.digest, record->seq_digest);
	if (seq >= high && !jump && !twice)
		return NULL;
	pk_text_format(text, PK_UP_REASON_MAX, "%s: sequence number %lld, seen %lld",
		jump    ? "too far ahead"
		: twice ? "equivocation, two models under one number"
			: "older than what was seen",
		(long long)seq, (long long)high);
	return text;
}

void pk_up_raise_seq(struct pk_up_record *record)
{
	if (record->candidate.seq <= record->seq_high)
		return;
	record->seq_high = record->candidate.seq;
	pk_text_format(
		record->seq_digest, sizeof(record->seq_digest), "%s", record->candidate.digest);
}
