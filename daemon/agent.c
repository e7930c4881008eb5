// SPDX-License-Identifier: Apache-2.0
// The agent thread: a queue in, a queue and an eventfd out.
#include "daemon/agent.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/queue.h"
#include "base/thread.h"

#define MAX_JOBS      1024
#define JOIN_LIMIT_NS PK_NS_PER_S

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
		r = pk_thread_start(&agent->thread, "agent", run, agent);
	agent->started = r == 0;
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

void pk_agent_destroy(struct pk_agent *agent)
{
	if (!agent)
		return;
	atomic_store(&agent->cancel, true);
	abort_all(agent->todo);
	if (agent->todo)
		pk_queue_close(agent->todo);
	pk_loop_unwatch(agent->loop, &agent->watch);
	if (agent->started && !pk_thread_join(agent->thread, JOIN_LIMIT_NS))
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
