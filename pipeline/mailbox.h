// SPDX-License-Identifier: Apache-2.0
// One slot between a camera and inference: the newest frame wins, the one it replaces is counted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "pipeline/frame.h"

// Zero-initialise. Lock-free: neither side ever waits for the other.
struct pk_mailbox {
	struct pk_frame *_Atomic slot;
	_Atomic uint64_t n_replaced; // frames that a newer one pushed out unseen
};

// Any thread. Takes the caller's reference; unrefs and counts the frame that it replaces.
void pk_mailbox_put(struct pk_mailbox *mailbox, struct pk_frame *frame);
// Any thread. The reference becomes the caller's; NULL when empty.
struct pk_frame *pk_mailbox_take(struct pk_mailbox *mailbox) pk_must_check;
bool pk_mailbox_filled(const struct pk_mailbox *mailbox);
uint64_t pk_mailbox_n_replaced(const struct pk_mailbox *mailbox);
// Drops what is inside, uncounted: for the end of a camera.
void pk_mailbox_clear(struct pk_mailbox *mailbox);
