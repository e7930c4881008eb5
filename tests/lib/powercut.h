// SPDX-License-Identifier: Apache-2.0
// Records what goes to disk below one folder (by base/fsops.h) and builds the folder as a power cut
// after any prefix of it may leave it. What was not synced is lost, in each of several ways.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// What becomes of bytes that were not synced: gone, zeros in their place, or there by luck.
enum powercut_data { POWERCUT_DATA_DROPPED, POWERCUT_DATA_ZEROED, POWERCUT_DATA_KEPT };
// What becomes of names (made, removed, renamed) whose folder was not synced: as before, all of
// them as they are, or only the newest change.
enum powercut_names { POWERCUT_NAMES_DROPPED, POWERCUT_NAMES_KEPT, POWERCUT_NAMES_LAST };
#define POWERCUT_N_VARIANTS 9
struct powercut_variant {
	enum powercut_data data;
	enum powercut_names names;
};
struct powercut_variant powercut_variant(int i); // 0..POWERCUT_N_VARIANTS-1

// Takes what is below root now as durable, and records from then on. One recording at a time; one
// thread. Failures end the process with a message: this is for tests.
void powercut_begin(const char *root);
void powercut_end(void); // the real calls again; the recording stays until the next begin
size_t powercut_n_calls(void);
const char *powercut_call_text(size_t i); // "rename tmp/x.part blobs/sha256/x"
// Makes folder (which must not exist) what root may be after the first n calls.
void powercut_build(size_t n_calls, struct powercut_variant variant, const char *folder);
