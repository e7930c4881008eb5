// SPDX-License-Identifier: Apache-2.0
// A small update of a model as a node does it, and what must hold whenever it was cut short: shared
// by the tests that cut the power, refuse calls and let the process die.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "fixture.h"

#define UPDATE_ONNX_BYTES 600003 // several writes

struct update {
	struct fixture *fx;
	struct pk_digest old, new, garbage; // manifests in fx's layout
	char root[96];                      // of the store; records in root/state
	int64_t quota_bytes;
};

// A store with the artifact `old`, which its record names, and `garbage`, which none does.
void update_prepare(struct update *update, struct fixture *fx);

// Pulls `new` into the store at root, records it as active and `old` as previous, and cleans.
int update_run(const struct update *update, const char *root, struct pk_err *err);

// After any interruption: the record at root is there and names old or new, everything that it
// names is whole, and the update can be made, within the quota; then new is there, old still is,
// and the garbage is not. Fails the test with `what` else.
void update_check(const struct update *update, const char *root, const char *what);
