// SPDX-License-Identifier: Apache-2.0
// What the double's driver keeps: objects, queues, counts, injected faults. Private to libcuda.c
// and state.c. One lock around everything: fake_enter takes it, fake_leave gives it back.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#define EXPORT __attribute__((visibility("default")))

#define FAKE_MAX_FUNCTIONS 64

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

struct fake_state {
	struct object *objects;
	struct {
		const char *name;
		long n;
	} counts[FAKE_MAX_FUNCTIONS];
	long n_calls, fail_at, n_misuse;
	int fail_status, lost;
	bool initialized, refuse_capture;
	char misuse[256];
	int64_t now_ns; // advances with each operation: no clock, figures stay the same
	struct object *primary;
	int n_retained;
};
extern struct fake_state fake;
extern __thread struct object *fake_current; // the thread's context

int fake_env_int(const char *name, int fallback);
int fake_misuse(const char *function, const char *what); // noted; gives INVALID_VALUE
// Counts the call; gives the status that it is to fail with, or OK.
int fake_enter(const char *function);
int fake_leave(int status);

struct object *fake_make(enum kind kind);
bool fake_is(const struct object *object, enum kind kind);
void fake_drop(struct object *object);
bool fake_in_block(const void *p, size_t n, bool device_too); // the n bytes lie in one live block

void fake_push(struct queue *queue, const struct operation *operation);
void fake_drain(struct object *stream); // all that was put into it happens now
bool fake_any_pending(void);
// Appends to the stream, or to the graph that it is being captured into.
int fake_enqueue(const char *function, struct object *stream, const struct operation *operation);
