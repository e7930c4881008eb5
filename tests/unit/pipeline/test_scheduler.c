// SPDX-License-Identifier: Apache-2.0
// Turns are fair, follow priorities under load and keep rate caps; nothing starves or leaks.
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "pipeline/scheduler.h"
#include "tests/unit/pipeline/cm.h"

struct camera {
	struct pk_lane lane;
	int served;
};

static _Atomic int n_lanes_released, n_frames_released;

static void lane_released(struct pk_lane *lane)
{
	atomic_fetch_add(&n_lanes_released, 1);
}

static void add(struct pk_scheduler *s, struct camera *camera, int priority, double rate)
{
	camera->served = 0;
	pk_lane_init(&camera->lane, lane_released);
	pk_scheduler_add(s, &camera->lane);
	pk_scheduler_set(s, &camera->lane, priority, rate);
}

static void drop(struct pk_scheduler *s, struct camera *camera)
{
	pk_scheduler_remove(s, &camera->lane);
	pk_lane_unref(&camera->lane);
}

static void offer(struct pk_scheduler *s, struct camera *camera)
{
	pk_scheduler_offer(s, &camera->lane, test_frame(2, 2, 0, &n_frames_released));
}

static bool serve(struct pk_scheduler *s, int64_t timeout_ns)
{
	struct pk_lane *lane;
	struct pk_frame *frame = pk_scheduler_take(s, timeout_ns, &lane);
	if (!frame)
		return false;
	pk_container_of(lane, struct camera, lane)->served++;
	pk_frame_unref(frame);
	pk_lane_unref(lane);
	return true;
}

// All cameras have a new frame before every turn: more than can be served.
static void overload(struct pk_scheduler *s, struct camera *cameras, int n, int turns)
{
	for (int t = 0; t < turns; t++) {
		for (int i = 0; i < n; i++)
			offer(s, &cameras[i]);
		assert_true(serve(s, 0));
	}
}

static void test_equals_take_turns(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera cameras[5];
	for (int i = 0; i < 5; i++)
		add(s, &cameras[i], 50, 0);
	overload(s, cameras, 5, 500);
	for (int i = 0; i < 5; i++)
		assert_int_equal(cameras[i].served, 100);
	for (int i = 0; i < 5; i++)
		drop(s, &cameras[i]);
	pk_scheduler_destroy(s);
}

static void test_priorities_share_without_starving(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera cameras[3];
	add(s, &cameras[0], 99, 0);
	add(s, &cameras[1], 49, 0);
	add(s, &cameras[2], 0, 0);
	overload(s, cameras, 3, 1510);
	assert_in_range(cameras[0].served, 990, 1010);
	assert_in_range(cameras[1].served, 490, 510);
	assert_in_range(cameras[2].served, 8, 12);
	for (int i = 0; i < 3; i++)
		drop(s, &cameras[i]);
	pk_scheduler_destroy(s);
}

// Eight cameras, two priorities, half of each capped: the caps hold, what they leave goes to the
// others by priority, equals get equal shares, and nobody starves.
static void test_eight_cameras_two_priorities_and_caps(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera cameras[8];
	for (int i = 0; i < 8; i++)
		add(s, &cameras[i], i < 4 ? 89 : 29, i % 2 ? 20 : 0);
	int64_t start_ns = pk_now_ns();
	int n = 0;
	while (pk_now_ns() - start_ns < PK_NS_PER_S) {
		for (int i = 0; i < 8; i++)
			offer(s, &cameras[i]);
		assert_true(serve(s, 0));
		n++;
		test_sleep(1); // an inference
	}
	int64_t took_ms = (pk_now_ns() - start_ns) / PK_NS_PER_MS;
	int most = (int)(took_ms * 20 / 1000) + 2, capped = 0;
	for (int i = 1; i < 8; i += 2) {
		assert_in_range(cameras[i].served, 10, most);
		capped += cameras[i].served;
	}
	// 90 : 30 among the others
	int left = n - capped;
	for (int i = 0; i < 8; i += 2) {
		int share = left * (i < 4 ? 3 : 1) / 8;
		assert_in_range(cameras[i].served, share - 3 - share / 20, share + 3 + share / 20);
	}
	for (int i = 0; i < 8; i++)
		drop(s, &cameras[i]);
	pk_scheduler_destroy(s);
}

static void test_idle_saves_no_turns(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera cameras[2];
	add(s, &cameras[0], 50, 0);
	add(s, &cameras[1], 50, 0);
	overload(s, &cameras[0], 1, 100); // the other one sends nothing
	cameras[0].served = cameras[1].served = 0;
	overload(s, cameras, 2, 20);
	assert_in_range(cameras[0].served, 9, 11);
	drop(s, &cameras[0]);
	drop(s, &cameras[1]);
	pk_scheduler_destroy(s);
}

static void test_rate_cap(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera cameras[2];
	add(s, &cameras[0], 50, 50); // 50/s of a camera that offers 500/s
	add(s, &cameras[1], 50, 0);
	int64_t start_ns = pk_now_ns();
	while (pk_now_ns() - start_ns < PK_NS_PER_S) {
		offer(s, &cameras[0]);
		(void)serve(s, 2 * PK_NS_PER_MS);
	}
	assert_in_range(cameras[0].served, 40, 52);
	drop(s, &cameras[0]);
	drop(s, &cameras[1]);
	pk_scheduler_destroy(s);
}

static void test_waits_for_the_cap_not_the_timeout(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera camera;
	add(s, &camera, 50, 20);
	offer(s, &camera);
	assert_true(serve(s, 0));
	offer(s, &camera);
	assert_false(serve(s, 0)); // not due
	int64_t start_ns = pk_now_ns();
	assert_true(serve(s, 5 * PK_NS_PER_S));
	assert_true(pk_now_ns() - start_ns < 500 * PK_NS_PER_MS);
	drop(s, &camera);
	pk_scheduler_destroy(s);
}

static void *offer_later(void *arg)
{
	void **args = arg;
	test_sleep(30);
	offer(args[0], args[1]);
	return NULL;
}

static void test_wakes_a_waiting_taker(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera camera;
	add(s, &camera, 50, 0);
	void *args[] = {s, &camera};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, offer_later, args), 0);
	int64_t start_ns = pk_now_ns();
	assert_true(serve(s, 10 * PK_NS_PER_S));
	assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	pthread_join(thread, NULL);
	pk_scheduler_wake(s);
	assert_false(serve(s, 10 * PK_NS_PER_S)); // at once, without a frame
	assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	drop(s, &camera);
	pk_scheduler_destroy(s);
}

static void test_removed_lane_gives_nothing_and_is_released(void **state)
{
	struct pk_scheduler *s = pk_scheduler_create();
	struct camera camera;
	n_lanes_released = n_frames_released = 0;
	add(s, &camera, 50, 0);
	offer(s, &camera);
	pk_scheduler_remove(s, &camera.lane);
	assert_false(serve(s, 0));
	offer(s, &camera); // a camera that still runs
	assert_int_equal(n_lanes_released, 0);
	pk_lane_unref(&camera.lane);
	assert_int_equal(n_lanes_released, 1);
	assert_int_equal(n_frames_released, 2);
	pk_scheduler_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_take_turns),
		cmocka_unit_test(test_priorities_share_without_starving),
		cmocka_unit_test(test_eight_cameras_two_priorities_and_caps),
		cmocka_unit_test(test_idle_saves_no_turns),
		cmocka_unit_test(test_rate_cap),
		cmocka_unit_test(test_waits_for_the_cap_not_the_timeout),
		cmocka_unit_test(test_wakes_a_waiting_taker),
		cmocka_unit_test(test_removed_lane_gives_nothing_and_is_released),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
