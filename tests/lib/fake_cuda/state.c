// SPDX-License-Identifier: Apache-2.0
// Objects, queues, counts and injected faults of the double's driver.
#include "tests/lib/fake_cuda/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_cuda/fake_cuda.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct fake_state fake;
__thread struct object *fake_current;

int fake_env_int(const char *name, int fallback)
{
	const char *text = getenv(name);
	return text && *text ? (int)strtol(text, NULL, 10) : fallback;
}

int fake_misuse(const char *function, const char *what)
{
	fake.n_misuse++;
	snprintf(fake.misuse, sizeof(fake.misuse), "%s: %s", function, what);
	return INVALID_VALUE;
}

// The status in the file, once: it is removed. OK without one.
static int take_fail_file(void)
{
	const char *path = getenv("PICKET_FAKE_CUDA_FAIL_FILE");
	char text[16] = "";
	FILE *file = path ? fopen(path, "re") : NULL;
	if (!file)
		return OK;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return remove(path) == 0 ? (int)strtol(text, NULL, 10) : OK;
}

static void count(const char *function)
{
	fake.n_calls++;
	for (int i = 0; i < FAKE_MAX_FUNCTIONS; i++) {
		if (!fake.counts[i].name)
			fake.counts[i].name = function;
		if (strcmp(fake.counts[i].name, function) == 0) {
			fake.counts[i].n++;
			return;
		}
	}
}

static bool loses_context(int status)
{
	return (status >= 700 && status != 701 && status < 800) || status == 214 || status == 999;
}

// Counts the call and gives the status that it is to fail with, or OK. Holds the lock until
// fake_leave().
int fake_enter(const char *function)
{
	pthread_mutex_lock(&lock);
	count(function);
	int status = fake.fail_at == fake.n_calls ? fake.fail_status : OK;
	if (!status && strcmp(function, "cuGraphLaunch") == 0)
		status = take_fail_file();
	if (!fake.lost && loses_context(status))
		fake.lost = status;
	return fake.lost ? fake.lost : status;
}

int fake_leave(int status)
{
	pthread_mutex_unlock(&lock);
	return status;
}

struct object *fake_make(enum kind kind)
{
	struct object *object = calloc(1, sizeof(*object));
	if (!object)
		abort();
	object->kind = kind;
	object->next = fake.objects;
	fake.objects = object;
	return object;
}

bool fake_is(const struct object *object, enum kind kind)
{
	for (const struct object *o = fake.objects; o; o = o->next) {
		if (o == object)
			return o->kind == kind;
	}
	return false;
}

void fake_push(struct queue *queue, const struct operation *operation)
{
	if (queue->n == queue->cap) {
		queue->cap = queue->cap ? queue->cap * 2 : 16;
		queue->items = realloc(queue->items, queue->cap * sizeof(*queue->items));
		if (!queue->items)
			abort();
	}
	queue->items[queue->n++] = *operation;
}

void fake_drop(struct object *object)
{
	free(object->queue.items);
	free(object->memory);
	object->queue = (struct queue){0};
	object->memory = NULL;
	object->kind = FREED;
}

// The n bytes at p lie in one live block.
bool fake_in_block(const void *p, size_t n, bool device_too)
{
	const char *at = p;
	for (const struct object *o = fake.objects; o; o = o->next) {
		bool counts = o->kind == PINNED_BLOCK || (device_too && o->kind == DEVICE_BLOCK);
		if (counts && at >= o->memory && at + n <= o->memory + o->bytes)
			return true;
	}
	return false;
}

static void run_operation(const struct operation *op)
{
	fake.now_ns += 1000;
	switch (op->what) {
	case LAUNCH:
		op->kernel->run(op->grid, op->block, op->shared_bytes, op->params);
		break;
	case COPY:
		if (!fake_in_block(op->to, op->bytes, true) ||
			!fake_in_block(op->from, op->bytes, true))
			fake_misuse("copy", "outside of what is allocated when it runs");
		else
			memcpy(op->to, op->from, op->bytes);
		break;
	case FILL:
		memset(op->to, op->value, op->bytes);
		break;
	case CALL:
		op->call(op->ctx);
		break;
	case RECORD:
		op->event->pending = false;
		op->event->ns = fake.now_ns;
		break;
	}
}

// All that was put into the stream happens now.
void fake_drain(struct object *stream)
{
	struct queue queue = stream->queue;
	stream->queue = (struct queue){0};
	for (size_t i = 0; i < queue.n; i++)
		run_operation(&queue.items[i]);
	free(queue.items);
}

bool fake_any_pending(void)
{
	for (const struct object *o = fake.objects; o; o = o->next) {
		if (o->kind == STREAM && o->queue.n > 0)
			return true;
	}
	return false;
}

// Appends to the stream, or to the graph that it is being captured into.
int fake_enqueue(const char *function, struct object *stream, const struct operation *operation)
{
	if (!fake_current)
		return fake_misuse(function, "no fake_current context");
	if (!fake_is(stream, STREAM))
		return fake_misuse(function, "not a stream");
	fake_push(stream->capture ? &stream->capture->queue : &stream->queue, operation);
	return OK;
}

static void fake_reset(void)
{
	pthread_mutex_lock(&lock);
	struct object **link = &fake.objects;
	while (*link) { // what is marked needs no telling apart any more
		struct object *o = *link;
		if (o->kind == FREED) {
			*link = o->next;
			free(o);
		} else {
			link = &o->next;
		}
	}
	memset(fake.counts, 0, sizeof(fake.counts));
	fake.n_calls = fake.fail_at = fake.n_misuse = 0;
	fake.fail_status = fake.lost = 0;
	fake.refuse_capture = false;
	fake.misuse[0] = '\0';
	pthread_mutex_unlock(&lock);
}

static void fake_fail_at(long n, int status)
{
	fake.fail_at = fake.n_calls + n;
	fake.fail_status = status;
}

static void fake_refuse_capture(bool refuse)
{
	fake.refuse_capture = refuse;
}

static long fake_calls(void)
{
	return fake.n_calls;
}

static long fake_calls_of(const char *function)
{
	for (int i = 0; i < FAKE_MAX_FUNCTIONS && fake.counts[i].name; i++) {
		if (strcmp(fake.counts[i].name, function) == 0)
			return fake.counts[i].n;
	}
	return 0;
}

static long fake_live(void)
{
	long n = 0;
	for (const struct object *o = fake.objects; o; o = o->next)
		n += o->kind != FREED && o->kind != FUNCTION;
	return n;
}

static long fake_n_misuse(void)
{
	return fake.n_misuse;
}

static const char *fake_last_misuse(void)
{
	return fake.misuse;
}

EXPORT const struct pk_fake_cuda pk_fake_cuda = {
	.reset = fake_reset,
	.fail_at = fake_fail_at,
	.refuse_capture = fake_refuse_capture,
	.calls = fake_calls,
	.calls_of = fake_calls_of,
	.live = fake_live,
	.misuse = fake_n_misuse,
	.last_misuse = fake_last_misuse,
};
