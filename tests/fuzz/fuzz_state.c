// SPDX-License-Identifier: Apache-2.0
// Records of models: whatever can be read is written back the same, and an update machine that
// begins with it comes to rest. Sequence marks: what is taken is in range.
#include <assert.h>
#include <string.h>

#include "daemon/seq_mark.h"
#include "daemon/state.h"
#include "daemon/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct pk_state *state)
{
	struct pk_state again;
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 1u << 20);
	int r = pk_state_encode(state, &text);
	assert(r == 0);
	r = pk_state_decode(text.data, text.len, &again);
	assert(r == 0);
	assert(strcmp(again.update.active.digest, state->update.active.digest) == 0);
	assert(again.update.seq_high == state->update.seq_high);
	assert(again.update.attempts == state->update.attempts);
	assert(again.update.n_quarantine == state->update.n_quarantine);
}

// Everything that is asked for fails: the active model stays, and nothing is begun for ever.
static void check_start(const struct pk_state *state)
{
	struct pk_update update;
	struct pk_up_actions actions;
	struct pk_up_event event = {.type = PK_UP_START, .now_s = 1790000000};
	pk_update_init(&update);
	update.record = state->update;
	for (int i = 0; i < 64; i++) {
		pk_update_step(&update, &event, &actions);
		if (update.save_serial)
			event = (struct pk_up_event){
				.type = PK_UP_SAVED, .serial = update.save_serial};
		else if (update.serial)
			event = (struct pk_up_event){.type = PK_UP_FAILED,
				.serial = update.serial,
				.permanent = true,
				.reason = "no"};
		else
			break;
	}
	assert(update.phase == PK_UP_IDLE);
	assert(update.record.seq_high >= state->update.seq_high);
	assert(strcmp(update.record.active.digest, state->update.active.digest) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_state state;
	struct pk_seq_mark mark;
	if (pk_seq_mark_decode((const char *)data, size, &mark) == 0)
		assert(mark.seq >= 0 && mark.seq <= PK_UP_MAX_SEQ && mark.digest[0]);
	if (pk_state_decode((const char *)data, size, &state) < 0)
		return 0;
	check_round_trip(&state);
	check_start(&state);
	return 0;
}
