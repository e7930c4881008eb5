// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 of the test double: see fake_cuda.h. One lock around everything.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_cuda/fake_cuda.h"
#include "tests/lib/host_kernel.h"

enum status {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_IMAGE = 200,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_SUPPORTED = 801,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901,
};

#define EXPORT         __attribute__((visibility("default")))
#define BLOCK_ALIGN    256
#define MAX_FUNCTIONS  64
#define DEVICE_MEMORY  (UINT64_C(8) << 30)
#define SHARED_OPTIN   166912
#define MULTIPROCESSOR 16

enum kind {
	FREED,
	CONTEXT,
	STREAM,
	EVENT,
	MODULE,
	FUNCTION,
	GRAPH,
	GRAPH_EXEC,
	DEVICE_BLOCK,
	PINNED_BLOCK,
};

struct operation {
	enum { LAUNCH, COPY, FILL, CALL, RECORD } what;
	const struct pk_host_kernel *kernel;
	unsigned grid[3], block[3], shared_bytes;
	void **params;
	char *to;
	const char *from;
	size_t bytes;
	unsigned char value;
	void (*call)(void *ctx);
	void *ctx;
	struct object *event;
};

struct queue {
	struct operation *items;
	size_t n, cap;
};

// Everything that the driver hands out. Objects are never freed, only marked: a stale handle is
// told from a live one.
struct object {
	enum kind kind;
	struct object *next;
	struct queue queue;                  // STREAM, GRAPH, GRAPH_EXEC
	struct object *capture;              // STREAM: graph in the making
	bool pending;                        // EVENT: recorded, not yet reached
	struct object *stream;               // EVENT: where
	int64_t ns;                          // EVENT: when it was reached
	const struct pk_host_kernel *kernel; // FUNCTION
	struct object *module;               // FUNCTION
	char *memory;                        // blocks
	size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct object *objects;
	struct {
		const char *name;
		long n;
	} counts[MAX_FUNCTIONS];
	long n_calls, fail_at, n_misuse;
	int fail_status, lost;
	bool initialized, refuse_capture, read_environment;
	const char *fail_function;
	long fail_nth;
	char misuse[256];
	int64_t now_ns; // advances with each operation: no clock, figures stay the same
	struct object *primary;
	int n_retained;
} fake;
static __thread struct object *current;

static int env_int(const char *name, int fallback)
{
	const char *text = getenv(name);
	return text && *text ? atoi(text) : fallback;
}

static int misuse(const char *function, const char *what)
{
	fake.n_misuse++;
	snprintf(fake.misuse, sizeof(fake.misuse), "%s: %s", function, what);
	return INVALID_VALUE;
}

static void read_fail(void)
{
	static char spec[64];
	const char *text = getenv("PICKET_FAKE_CUDA_FAIL");
	fake.read_environment = true;
	if (!text || strlen(text) >= sizeof(spec))
		return;
	strcpy(spec, text);
	char *nth = strchr(spec, ':');
	char *status = nth ? strchr(nth + 1, ':') : NULL;
	if (!status)
		return;
	*nth = *status = '\0';
	fake.fail_function = spec;
	fake.fail_nth = atol(nth + 1);
	fake.fail_status = atoi(status + 1);
}

static long count(const char *function)
{
	fake.n_calls++;
	for (int i = 0; i < MAX_FUNCTIONS; i++) {
		if (!fake.counts[i].name)
			fake.counts[i].name = function;
		if (strcmp(fake.counts[i].name, function) == 0)
			return ++fake.counts[i].n;
	}
	return 0;
}

static bool loses_context(int status)
{
	return (status >= 700 && status != 701 && status < 800) || status == 214 || status == 999;
}

// Counts the call and gives the status that it is to fail with, or OK. Holds the lock until
// leave().
static int enter(const char *function)
{
	pthread_mutex_lock(&lock);
	if (!fake.read_environment)
		read_fail();
	long nth = count(function);
	bool by_name = fake.fail_function && fake.fail_nth == nth &&
		       strcmp(fake.fail_function, function) == 0;
	bool by_any = fake.fail_function && fake.fail_nth == fake.n_calls &&
		      strcmp(fake.fail_function, "*") == 0;
	if (fake.lost)
		return fake.lost;
	if (!by_name && !by_any && fake.fail_at != fake.n_calls)
		return OK;
	if (loses_context(fake.fail_status))
		fake.lost = fake.fail_status;
	return fake.fail_status;
}

static int leave(int status)
{
	pthread_mutex_unlock(&lock);
	return status;
}

static struct object *make(enum kind kind)
{
	struct object *object = calloc(1, sizeof(*object));
	if (!object)
		abort();
	object->kind = kind;
	object->next = fake.objects;
	fake.objects = object;
	return object;
}

static bool is(const struct object *object, enum kind kind)
{
	for (const struct object *o = fake.objects; o; o = o->next) {
		if (o == object)
			return o->kind == kind;
	}
	return false;
}

static void push(struct queue *queue, const struct operation *operation)
{
	if (queue->n == queue->cap) {
		queue->cap = queue->cap ? queue->cap * 2 : 16;
		queue->items = realloc(queue->items, queue->cap * sizeof(*queue->items));
		if (!queue->items)
			abort();
	}
	queue->items[queue->n++] = *operation;
}

static void drop(struct object *object)
{
	free(object->queue.items);
	free(object->memory);
	object->queue = (struct queue){0};
	object->memory = NULL;
	object->kind = FREED;
}

// The n bytes at p lie in one live block.
static bool in_block(const void *p, size_t n, bool device_too)
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
		if (!in_block(op->to, op->bytes, true) || !in_block(op->from, op->bytes, true))
			misuse("copy", "outside of what is allocated when it runs");
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
static void drain(struct object *stream)
{
	struct queue queue = stream->queue;
	stream->queue = (struct queue){0};
	for (size_t i = 0; i < queue.n; i++)
		run_operation(&queue.items[i]);
	free(queue.items);
}

static bool any_pending(void)
{
	for (const struct object *o = fake.objects; o; o = o->next) {
		if (o->kind == STREAM && o->queue.n > 0)
			return true;
	}
	return false;
}

// Appends to the stream, or to the graph that it is being captured into.
static int enqueue(const char *function, struct object *stream, const struct operation *operation)
{
	if (!current)
		return misuse(function, "no current context");
	if (!is(stream, STREAM))
		return misuse(function, "not a stream");
	push(stream->capture ? &stream->capture->queue : &stream->queue, operation);
	return OK;
}

#define FUNCTION_OF(name, arguments)                                                               \
	EXPORT int name arguments;                                                                 \
	EXPORT int name arguments

FUNCTION_OF(cuInit, (unsigned flags))
{
	int r = enter(__func__);
	(void)flags;
	fake.initialized |= r == OK;
	return leave(r == OK && env_int("PICKET_FAKE_CUDA_DEVICES", 1) == 0 ? NO_DEVICE : r);
}

FUNCTION_OF(cuDriverGetVersion, (int *version))
{
	int r = enter(__func__);
	*version = env_int("PICKET_FAKE_CUDA_DRIVER", 13000);
	return leave(r);
}

FUNCTION_OF(cuGetErrorName, (int status, const char **name))
{
	(void)status;
	*name = "CUDA_ERROR_OF_THE_TEST_DOUBLE";
	return OK;
}

FUNCTION_OF(cuGetErrorString, (int status, const char **text))
{
	return cuGetErrorName(status, text);
}

FUNCTION_OF(cuDeviceGetCount, (int *n))
{
	int r = enter(__func__);
	*n = env_int("PICKET_FAKE_CUDA_DEVICES", 1);
	return leave(r);
}

FUNCTION_OF(cuDeviceGet, (int *device, int ordinal))
{
	int r = enter(__func__);
	*device = ordinal;
	return leave(r == OK && ordinal != 0 ? INVALID_DEVICE : r);
}

FUNCTION_OF(cuDeviceGetName, (char *name, int size, int device))
{
	int r = enter(__func__);
	(void)device;
	snprintf(name, (size_t)size, "Picket test double");
	return leave(r);
}

FUNCTION_OF(cuDeviceTotalMem_v2, (size_t * bytes, int device))
{
	int r = enter(__func__);
	(void)device;
	*bytes = DEVICE_MEMORY;
	return leave(r);
}

FUNCTION_OF(cuDeviceGetAttribute, (int *value, int attribute, int device))
{
	int r = enter(__func__);
	int sm = env_int("PICKET_FAKE_CUDA_SM", 87);
	const struct {
		int attribute, value;
	} rows[] = {{16, MULTIPROCESSOR}, {18, env_int("PICKET_FAKE_CUDA_INTEGRATED", 0)},
		{75, sm / 10}, {76, sm % 10}, {97, SHARED_OPTIN}};
	(void)device;
	*value = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].attribute == attribute)
			*value = rows[i].value;
	}
	return leave(r);
}

FUNCTION_OF(cuDevicePrimaryCtxRetain, (struct object * *context, int device))
{
	int r = enter(__func__);
	(void)device;
	if (r != OK)
		return leave(r);
	if (!fake.initialized)
		return leave(NOT_INITIALIZED);
	if (!fake.primary)
		fake.primary = make(CONTEXT);
	fake.n_retained++;
	*context = fake.primary;
	return leave(OK);
}

FUNCTION_OF(cuDevicePrimaryCtxRelease_v2, (int device))
{
	int r = enter(__func__);
	(void)device;
	if (fake.n_retained == 0)
		return leave(misuse(__func__, "not retained"));
	if (--fake.n_retained == 0) {
		fake.primary->kind = FREED;
		fake.primary = NULL;
	}
	return leave(r);
}

FUNCTION_OF(cuCtxSetCurrent, (struct object * context))
{
	int r = enter(__func__);
	if (r != OK)
		return leave(r);
	if (context && !is(context, CONTEXT))
		return leave(misuse(__func__, "not a context"));
	current = context;
	return leave(OK);
}

// A new object for a caller that needs a current context.
static int create(const char *function, enum kind kind, struct object **out)
{
	int r = enter(function);
	if (r == OK && !current)
		r = misuse(function, "no current context");
	if (r == OK)
		*out = make(kind);
	return r;
}

// A lost context loses its objects, but they must be given back all the same.
static int give_back(const char *function, struct object *object, enum kind kind)
{
	int r = enter(function);
	if (!is(object, kind))
		return leave(misuse(function, "not one of these, or given back before"));
	if (kind == STREAM && r == OK && object->queue.n > 0)
		misuse(function, "work is still in it");
	if ((kind == DEVICE_BLOCK || kind == PINNED_BLOCK) && r == OK && any_pending())
		misuse(function, "a stream still has work");
	drop(object);
	return leave(r);
}

FUNCTION_OF(cuStreamCreate, (struct object * *stream, unsigned flags))
{
	(void)flags;
	return leave(create(__func__, STREAM, stream));
}

FUNCTION_OF(cuStreamDestroy_v2, (struct object * stream))
{
	return give_back(__func__, stream, STREAM);
}

FUNCTION_OF(cuStreamSynchronize, (struct object * stream))
{
	int r = enter(__func__);
	if (!is(stream, STREAM))
		return leave(misuse(__func__, "not a stream"));
	if (stream->capture)
		return leave(misuse(__func__, "it is being captured"));
	if (r == OK)
		drain(stream);
	else
		stream->queue.n = 0; // a failed stream does nothing more
	return leave(r);
}

FUNCTION_OF(cuStreamBeginCapture_v2, (struct object * stream, int mode))
{
	int r = enter(__func__);
	(void)mode;
	if (r != OK)
		return leave(r);
	if (!is(stream, STREAM) || stream->capture)
		return leave(misuse(__func__, "not a stream, or captured already"));
	if (fake.refuse_capture)
		return leave(CAPTURE_UNSUPPORTED);
	stream->capture = make(GRAPH);
	return leave(OK);
}

FUNCTION_OF(cuStreamEndCapture, (struct object * stream, struct object **graph))
{
	int r = enter(__func__);
	if (!is(stream, STREAM) || !stream->capture)
		return leave(misuse(__func__, "not captured"));
	struct object *made = stream->capture;
	stream->capture = NULL;
	*graph = r == OK ? made : NULL;
	if (r != OK)
		drop(made);
	return leave(r);
}

FUNCTION_OF(cuGraphInstantiateWithFlags,
	(struct object * *exec, struct object *graph, unsigned long long flags))
{
	int r = create(__func__, GRAPH_EXEC, exec);
	(void)flags;
	if (r != OK)
		return leave(r);
	for (size_t i = 0; is(graph, GRAPH) && i < graph->queue.n; i++)
		push(&(*exec)->queue, &graph->queue.items[i]);
	return leave(is(graph, GRAPH) ? OK : misuse(__func__, "not a graph"));
}

FUNCTION_OF(cuGraphLaunch, (struct object * exec, struct object *stream))
{
	int r = enter(__func__);
	if (r != OK)
		return leave(r);
	if (!is(exec, GRAPH_EXEC))
		return leave(misuse(__func__, "not an executable graph"));
	for (size_t i = 0; r == OK && i < exec->queue.n; i++)
		r = enqueue(__func__, stream, &exec->queue.items[i]);
	return leave(r);
}

FUNCTION_OF(cuGraphExecDestroy, (struct object * exec))
{
	return give_back(__func__, exec, GRAPH_EXEC);
}

FUNCTION_OF(cuGraphDestroy, (struct object * graph))
{
	return give_back(__func__, graph, GRAPH);
}

FUNCTION_OF(cuEventCreate, (struct object * *event, unsigned flags))
{
	(void)flags;
	return leave(create(__func__, EVENT, event));
}

FUNCTION_OF(cuEventDestroy_v2, (struct object * event))
{
	return give_back(__func__, event, EVENT);
}

FUNCTION_OF(cuEventRecord, (struct object * event, struct object *stream))
{
	int r = enter(__func__);
	if (r != OK)
		return leave(r);
	if (!is(event, EVENT))
		return leave(misuse(__func__, "not an event"));
	event->pending = true;
	event->stream = stream;
	return leave(
		enqueue(__func__, stream, &(struct operation){.what = RECORD, .event = event}));
}

FUNCTION_OF(cuEventSynchronize, (struct object * event))
{
	int r = enter(__func__);
	if (r != OK)
		return leave(r);
	if (!is(event, EVENT))
		return leave(misuse(__func__, "not an event"));
	if (event->pending && is(event->stream, STREAM))
		drain(event->stream);
	return leave(event->pending ? misuse(__func__, "would wait for ever") : OK);
}

FUNCTION_OF(cuEventElapsedTime, (float *ms, struct object *start, struct object *end))
{
	int r = enter(__func__);
	if (r == OK && (!is(start, EVENT) || !is(end, EVENT) || start->pending || end->pending))
		r = misuse(__func__, "not reached");
	if (r == OK)
		*ms = (float)(end->ns - start->ns) / 1e6f;
	return leave(r);
}

static int allocate(const char *function, enum kind kind, size_t bytes, struct object **out)
{
	int r = bytes > DEVICE_MEMORY ? OUT_OF_MEMORY : create(function, kind, out);
	if (bytes > DEVICE_MEMORY) {
		int injected = enter(function);
		r = injected ? injected : OUT_OF_MEMORY;
	}
	if (r != OK)
		return r;
	size_t size = (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
	(*out)->memory = bytes ? aligned_alloc(BLOCK_ALIGN, size) : NULL;
	(*out)->bytes = bytes;
	if (!(*out)->memory) {
		drop(*out);
		return bytes ? OUT_OF_MEMORY : INVALID_VALUE;
	}
	memset((*out)->memory, 0xa5, size); // never zero by luck
	return OK;
}

static struct object *block_at(const void *memory, enum kind kind)
{
	for (struct object *o = fake.objects; o; o = o->next) {
		if (o->kind == kind && o->memory == memory)
			return o;
	}
	return NULL;
}

static int free_block(const char *function, const void *memory, enum kind kind)
{
	pthread_mutex_lock(&lock);
	struct object *block = block_at(memory, kind);
	pthread_mutex_unlock(&lock);
	return give_back(function, block, kind);
}

FUNCTION_OF(cuMemAlloc_v2, (uint64_t * address, size_t bytes))
{
	struct object *block = NULL;
	int r = allocate(__func__, DEVICE_BLOCK, bytes, &block);
	if (r == OK)
		*address = (uint64_t)(uintptr_t)block->memory;
	return leave(r);
}

FUNCTION_OF(cuMemFree_v2, (uint64_t address))
{
	return free_block(__func__, (const void *)(uintptr_t)address, DEVICE_BLOCK);
}

FUNCTION_OF(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))
{
	struct object *block = NULL;
	int r = allocate(__func__, PINNED_BLOCK, bytes, &block);
	(void)flags;
	if (r == OK)
		*memory = block->memory;
	return leave(r);
}

FUNCTION_OF(cuMemFreeHost, (void *memory))
{
	return free_block(__func__, memory, PINNED_BLOCK);
}

FUNCTION_OF(cuMemHostGetDevicePointer_v2, (uint64_t * address, void *memory, unsigned flags))
{
	int r = enter(__func__);
	(void)flags;
	*address = (uint64_t)(uintptr_t)memory;
	return leave(r == OK && !in_block(memory, 1, false) ? misuse(__func__, "not pinned") : r);
}

FUNCTION_OF(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))
{
	int r = enter(__func__);
	void *target = (void *)(uintptr_t)to;
	if (r == OK && !in_block(target, bytes, true))
		r = misuse(__func__, "target is not allocated");
	if (r == OK)
		memcpy(target, from, bytes);
	return leave(r);
}

static int copy_async(
	const char *function, void *to, const void *from, size_t bytes, struct object *stream)
{
	int r = enter(function);
	if (r == OK && (!in_block(to, bytes, true) || !in_block(from, bytes, true)))
		r = misuse(function, "outside of device and pinned memory");
	if (r == OK)
		r = enqueue(function, stream,
			&(struct operation){.what = COPY, .to = to, .from = from, .bytes = bytes});
	return leave(r);
}

FUNCTION_OF(
	cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, struct object *stream))
{
	return copy_async(__func__, (void *)(uintptr_t)to, from, bytes, stream);
}

FUNCTION_OF(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, struct object *stream))
{
	return copy_async(__func__, to, (const void *)(uintptr_t)from, bytes, stream);
}

FUNCTION_OF(
	cuMemsetD8Async, (uint64_t to, unsigned char value, size_t bytes, struct object *stream))
{
	int r = enter(__func__);
	struct operation fill = {
		.what = FILL, .to = (char *)(uintptr_t)to, .value = value, .bytes = bytes};
	if (r == OK && !in_block(fill.to, bytes, true))
		r = misuse(__func__, "target is not allocated");
	return leave(r == OK ? enqueue(__func__, stream, &fill) : r);
}

FUNCTION_OF(cuModuleLoadData, (struct object * *module, const void *image))
{
	int r = create(__func__, MODULE, module);
	if (r == OK && memcmp(image, "\177ELF", 4) != 0) {
		drop(*module);
		r = INVALID_IMAGE;
	}
	return leave(r);
}

FUNCTION_OF(cuModuleUnload, (struct object * module))
{
	for (struct object *o = fake.objects; o; o = o->next) {
		if (o->kind == FUNCTION && o->module == module)
			o->kind = FREED;
	}
	return give_back(__func__, module, MODULE);
}

static const struct pk_host_kernel *find_kernel(const char *name)
{
	static const struct pk_host_kernel *table;
	const char *path = getenv("PICKET_FAKE_KERNELS");
	if (!table && path) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		table = library ? dlsym(library, "pk_host_kernels") : NULL;
		if (!table)
			fprintf(stderr, "PICKET_FAKE_KERNELS: %s\n", dlerror());
	}
	for (const struct pk_host_kernel *kernel = table; kernel && kernel->name; kernel++) {
		if (strcmp(kernel->name, name) == 0)
			return kernel;
	}
	return NULL;
}

FUNCTION_OF(
	cuModuleGetFunction, (struct object * *function, struct object *module, const char *name))
{
	int r = enter(__func__);
	if (r != OK)
		return leave(r);
	if (!is(module, MODULE))
		return leave(misuse(__func__, "not a module"));
	const struct pk_host_kernel *kernel = find_kernel(name);
	if (!kernel)
		return leave(NOT_FOUND);
	*function = make(FUNCTION);
	(*function)->kernel = kernel;
	(*function)->module = module;
	return leave(OK);
}

FUNCTION_OF(cuLaunchKernel,
	(struct object * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		struct object *stream, void **params, void **extra))
{
	int r = enter(__func__);
	if (r != OK)
		return leave(r);
	if (!is(function, FUNCTION) || extra)
		return leave(misuse(__func__, "not a function"));
	struct operation launch = {
		.what = LAUNCH,
		.kernel = function->kernel,
		.grid = {grid_x, grid_y, grid_z},
		.block = {block_x, block_y, block_z},
		.shared_bytes = shared_bytes,
		.params = params,
	};
	return leave(enqueue(__func__, stream, &launch));
}

FUNCTION_OF(cuLaunchHostFunc, (struct object * stream, void (*call)(void *ctx), void *ctx))
{
	int r = enter(__func__);
	struct operation operation = {.what = CALL, .call = call, .ctx = ctx};
	return leave(r == OK ? enqueue(__func__, stream, &operation) : r);
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
	fake.fail_function = NULL;
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
	for (int i = 0; i < MAX_FUNCTIONS && fake.counts[i].name; i++) {
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

static long fake_misuse(void)
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
	.misuse = fake_misuse,
	.last_misuse = fake_last_misuse,
};
