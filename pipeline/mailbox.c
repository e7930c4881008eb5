// SPDX-License-Identifier: Apache-2.0
// One slot between a camera and inference: an atomic pointer.
#include "pipeline/mailbox.h"

#include <stdatomic.h>

void pk_mailbox_put(struct pk_mailbox *mailbox, struct pk_frame *frame)
{
	struct pk_frame *old =
		atomic_exchange_explicit(&mailbox->slot, frame, memory_order_acq_rel);
	if (!old)
		return;
	atomic_fetch_add_explicit(&mailbox->n_replaced, 1, memory_order_relaxed);
	pk_frame_unref(old);
}

struct pk_frame *pk_mailbox_take(struct pk_mailbox *mailbox)
{
	return atomic_exchange_explicit(&mailbox->slot, NULL, memory_order_acq_rel);
}

bool pk_mailbox_filled(const struct pk_mailbox *mailbox)
{
	return atomic_load_explicit(&mailbox->slot, memory_order_acquire) != NULL;
}

uint64_t pk_mailbox_n_replaced(const struct pk_mailbox *mailbox)
{
	return atomic_load_explicit(&mailbox->n_replaced, memory_order_relaxed);
}

void pk_mailbox_clear(struct pk_mailbox *mailbox)
{
	pk_frame_unref(pk_mailbox_take(mailbox));
}
