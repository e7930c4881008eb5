// SPDX-License-Identifier: Apache-2.0
// State files: what is written comes back, whatever is damaged is told and not used.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/seq_mark.h"
#include "daemon/state.h"
#include "tests/unit/daemon/support.h"

#define DIGEST "sha256:470d3b0fb26b7bef26a67b2239f6d8829b223225b9056708c1ebabb6e495bb09"
#define KEY    "sha256:dfed4418f64838efe9fdf032d7d8db6728ee0d48918c261e469356940b0400b9"

static void remove_text(const char *folder, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)unlink(path);
}

static void save_sample(const char *folder)
{
	struct pk_err err = {0};
	struct pk_state state;
	pk_state_init(&state);
	snprintf(state.update.active.digest, PK_DIGEST_TEXT, "%s", DIGEST);
	pk_state_remember_broken(&state, KEY, "build failed: gate \u2026");
	assert_int_equal(pk_state_save(folder, "parts", &state, &err), 0);
}

static void test_round_trip(void **ctx)
{
	(void)ctx;
	struct pk_err err = {0};
	struct pk_state state;
	char *folder = make_folder();
	assert_int_equal(pk_state_load(folder, "parts", &state, &err), -ENOENT);
	assert_string_equal(state.update.active.digest, "");
	save_sample(folder);
	assert_int_equal(pk_state_load(folder, "parts", &state, &err), 0);
	assert_string_equal(state.update.active.digest, DIGEST);
	assert_string_equal(pk_state_broken_cause(&state, KEY), "build failed: gate \u2026");
	assert_null(pk_state_broken_cause(&state, DIGEST));
	remove_folder(folder);
}

static void test_empty_state(void **ctx)
{
	(void)ctx;
	struct pk_err err = {0};
	struct pk_state state;
	pk_state_init(&state);
	char *folder = make_folder();
	assert_int_equal(pk_state_save(folder, "parts", &state, &err), 0);
	assert_int_equal(pk_state_load(folder, "parts", &state, &err), 0);
	assert_string_equal(state.update.active.digest, "");
	remove_folder(folder);
}

static void fill(char out[PK_DIGEST_TEXT], int i)
{
	snprintf(out, PK_DIGEST_TEXT, "sha256:%064d", i);
}

static void fill_all(struct pk_state *state)
{
	struct pk_up_record *record = &state->update;
	pk_state_init(state);
	record->phase = PK_UP_ACTIVATE;
	fill(record->active.digest, 1);
	fill(record->previous.digest, 2);
	fill(record->candidate.digest, 3);
	fill(record->pinned, 4);
	record->n_older = PK_UP_MAX_OLDER;
	for (int i = 0; i < PK_UP_MAX_OLDER; i++) {
		fill(record->older[i].digest, 50 + i);
		record->older[i].seq = PK_UP_MAX_SEQ - 1 - i;
	}
	fill(record->seq_digest, 5);
	record->active.seq = 16;
	record->candidate.seq = record->seq_high = PK_UP_MAX_SEQ;
	record->attempts = 2;
	record->builds = 1;
	record->verified = record->any_seq = record->pin_any_seq = true;
	record->baseline = (struct pk_up_baseline){
		.fps = 24.5, .captured = 25.25, .p95_ms = 12.125, .detections = 1.5};
	record->n_quarantine = PK_UP_MAX_QUARANTINE;
	for (int i = 0; i < PK_UP_MAX_QUARANTINE; i++) {
		fill(record->quarantine[i].digest, 10 + i);
		memset(record->quarantine[i].reason, '"',
			PK_UP_VERDICT_MAX - 1); // as long as it gets
		record->quarantine[i].count = 3;
		record->quarantine[i].until_s = 1790000000;
	}
}

static void test_everything_round_trips(void **ctx)
{
	(void)ctx;
	struct pk_state state, again;
	char *folder = make_folder();
	fill_all(&state);
	pk_state_remember_broken(&state, KEY, "gate");
	assert_int_equal(pk_state_save(folder, "m", &state, NULL), 0);
	assert_int_equal(pk_state_load(folder, "m", &again, NULL), 0);
	assert_memory_equal(&again.update, &state.update, sizeof(state.update));
	assert_string_equal(pk_state_broken_cause(&again, KEY), "gate");
	remove_folder(folder);
}

static void test_a_record_is_one_block(void **ctx)
{
	(void)ctx;
	struct pk_state state;
	char key[PK_DIGEST_TEXT], cause[PK_STATE_CAUSE_MAX];
	pk_auto_buf struct pk_buf text;
	fill_all(&state);
	memset(cause, 'x', sizeof(cause) - 1);
	cause[sizeof(cause) - 1] = '\0';
	for (int i = 0; i < PK_STATE_MAX_BROKEN; i++) {
		fill(key, 100 + i);
		pk_state_remember_broken(&state, key, cause);
	}
	pk_buf_init(&text, 1u << 20);
	assert_int_equal(pk_state_encode(&state, &text), 0);
	print_message("the largest record has %zu bytes\n", text.len);
	assert_true(text.len + PK_DIGEST_TEXT <= PK_STATE_MAX_BYTES);
	// What had to be left out are the oldest broken engines.
	struct pk_state again;
	assert_int_equal(pk_state_decode(text.data, text.len, &again), 0);
	assert_memory_equal(&again.update, &state.update, sizeof(state.update));
	assert_true(again.n_broken > 0);
	assert_string_equal(pk_state_broken_cause(&again, key), cause);
}

static void test_the_version_before_is_understood(void **ctx)
{
	(void)ctx;
	static const char old[] = "{\"broken\":[{\"cause\":\"gate\",\"key\":\"" KEY
				  "\"}],\"digest\":\"" DIGEST "\",\"v\":1}";
	struct pk_state state;
	assert_int_equal(pk_state_decode(old, strlen(old), &state), 0);
	assert_string_equal(state.update.active.digest, DIGEST);
	assert_int_equal(state.update.active.seq, -1);
	assert_int_equal(state.update.seq_high, -1);
	assert_non_null(pk_state_broken_cause(&state, KEY));
}

// Every single bit, and every length.
static void test_any_damage_is_found(void **ctx)
{
	(void)ctx;
	struct pk_state state;
	char *folder = make_folder();
	save_sample(folder);
	char *good = read_text(folder, "parts.json");
	size_t n = strlen(good);
	for (size_t i = 0; i < n; i += 3) {
		char *bad = strdup(good);
		bad[i] = (char)(bad[i] ^ 1);
		if (bad[i] == '\0')
			bad[i] = '\x01';
		write_text(folder, "parts.json", bad);
		free(bad);
		assert_int_equal(pk_state_load(folder, "parts", &state, NULL), -EBADMSG);
		assert_string_equal(state.update.active.digest, "");
		assert_int_equal(state.n_broken, 0);
	}
	for (size_t cut = 0; cut < n; cut += 7) {
		char *bad = strndup(good, cut);
		write_text(folder, "parts.json", bad);
		free(bad);
		assert_int_equal(pk_state_load(folder, "parts", &state, NULL), -EBADMSG);
	}
	free(good);
	remove_folder(folder);
}

// A right checksum does not make wrong content right.
static void test_wrong_content_under_a_right_checksum(void **ctx)
{
	(void)ctx;
	static const char *const bodies[] = {
		"",
		"[]",
		"{}",
		"{\"v\":2,\"broken\":[]}",
		"{\"v\":1}",
		"{\"v\":1,\"broken\":{}}",
		"{\"v\":1,\"broken\":[{}]}",
		"{\"v\":1,\"broken\":[],\"digest\":\"../../etc/passwd\"}",
		"{\"v\":1,\"broken\":[{\"key\":\"x\",\"cause\":\"y\"}]}",
		"{\"v\":1,\"v\":1,\"broken\":[]}",
	};
	struct pk_state state;
	char *folder = make_folder();
	for (size_t i = 0; i < PK_ARRAY_LEN(bodies); i++) {
		struct pk_digest digest;
		char head[PK_DIGEST_TEXT], text[512];
		assert_int_equal(pk_digest_bytes(bodies[i], strlen(bodies[i]), &digest), 0);
		pk_digest_format(&digest, head);
		snprintf(text, sizeof(text), "%s\n%s", head, bodies[i]);
		write_text(folder, "parts.json", text);
		assert_int_equal(pk_state_load(folder, "parts", &state, NULL), -EBADMSG);
	}
	remove_folder(folder);
}

static void test_broken_list_is_bounded(void **ctx)
{
	(void)ctx;
	struct pk_err err = {0};
	struct pk_state state;
	pk_state_init(&state);
	char *folder = make_folder();
	char key[PK_DIGEST_TEXT] = KEY;
	for (int i = 0; i < 40; i++) {
		snprintf(key + 7, 3, "%02d", i);
		key[9] = 'a';
		pk_state_remember_broken(&state, key, "x");
		pk_state_remember_broken(&state, key, "twice");
	}
	assert_int_equal(state.n_broken, PK_STATE_MAX_BROKEN);
	assert_string_equal(pk_state_broken_cause(&state, key), "x"); // the newest is there
	assert_int_equal(pk_state_save(folder, "m", &state, &err), 0);
	assert_int_equal(pk_state_load(folder, "m", &state, &err), 0);
	assert_int_equal(state.n_broken, PK_STATE_MAX_BROKEN);
	remove_folder(folder);
}

static void save_seq(const char *folder, int64_t seq, int digest)
{
	struct pk_state state;
	int r = pk_state_load(folder, "m", &state, NULL);
	assert_true(r == 0 || r == -ENOENT);
	fill(state.update.active.digest, digest);
	state.update.seq_high = seq;
	fill(state.update.seq_digest, digest);
	assert_int_equal(pk_state_save(folder, "m", &state, NULL), 0);
}

// Both generations of the record gone or damaged: what was seen stays seen.
static void test_the_mark_outlives_the_record(void **ctx)
{
	(void)ctx;
	struct pk_state state;
	struct pk_err err = {0};
	char *folder = make_folder(), digest[PK_DIGEST_TEXT];
	save_seq(folder, 7, 1);
	save_seq(folder, 9, 2);
	write_text(folder, "m.json", "rot");
	write_text(folder, "m.json.prev", "");
	assert_int_equal(pk_state_load(folder, "m", &state, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
	assert_string_equal(state.update.active.digest, "");
	assert_int_equal(state.update.seq_high, 9);
	fill(digest, 2);
	assert_string_equal(state.update.seq_digest, digest);
	remove_text(folder, "m.json");
	remove_text(folder, "m.json.prev");
	assert_int_equal(pk_state_load(folder, "m", &state, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "its sequence mark is not"));
	assert_int_equal(state.update.seq_high, 9);
	assert_int_equal(pk_state_save(folder, "m", &state, NULL), 0);
	assert_int_equal(pk_state_load(folder, "m", &state, &err), 0);
	assert_int_equal(state.update.seq_high, 9);
	remove_folder(folder);
}

static void test_a_damaged_mark_is_told_and_made_anew(void **ctx)
{
	(void)ctx;
	struct pk_state state;
	struct pk_err err = {0};
	char *folder = make_folder();
	save_seq(folder, 7, 1);
	write_text(folder, "m.mark", "{\"v\":1,\"seq\":3}");           // without a checksum
	assert_int_equal(pk_state_load(folder, "m", &state, &err), 0); // the record knows
	assert_int_equal(state.update.seq_high, 7);
	assert_int_equal(pk_state_save(folder, "m", &state, NULL), 0);
	remove_text(folder, "m.json");
	assert_int_equal(pk_state_load(folder, "m", &state, &err), 0); // .prev
	remove_text(folder, "m.json.prev");
	assert_int_equal(pk_state_load(folder, "m", &state, &err), -EBADMSG);
	assert_int_equal(state.update.seq_high, 7);
	write_text(folder, "m.mark", "");
	write_text(folder, "m.mark.prev", "");
	assert_int_equal(pk_state_load(folder, "m", &state, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "an older model would be taken"));
	assert_int_equal(state.update.seq_high, -1);
	remove_folder(folder);
}

// A crash between the two writes leaves a mark that is ahead: the model that made it is not
// refused.
static void test_the_mark_may_be_ahead(void **ctx)
{
	(void)ctx;
	struct pk_state state;
	char *folder = make_folder(), text[PK_UP_REASON_MAX];
	save_seq(folder, 7, 1);
	char *old = read_text(folder, "m.json");
	save_seq(folder, 8, 2);
	write_text(folder, "m.json", old);
	free(old);
	assert_int_equal(pk_state_load(folder, "m", &state, NULL), 0);
	assert_int_equal(state.update.seq_high, 8);
	fill(state.update.candidate.digest, 2);
	assert_null(pk_up_judge_seq(&state.update, 8, text));
	fill(state.update.candidate.digest, 3);
	assert_non_null(pk_up_judge_seq(&state.update, 8, text)); // another one under that number
	assert_non_null(pk_up_judge_seq(&state.update, 7, text));
	remove_folder(folder);
}

static void test_marks_are_bounded(void **ctx)
{
	(void)ctx;
	static const char *const bad[] = {"", "{}", "[]",
		"{\"v\":2,\"seq\":1,\"digest\":\"" DIGEST "\"}",
		"{\"v\":1,\"seq\":-1,\"digest\":\"" DIGEST "\"}",
		"{\"v\":1,\"seq\":9007199254740993,\"digest\":\"" DIGEST "\"}",
		"{\"v\":1,\"seq\":1,\"digest\":\"../x\"}", "{\"v\":1,\"seq\":1}"};
	struct pk_seq_mark mark;
	for (size_t i = 0; i < PK_ARRAY_LEN(bad); i++) {
		assert_int_equal(pk_seq_mark_decode(bad[i], strlen(bad[i]), &mark), -EBADMSG);
		assert_int_equal(mark.seq, -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty_state),
		cmocka_unit_test(test_everything_round_trips),
		cmocka_unit_test(test_a_record_is_one_block),
		cmocka_unit_test(test_the_version_before_is_understood),
		cmocka_unit_test(test_any_damage_is_found),
		cmocka_unit_test(test_wrong_content_under_a_right_checksum),
		cmocka_unit_test(test_broken_list_is_bounded),
		cmocka_unit_test(test_the_mark_outlives_the_record),
		cmocka_unit_test(test_a_damaged_mark_is_told_and_made_anew),
		cmocka_unit_test(test_the_mark_may_be_ahead),
		cmocka_unit_test(test_marks_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
