// SPDX-License-Identifier: Apache-2.0
// Descriptors, timers and the agent's thread on one loop.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/agent.h"
#include "daemon/loop.h"
#include "tests/unit/daemon/support.h"

struct counter {
	struct pk_loop *loop;
	unsigned n;
	struct pk_watch *other; // to be forgotten
	char log[8];
	struct pk_timer timer;
	int64_t at_ns;
};

static void on_timer(void *ctx)
{
	struct counter *counter = ctx;
	counter->n++;
	counter->at_ns = pk_now_ns();
}

static bool has_counted(void *ctx)
{
	return ((struct counter *)ctx)->n > 0;
}

static void test_timer_fires_once_and_in_time(void **ctx)
{
	(void)ctx;
	struct pk_loop *loop = pk_loop_create(NULL);
	struct counter counter = {0};
	counter.timer = (struct pk_timer){.fire = on_timer, .ctx = &counter};
	int64_t start_ns = pk_now_ns();
	assert_int_equal(pk_timer_left_ns(&counter.timer), -1);
	pk_loop_start_timer(loop, &counter.timer, 50 * PK_NS_PER_MS);
	assert_true(pk_timer_left_ns(&counter.timer) > 0);
	assert_true(turn_until(loop, has_counted, &counter, 3000));
	assert_true(counter.at_ns - start_ns >= 50 * PK_NS_PER_MS);
	turn_for(loop, 100);
	assert_int_equal(counter.n, 1);
	pk_loop_start_timer(loop, &counter.timer, 0);
	pk_loop_stop_timer(&counter.timer);
	pk_loop_stop_timer(&counter.timer);
	turn_for(loop, 30);
	assert_int_equal(counter.n, 1);
	pk_loop_destroy(loop);
}

struct named {
	char *log;
	char name;
	struct pk_timer timer;
};

static void on_named(void *ctx)
{
	struct named *named = ctx;
	named->log[strlen(named->log)] = named->name;
}

static void test_timers_fire_in_order(void **ctx)
{
	(void)ctx;
	struct pk_loop *loop = pk_loop_create(NULL);
	char log[8] = "";
	struct named timers[4] = {{log, 'd'}, {log, 'a'}, {log, 'c'}, {log, 'b'}};
	static const int64_t delays_ms[] = {40, 10, 30, 20};
	for (int i = 0; i < 4; i++) {
		timers[i].timer = (struct pk_timer){.fire = on_named, .ctx = &timers[i]};
		pk_loop_start_timer(loop, &timers[i].timer, delays_ms[i] * PK_NS_PER_MS);
	}
	pk_loop_start_timer(loop, &timers[0].timer, 0); // starts anew, now first
	turn_for(loop, 150);
	assert_string_equal(log, "dabc");
	pk_loop_destroy(loop);
}

static void on_ready(void *ctx, uint32_t events)
{
	struct counter *counter = ctx;
	(void)events;
	counter->n++;
	pk_loop_unwatch(counter->loop, counter->other);
}

// Both are ready in one turn; whichever comes first takes the other out.
static void test_unwatched_in_the_same_turn_is_not_called(void **ctx)
{
	(void)ctx;
	struct pk_loop *loop = pk_loop_create(NULL);
	int a[2], b[2];
	assert_int_equal(pipe(a) + pipe(b), 0);
	struct pk_watch first = {0}, second = {0};
	struct counter one = {.loop = loop, .other = &second},
		       two = {.loop = loop, .other = &first};
	first = (struct pk_watch){.ready = on_ready, .ctx = &one};
	second = (struct pk_watch){.ready = on_ready, .ctx = &two};
	assert_int_equal(pk_loop_watch(loop, &first, a[0], EPOLLIN), 0);
	assert_int_equal(pk_loop_watch(loop, &second, b[0], EPOLLIN), 0);
	assert_int_equal(write(a[1], "x", 1) + write(b[1], "x", 1), 2);
	assert_int_equal(pk_loop_turn(loop, PK_NS_PER_S), 0);
	assert_int_equal(one.n + two.n, 1);
	pk_loop_unwatch(loop, &first);
	pk_loop_unwatch(loop, &second);
	pk_loop_destroy(loop);
	close(a[0]);
	close(a[1]);
	close(b[0]);
	close(b[1]);
}

struct errand {
	struct pk_agent_job job;
	unsigned *n_done, *n_aborted;
	bool slow;
};

static void do_errand(struct pk_agent_job *job, const atomic_bool *cancel)
{
	struct errand *errand = pk_container_of(job, struct errand, job);
	for (int i = 0; errand->slow && i < 500 && !atomic_load(cancel); i++)
		usleep(10000);
}

static void errand_done(struct pk_agent_job *job, bool aborted)
{
	struct errand *errand = pk_container_of(job, struct errand, job);
	(*(aborted ? errand->n_aborted : errand->n_done))++;
	free(errand);
}

static void post(struct pk_agent *agent, bool slow, unsigned *n_done, unsigned *n_aborted)
{
	struct errand *errand = calloc(1, sizeof(*errand));
	*errand = (struct errand){.job = {.work = do_errand, .done = errand_done},
		.slow = slow,
		.n_done = n_done,
		.n_aborted = n_aborted};
	assert_int_equal(pk_agent_post(agent, &errand->job), 0);
}

static bool are_done(void *ctx)
{
	return *(unsigned *)ctx == 100;
}

static void test_agent_does_jobs_and_aborts_them(void **ctx)
{
	(void)ctx;
	struct pk_err err = {0};
	struct pk_loop *loop = pk_loop_create(&err);
	struct pk_agent *agent = NULL;
	unsigned n_done = 0, n_aborted = 0;
	assert_int_equal(pk_agent_create(loop, &agent, &err), 0);
	for (int i = 0; i < 100; i++)
		post(agent, false, &n_done, &n_aborted);
	assert_true(turn_until(loop, are_done, &n_done, 5000));
	post(agent, true, &n_done, &n_aborted);
	post(agent, false, &n_done, &n_aborted);
	usleep(50000); // the slow one runs
	int64_t start_ns = pk_now_ns();
	pk_agent_destroy(agent);
	assert_true(pk_now_ns() - start_ns < PK_NS_PER_S); // it was told to hurry
	assert_int_equal(n_done, 100);
	assert_int_equal(n_aborted, 2);
	pk_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer_fires_once_and_in_time),
		cmocka_unit_test(test_timers_fire_in_order),
		cmocka_unit_test(test_unwatched_in_the_same_turn_is_not_called),
		cmocka_unit_test(test_agent_does_jobs_and_aborts_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
