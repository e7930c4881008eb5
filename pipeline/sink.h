// SPDX-License-Identifier: Apache-2.0
// Where results go. A sink never makes inference wait: what it cannot take at once is dropped and
// counted.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "pipeline/result.h"

struct pk_sink;
struct pk_roster;

// What a sink is told of the world. All may be NULL; strings are copied, the roster is referenced.
struct pk_sink_env {
	// The sink cannot deliver (code: negative errno, once until it recovers) or does again (0).
	// On the sink's own thread.
	void (*fault)(void *ctx, const char *sink, int code, const char *cause);
	void *ctx;
	const char *node; // how the node calls itself
	struct pk_roster *roster;
};

// Implementers' side: one table per kind.
struct pk_sink_ops {
	enum pk_sink_kind kind;
	bool wants_line; // takes the result's line of JSON
	// May allocate, open and start a thread. What is not there yet (a disk, a folder) is tried
	// again later and no error.
	int (*create)(const struct pk_sink_config *config, const struct pk_sink_env *env,
		struct pk_sink **out, struct pk_err *err);
	// Never waits, never allocates. False: dropped.
	bool (*take)(
		struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n);
	void (*destroy)(struct pk_sink *sink); // delivers what it has for a moment, then gives up
};

// What became of one camera's results here, since the sink was started.
struct pk_sink_account {
	char camera[64];
	_Atomic uint64_t n_taken;   // including those that were pushed out later
	_Atomic uint64_t n_dropped; // not taken
	_Atomic uint64_t n_evicted; // taken, and dropped for newer ones before they were delivered
};
// Cameras above that share the last account.
#define PK_SINK_MAX_ACCOUNTS 256

// Embedded first in each kind's own struct.
struct pk_sink {
	const struct pk_sink_ops *ops;
	char name[64];
	struct pk_sink_env env;
	_Atomic uint64_t n_taken, n_dropped, n_evicted; // of all cameras
	_Atomic uint64_t n_readers_dropped;             // too slow
	_Atomic uint64_t n_readers;                     // now
	_Atomic uint64_t n_waiting_bytes;               // held for delivery
	// Appended to, each once and for good: read without a lock.
	_Atomic(struct pk_sink_account *) accounts[PK_SINK_MAX_ACCOUNTS];
	_Atomic size_t n_accounts;
	pthread_mutex_t lock; // appending, and the fault below
	int fault_code;       // 0: it delivers
	char fault_cause[256];
};

extern const struct pk_sink_ops pk_sink_jsonl;
extern const struct pk_sink_ops pk_sink_snapshot;
extern const struct pk_sink_ops pk_sink_mqtt;
extern const struct pk_sink_ops pk_sink_restream;

const char *pk_sink_kind_name(enum pk_sink_kind kind);

// env is copied.
int pk_sink_create(const struct pk_sink_config *config, const struct pk_sink_env *env,
	struct pk_sink **out, struct pk_err *err) pk_must_check;
void pk_sink_destroy(struct pk_sink *sink);
PK_DEFINE_AUTO(pk_sink, pk_sink_destroy);
// line: the result as JSON, needed when ops->wants_line. Inference thread. False: dropped, counted.
bool pk_sink_take(struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n);
// The camera's account, or NULL while it has none. Any thread.
struct pk_sink_account *pk_sink_find_account(struct pk_sink *sink, const char *camera);
// 0, or the code of what the sink has failed with and the cause. Any thread.
int pk_sink_health(struct pk_sink *sink, char cause[256]);

// For implementers. init fills the common part; finish frees it, the struct is the kind's own.
void pk_sink_init(struct pk_sink *sink, const struct pk_sink_ops *ops,
	const struct pk_sink_config *config, const struct pk_sink_env *env);
void pk_sink_finish(struct pk_sink *sink);
void pk_sink_fault(struct pk_sink *sink, int code, const char *cause);
// Index of the camera's account, made when it has none. Allocates once a camera.
size_t pk_sink_account(struct pk_sink *sink, const char *camera);
// A taken result of that account was pushed out by a newer one.
void pk_sink_evicted(struct pk_sink *sink, size_t account_idx);
