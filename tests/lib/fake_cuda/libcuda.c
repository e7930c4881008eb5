// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 of the test double: see fake_cuda.h.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_cuda/fake_cuda.h"
#include "tests/lib/fake_cuda/state.h"

#define BLOCK_ALIGN    256
#define DEVICE_MEMORY  (UINT64_C(8) << 30)
#define SHARED_OPTIN   166912
#define MULTIPROCESSOR 16

#define FUNCTION_OF(name, arguments)                                                               \
	EXPORT int name arguments;                                                                 \
	EXPORT int name arguments

FUNCTION_OF(cuInit, (unsigned flags))
{
	int r = fake_enter(__func__);
	(void)flags;
	fake.initialized |= r == OK;
	return fake_leave(
		r == OK && fake_env_int("PICKET_FAKE_CUDA_DEVICES", 1) == 0 ? NO_DEVICE : r);
}

FUNCTION_OF(cuDriverGetVersion, (int *version))
{
	int r = fake_enter(__func__);
	*version = fake_env_int("PICKET_FAKE_CUDA_DRIVER", 13000);
	return fake_leave(r);
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
	int r = fake_enter(__func__);
	*n = fake_env_int("PICKET_FAKE_CUDA_DEVICES", 1);
	return fake_leave(r);
}

FUNCTION_OF(cuDeviceGet, (int *device, int ordinal))
{
	int r = fake_enter(__func__);
	*device = ordinal;
	return fake_leave(r == OK && ordinal != 0 ? INVALID_DEVICE : r);
}

FUNCTION_OF(cuDeviceGetName, (char *name, int size, int device))
{
	int r = fake_enter(__func__);
	(void)device;
	snprintf(name, (size_t)size, "Picket test double");
	return fake_leave(r);
}

FUNCTION_OF(cuDeviceTotalMem_v2, (size_t * bytes, int device))
{
	int r = fake_enter(__func__);
	(void)device;
	*bytes = DEVICE_MEMORY;
	return fake_leave(r);
}

FUNCTION_OF(cuDeviceGetAttribute, (int *value, int attribute, int device))
{
	int r = fake_enter(__func__);
	int sm = fake_env_int("PICKET_FAKE_CUDA_SM", 87);
	const struct {
		int attribute, value;
	} rows[] = {{16, MULTIPROCESSOR}, {18, fake_env_int("PICKET_FAKE_CUDA_INTEGRATED", 0)},
		{75, sm / 10}, {76, sm % 10}, {97, SHARED_OPTIN}};
	(void)device;
	*value = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].attribute == attribute)
			*value = rows[i].value;
	}
	return fake_leave(r);
}

FUNCTION_OF(cuDevicePrimaryCtxRetain, (struct object * *context, int device))
{
	int r = fake_enter(__func__);
	(void)device;
	if (r != OK)
		return fake_leave(r);
	if (!fake.initialized)
		return fake_leave(NOT_INITIALIZED);
	if (!fake.primary)
		fake.primary = fake_make(CONTEXT);
	fake.n_retained++;
	*context = fake.primary;
	return fake_leave(OK);
}

FUNCTION_OF(cuDevicePrimaryCtxRelease_v2, (int device))
{
	int r = fake_enter(__func__);
	(void)device;
	if (fake.n_retained == 0)
		return fake_leave(fake_misuse(__func__, "not retained"));
	if (--fake.n_retained == 0) {
		fake.primary->kind = FREED;
		fake.primary = NULL;
	}
	return fake_leave(r);
}

FUNCTION_OF(cuCtxSetCurrent, (struct object * context))
{
	int r = fake_enter(__func__);
	if (r != OK)
		return fake_leave(r);
	if (context && !fake_is(context, CONTEXT))
		return fake_leave(fake_misuse(__func__, "not a context"));
	fake_current = context;
	return fake_leave(OK);
}

// A new object for a caller that needs a fake_current context.
static int create(const char *function, enum kind kind, struct object **out)
{
	int r = fake_enter(function);
	if (r == OK && !fake_current)
		r = fake_misuse(function, "no fake_current context");
	if (r == OK)
		*out = fake_make(kind);
	return r;
}

// A lost context loses its objects, but they must be given back all the same. r: of fake_enter.
static int give_back_entered(const char *function, struct object *object, enum kind kind, int r)
{
	if (!fake_is(object, kind))
		return fake_leave(fake_misuse(function, "not one of these, or given back before"));
	if (kind == STREAM && r == OK && object->queue.n > 0)
		fake_misuse(function, "work is still in it");
	if ((kind == DEVICE_BLOCK || kind == PINNED_BLOCK) && r == OK && fake_any_pending())
		fake_misuse(function, "a stream still has work");
	fake_drop(object);
	return fake_leave(r);
}

static int give_back(const char *function, struct object *object, enum kind kind)
{
	return give_back_entered(function, object, kind, fake_enter(function));
}

FUNCTION_OF(cuStreamCreate, (struct object * *stream, unsigned flags))
{
	(void)flags;
	return fake_leave(create(__func__, STREAM, stream));
}

FUNCTION_OF(cuStreamDestroy_v2, (struct object * stream))
{
	return give_back(__func__, stream, STREAM);
}

FUNCTION_OF(cuStreamSynchronize, (struct object * stream))
{
	int r = fake_enter(__func__);
	if (!fake_is(stream, STREAM))
		return fake_leave(fake_misuse(__func__, "not a stream"));
	if (stream->capture)
		return fake_leave(fake_misuse(__func__, "it is being captured"));
	if (r == OK)
		fake_drain(stream);
	else
		stream->queue.n = 0; // a failed stream does nothing more
	return fake_leave(r);
}

FUNCTION_OF(cuStreamBeginCapture_v2, (struct object * stream, int mode))
{
	int r = fake_enter(__func__);
	(void)mode;
	if (r != OK)
		return fake_leave(r);
	if (!fake_is(stream, STREAM) || stream->capture)
		return fake_leave(fake_misuse(__func__, "not a stream, or captured already"));
	if (fake.refuse_capture)
		return fake_leave(CAPTURE_UNSUPPORTED);
	stream->capture = fake_make(GRAPH);
	return fake_leave(OK);
}

FUNCTION_OF(cuStreamEndCapture, (struct object * stream, struct object **graph))
{
	int r = fake_enter(__func__);
	if (!fake_is(stream, STREAM) || !stream->capture)
		return fake_leave(fake_misuse(__func__, "not captured"));
	struct object *made = stream->capture;
	stream->capture = NULL;
	*graph = r == OK ? made : NULL;
	if (r != OK)
		fake_drop(made);
	return fake_leave(r);
}

FUNCTION_OF(cuGraphInstantiateWithFlags,
	(struct object * *exec, struct object *graph, unsigned long long flags))
{
	int r = create(__func__, GRAPH_EXEC, exec);
	(void)flags;
	if (r != OK)
		return fake_leave(r);
	for (size_t i = 0; fake_is(graph, GRAPH) && i < graph->queue.n; i++)
		fake_push(&(*exec)->queue, &graph->queue.items[i]);
	return fake_leave(fake_is(graph, GRAPH) ? OK : fake_misuse(__func__, "not a graph"));
}

FUNCTION_OF(cuGraphLaunch, (struct object * exec, struct object *stream))
{
	int r = fake_enter(__func__);
	if (r != OK)
		return fake_leave(r);
	if (!fake_is(exec, GRAPH_EXEC))
		return fake_leave(fake_misuse(__func__, "not an executable graph"));
	for (size_t i = 0; r == OK && i < exec->queue.n; i++)
		r = fake_enqueue(__func__, stream, &exec->queue.items[i]);
	return fake_leave(r);
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
	return fake_leave(create(__func__, EVENT, event));
}

FUNCTION_OF(cuEventDestroy_v2, (struct object * event))
{
	return give_back(__func__, event, EVENT);
}

FUNCTION_OF(cuEventRecord, (struct object * event, struct object *stream))
{
	int r = fake_enter(__func__);
	if (r != OK)
		return fake_leave(r);
	if (!fake_is(event, EVENT))
		return fake_leave(fake_misuse(__func__, "not an event"));
	event->pending = true;
	event->stream = stream;
	return fake_leave(fake_enqueue(
		__func__, stream, &(struct operation){.what = RECORD, .event = event}));
}

FUNCTION_OF(cuEventSynchronize, (struct object * event))
{
	int r = fake_enter(__func__);
	if (r != OK)
		return fake_leave(r);
	if (!fake_is(event, EVENT))
		return fake_leave(fake_misuse(__func__, "not an event"));
	if (event->pending && fake_is(event->stream, STREAM))
		fake_drain(event->stream);
	return fake_leave(event->pending ? fake_misuse(__func__, "would wait for ever") : OK);
}

FUNCTION_OF(cuEventElapsedTime, (float *ms, struct object *start, struct object *end))
{
	int r = fake_enter(__func__);
	if (r == OK &&
		(!fake_is(start, EVENT) || !fake_is(end, EVENT) || start->pending || end->pending))
		r = fake_misuse(__func__, "not reached");
	if (r == OK)
		*ms = (float)(end->ns - start->ns) / 1e6f;
	return fake_leave(r);
}

static int allocate(const char *function, enum kind kind, size_t bytes, struct object **out)
{
	int r = bytes > DEVICE_MEMORY ? OUT_OF_MEMORY : create(function, kind, out);
	if (bytes > DEVICE_MEMORY) {
		int injected = fake_enter(function);
		r = injected ? injected : OUT_OF_MEMORY;
	}
	if (r != OK)
		return r;
	size_t size = (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
	(*out)->memory = bytes ? aligned_alloc(BLOCK_ALIGN, size) : NULL;
	(*out)->bytes = bytes;
	if (!(*out)->memory) {
		fake_drop(*out);
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
	int r = fake_enter(function);
	return give_back_entered(function, block_at(memory, kind), kind, r);
}

FUNCTION_OF(cuMemAlloc_v2, (uint64_t * address, size_t bytes))
{
	struct object *block = NULL;
	int r = allocate(__func__, DEVICE_BLOCK, bytes, &block);
	if (r == OK)
		*address = (uint64_t)(uintptr_t)block->memory;
	return fake_leave(r);
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
	return fake_leave(r);
}

FUNCTION_OF(cuMemFreeHost, (void *memory))
{
	return free_block(__func__, memory, PINNED_BLOCK);
}

FUNCTION_OF(cuMemHostGetDevicePointer_v2, (uint64_t * address, void *memory, unsigned flags))
{
	int r = fake_enter(__func__);
	(void)flags;
	*address = (uint64_t)(uintptr_t)memory;
	return fake_leave(r == OK && !fake_in_block(memory, 1, false)
				  ? fake_misuse(__func__, "not pinned")
				  : r);
}

FUNCTION_OF(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))
{
	int r = fake_enter(__func__);
	void *target = (void *)(uintptr_t)to;
	if (r == OK && !fake_in_block(target, bytes, true))
		r = fake_misuse(__func__, "target is not allocated");
	if (r == OK)
		memcpy(target, from, bytes);
	return fake_leave(r);
}

static int copy_async(
	const char *function, void *to, const void *from, size_t bytes, struct object *stream)
{
	int r = fake_enter(function);
	if (r == OK && (!fake_in_block(to, bytes, true) || !fake_in_block(from, bytes, true)))
		r = fake_misuse(function, "outside of device and pinned memory");
	if (r == OK)
		r = fake_enqueue(function, stream,
			&(struct operation){.what = COPY, .to = to, .from = from, .bytes = bytes});
	return fake_leave(r);
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
	int r = fake_enter(__func__);
	struct operation fill = {
		.what = FILL, .to = (char *)(uintptr_t)to, .value = value, .bytes = bytes};
	if (r == OK && !fake_in_block(fill.to, bytes, true))
		r = fake_misuse(__func__, "target is not allocated");
	return fake_leave(r == OK ? fake_enqueue(__func__, stream, &fill) : r);
}

FUNCTION_OF(cuModuleLoadData, (struct object * *module, const void *image))
{
	int r = create(__func__, MODULE, module);
	if (r == OK && memcmp(image, "\177ELF", 4) != 0) {
		fake_drop(*module);
		r = INVALID_IMAGE;
	}
	return fake_leave(r);
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
	int r = fake_enter(__func__);
	if (r != OK)
		return fake_leave(r);
	if (!fake_is(module, MODULE))
		return fake_leave(fake_misuse(__func__, "not a module"));
	const struct pk_host_kernel *kernel = find_kernel(name);
	if (!kernel)
		return fake_leave(NOT_FOUND);
	*function = fake_make(FUNCTION);
	(*function)->kernel = kernel;
	(*function)->module = module;
	return fake_leave(OK);
}

FUNCTION_OF(cuLaunchKernel,
	(struct object * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		struct object *stream, void **params, void **extra))
{
	int r = fake_enter(__func__);
	if (r != OK)
		return fake_leave(r);
	if (!fake_is(function, FUNCTION) || extra)
		return fake_leave(fake_misuse(__func__, "not a function"));
	struct operation launch = {
		.what = LAUNCH,
		.kernel = function->kernel,
		.grid = {grid_x, grid_y, grid_z},
		.block = {block_x, block_y, block_z},
		.shared_bytes = shared_bytes,
		.params = params,
	};
	return fake_leave(fake_enqueue(__func__, stream, &launch));
}

FUNCTION_OF(cuLaunchHostFunc, (struct object * stream, void (*call)(void *ctx), void *ctx))
{
	int r = fake_enter(__func__);
	struct operation operation = {.what = CALL, .call = call, .ctx = ctx};
	return fake_leave(r == OK ? fake_enqueue(__func__, stream, &operation) : r);
}
