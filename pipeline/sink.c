// SPDX-License-Identifier: Apache-2.0
// Sinks by kind.
#include "pipeline/sink.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/roster.h"

static const struct pk_sink_ops *const pk_sink_table[] = {
	&pk_sink_jsonl,
	&pk_sink_snapshot,
	&pk_sink_mqtt,
	&pk_sink_restream,
	NULL,
};

const char *pk_sink_kind_name(enum pk_sink_kind kind)
{
	static const char *const names[] = {[PK_SINK_JSONL] = "jsonl",
		[PK_SINK_SNAPSHOT] = "snapshot",
		[PK_SINK_MQTT] = "mqtt",
		[PK_SINK_RESTREAM] = "restream"};
	return (size_t)kind < PK_ARRAY_LEN(names) ? names[kind] : "?";
}

int pk_sink_create(const struct pk_sink_config *config, const struct pk_sink_env *env,
	struct pk_sink **out, struct pk_err *err)
{
	for (size_t i = 0; pk_sink_table[i]; i++) {
		if (pk_sink_table[i]->kind != config->kind)
			continue;
		int r = pk_sink_table[i]->create(config, env, out, err);
		if (r < 0)
			pk_err_prefix(err, "sink `%s`", config->name);
		return r;
	}
	return pk_fail(err, -EINVAL, "sink `%s`: unknown kind", config->name);
}

void pk_sink_destroy(struct pk_sink *sink)
{
	if (sink)
		sink->ops->destroy(sink);
}

static struct pk_sink_account *pk_sink_at(struct pk_sink *sink, size_t i)
{
	return atomic_load_explicit(&sink->accounts[i], memory_order_acquire);
}

static size_t pk_sink_search(struct pk_sink *sink, const char *camera, size_t from)
{
	size_t n = atomic_load_explicit(&sink->n_accounts, memory_order_acquire);
	for (size_t i = from; i < n; i++)
		if (strcmp(pk_sink_at(sink, i)->camera, camera) == 0)
			return i;
	return n;
}

struct pk_sink_account *pk_sink_find_account(struct pk_sink *sink, const char *camera)
{
	size_t n = atomic_load_explicit(&sink->n_accounts, memory_order_acquire);
	size_t i = pk_sink_search(sink, camera, 0);
	return i < n ? pk_sink_at(sink, i) : NULL;
}

// Index of the new account; the last one for everybody when there is no more room.
static size_t pk_sink_open_account(struct pk_sink *sink, const char *camera, size_t known)
{
	pthread_mutex_lock(&sink->lock);
	size_t n = atomic_load_explicit(&sink->n_accounts, memory_order_relaxed);
	size_t i = pk_sink_search(sink, camera, known);
	struct pk_sink_account *account =
		i == n && n < PK_SINK_MAX_ACCOUNTS ? calloc(1, sizeof(*account)) : NULL;
	if (account) {
		snprintf(account->camera, sizeof(account->camera), "%s", camera);
		atomic_store_explicit(&sink->accounts[n], account, memory_order_release);
		atomic_store_explicit(&sink->n_accounts, n + 1, memory_order_release);
	} else if (i == n) {
		i = n ? n - 1 : SIZE_MAX; // no memory for the very first one
	}
	pthread_mutex_unlock(&sink->lock);
	return i;
}

size_t pk_sink_account(struct pk_sink *sink, const char *camera)
{
	size_t n = atomic_load_explicit(&sink->n_accounts, memory_order_acquire);
	size_t i = pk_sink_search(sink, camera, 0);
	return i < n ? i : pk_sink_open_account(sink, camera, n);
}

static void pk_sink_count(_Atomic uint64_t *all, _Atomic uint64_t *one)
{
	atomic_fetch_add_explicit(all, 1, memory_order_relaxed);
	if (one)
		atomic_fetch_add_explicit(one, 1, memory_order_relaxed);
}

bool pk_sink_take(struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	bool taken = sink->ops->take(sink, result, line, n);
	size_t i = pk_sink_account(sink, result ? result->camera : "");
	struct pk_sink_account *account = i < PK_SINK_MAX_ACCOUNTS ? pk_sink_at(sink, i) : NULL;
	if (taken)
		pk_sink_count(&sink->n_taken, account ? &account->n_taken : NULL);
	else
		pk_sink_count(&sink->n_dropped, account ? &account->n_dropped : NULL);
	return taken;
}

void pk_sink_evicted(struct pk_sink *sink, size_t account_idx)
{
	struct pk_sink_account *account =
		account_idx < PK_SINK_MAX_ACCOUNTS ? pk_sink_at(sink, account_idx) : NULL;
	pk_sink_count(&sink->n_evicted, account ? &account->n_evicted : NULL);
}

void pk_sink_init(struct pk_sink *sink, const struct pk_sink_ops *ops,
	const struct pk_sink_config *config, const struct pk_sink_env *env)
{
	sink->ops = ops;
	snprintf(sink->name, sizeof(sink->name), "%s", config->name);
	if (env)
		sink->env = *env;
	sink->env.node = NULL; // whoever needs it has copied it
	if (sink->env.roster)
		pk_roster_ref(sink->env.roster);
	pthread_mutex_init(&sink->lock, NULL);
}

void pk_sink_finish(struct pk_sink *sink)
{
	for (size_t i = 0; i < sink->n_accounts; i++)
		free(pk_sink_at(sink, i));
	pk_roster_unref(sink->env.roster);
	pthread_mutex_destroy(&sink->lock);
}

void pk_sink_fault(struct pk_sink *sink, int code, const char *cause)
{
	pthread_mutex_lock(&sink->lock);
	sink->fault_code = code;
	snprintf(sink->fault_cause, sizeof(sink->fault_cause), "%s", cause);
	pthread_mutex_unlock(&sink->lock);
	if (sink->env.fault)
		sink->env.fault(sink->env.ctx, sink->name, code, cause);
}

int pk_sink_health(struct pk_sink *sink, char cause[256])
{
	pthread_mutex_lock(&sink->lock);
	int code = sink->fault_code;
	memcpy(cause, sink->fault_cause, sizeof(sink->fault_cause));
	pthread_mutex_unlock(&sink->lock);
	return code;
}
