// SPDX-License-Identifier: Apache-2.0
// The agent thread: a queue in, a queue and an eventfd out.
#include "daemon/agent.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/queue.h"

#define MAX_JOBS     1024
#define JOIN_LIMIT_S 1

struct pk_agent {
	struct pk_loop *loop;
	struct pk_queue *todo, *finished;
	struct pk_watch watch;
	int wake_fd;
	unsigned n_open; // posted and not done yet
	atomic_bool cancel;
	pthread_t thread;
	bool started;
};

static void *run(void *ctx)
{
	struct pk_agent *agent = ctx;
	const uint64_t one = 1;
	struct pk_agent_job *job;
	while ((job = pk_queue_pop(agent->todo, -1))) {
		job->work(job, &agent->cancel);
		// There is room: no more than MAX_JOBS are open.
		if (!pk_queue_try_push(agent->finished, job))
			break;
		if (write(agent->wake_fd, &one, sizeof(one)) < 0)
			continue; // the counter is full: the loop is awake anyway
	}
	return NULL;
}

static void on_finished(void *ctx, pk_unused uint32_t events)
{
	struct pk_agent *agent = ctx;
	uint64_t count;
	if (read(agent->wake_fd, &count, sizeof(count)) < 0)
		return;
	struct pk_agent_job *job;
	while ((job = pk_queue_pop(agent->finished, 0))) {
		agent->n_open--;
		job->done(job, false);
	}
}

// Signals are the loop's.
static int start_thread(struct pk_agent *agent)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&agent->thread, NULL, run, agent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		pthread_setname_np(agent->thread, "agent");
	agent->started = r == 0;
	return -r;
}

int pk_agent_create(struct pk_loop *loop, struct pk_agent **out, struct pk_err *err)
{
	pk_auto(pk_agent) agent = calloc(1, sizeof(*agent));
	if (!agent)
		return pk_fail(err, -ENOMEM, "out of memory");
	agent->loop = loop;
	agent->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent->wake_fd < 0)
		return pk_fail_errno(err, "eventfd");
	agent->todo = pk_queue_create(MAX_JOBS);
	agent->finished = pk_queue_create(MAX_JOBS);
	agent->watch = (struct pk_watch){.ready = on_finished, .ctx = agent};
	if (!agent->todo || !agent->finished)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_loop_watch(loop, &agent->watch, agent->wake_fd, EPOLLIN);
	if (r == 0)
		r = start_thread(agent);
	if (r < 0)
		return pk_fail(err, r, "the agent thread cannot start");
	*out = pk_steal(agent);
	return 0;
}

static void abort_all(struct pk_queue *queue)
{
	struct pk_agent_job *job;
	while (queue && (job = pk_queue_pop(queue, 0)))
		job->done(job, true);
}

static bool join(struct pk_agent *agent)
{
	struct timespec limit;
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += JOIN_LIMIT_S;
	return !agent->started ||
	       pthread_clockjoin_np(agent->thread, NULL, CLOCK_MONOTONIC, &limit) == 0;
}

void pk_agent_destroy(struct pk_agent *agent)
{
	if (!agent)
		return;
	atomic_store(&agent->cancel, true);
	abort_all(agent->todo);
	if (agent->todo)
		pk_queue_close(agent->todo);
	pk_loop_unwatch(agent->loop, &agent->watch);
	if (!join(agent))
		return; // it still uses all of this
	abort_all(agent->finished);
	pk_queue_destroy(agent->todo);
	pk_queue_destroy(agent->finished);
	if (agent->wake_fd >= 0)
		close(agent->wake_fd);
	free(agent);
}

int pk_agent_post(struct pk_agent *agent, struct pk_agent_job *job)
{
	if (agent->n_open >= MAX_JOBS || !pk_queue_try_push(agent->todo, job))
		return -ENOBUFS;
	agent->n_open++;
	return 0;
}
