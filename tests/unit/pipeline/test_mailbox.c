// SPDX-License-Identifier: Apache-2.0
// The newest frame wins, also with both sides running, and every frame is accounted for.
#include <pthread.h>
#include <stdatomic.h>

#include "pipeline/mailbox.h"
#include "tests/unit/pipeline/cm.h"

static void test_newest_wins(void **state)
{
	_Atomic int released = 0;
	struct pk_mailbox box = {.n_replaced = 0};
	assert_false(pk_mailbox_filled(&box));
	assert_null(pk_mailbox_take(&box));
	struct pk_frame *first = test_frame(2, 2, 1, &released);
	struct pk_frame *second = test_frame(2, 2, 2, &released);
	pk_mailbox_put(&box, first);
	pk_mailbox_put(&box, second);
	assert_int_equal(released, 1);
	assert_int_equal(pk_mailbox_n_replaced(&box), 1);
	assert_ptr_equal(pk_mailbox_take(&box), second);
	assert_null(pk_mailbox_take(&box));
	pk_frame_unref(second);
	assert_int_equal(released, 2);
}

#define N_FRAMES 20000

struct both {
	struct pk_mailbox box;
	_Atomic int released;
	_Atomic bool done;
};

static void *producer(void *arg)
{
	struct both *both = arg;
	for (uint64_t i = 0; i < N_FRAMES; i++) {
		struct pk_frame *frame = test_frame(2, 2, 0, &both->released);
		frame->index = i;
		pk_mailbox_put(&both->box, frame);
	}
	atomic_store(&both->done, true);
	return NULL;
}

static void test_two_threads(void **state)
{
	static struct both both; // zero
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, producer, &both), 0);
	uint64_t n_taken = 0, last = 0;
	for (;;) {
		bool done = atomic_load(&both.done);
		struct pk_frame *frame = pk_mailbox_take(&both.box);
		if (frame) {
			if (n_taken++)
				assert_true(frame->index > last); // never an old one
			last = frame->index;
			pk_frame_unref(frame);
		} else if (done) {
			break;
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(last, N_FRAMES - 1); // the newest is always seen
	assert_int_equal(n_taken + pk_mailbox_n_replaced(&both.box), N_FRAMES);
	assert_int_equal(both.released, N_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_wins),
		cmocka_unit_test(test_two_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
