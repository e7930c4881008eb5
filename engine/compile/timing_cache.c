// SPDX-License-Identifier: Apache-2.0
// The timing cache file and its table.
#include "engine/compile/timing_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"

#define MAX_FILE_BYTES (64u << 20)
#define MAX_RECORDS    100000u

struct record {
	char *op_key;
	char *tactic;
	double us;
	char *plan; // not NULL: this tactic won, and how it is made again
	char *key;  // op_key + '\n' + tactic: the table's key
	UT_hash_handle hh;
};

struct pk_timing_cache {
	char *path; // NULL: memory only
	char *device;
	struct record *records;
	bool changed;
};

static char *join_key(const char *op_key, const char *tactic)
{
	char *key = NULL;
	return asprintf(&key, "%s\n%s", op_key, tactic) < 0 ? NULL : key;
}

static void free_record(struct record *record)
{
	free(record->op_key);
	free(record->tactic);
	free(record->plan);
	free(record->key);
	free(record);
}

double pk_timing_cache_get(
	const struct pk_timing_cache *cache, const char *op_key, const char *tactic)
{
	pk_auto_free char *key = join_key(op_key, tactic);
	struct record *found = NULL;
	if (key)
		HASH_FIND_STR(cache->records, key, found);
	return found ? found->us : -1.0;
}

int pk_timing_cache_put(
	struct pk_timing_cache *cache, const char *op_key, const char *tactic, double us)
{
	pk_auto_free char *key = join_key(op_key, tactic);
	if (!key)
		return -ENOMEM;
	struct record *record = NULL;
	HASH_FIND_STR(cache->records, key, record);
	if (!record) {
		if (HASH_COUNT(cache->records) >= MAX_RECORDS)
			return -ENOSPC;
		record = calloc(1, sizeof(*record));
		if (!record)
			return -ENOMEM;
		record->op_key = strdup(op_key);
		record->tactic = strdup(tactic);
		record->key = pk_steal(key);
		if (!record->op_key || !record->tactic) {
			free_record(record);
			return -ENOMEM;
		}
		HASH_ADD_KEYPTR(hh, cache->records, record->key, strlen(record->key), record);
	}
	record->us = us;
	cache->changed = true;
	return 0;
}

static struct record *find(
	const struct pk_timing_cache *cache, const char *op_key, const char *tactic)
{
	pk_auto_free char *key = join_key(op_key, tactic);
	struct record *found = NULL;
	if (key)
		HASH_FIND_STR(cache->records, key, found);
	return found;
}

bool pk_timing_cache_winner(const struct pk_timing_cache *cache, const char *op_key,
	const char **tactic, const char **plan)
{
	const struct record *record = find(cache, op_key, "");
	const struct record *winner =
		record && record->plan ? find(cache, op_key, record->plan) : NULL;
	if (!winner || !winner->plan)
		return false;
	*tactic = winner->tactic;
	*plan = winner->plan;
	return true;
}

// A record without a tactic names the winner; the winner's own record holds the plan.
static int put_plan(
	struct pk_timing_cache *cache, const char *op_key, const char *tactic, const char *plan)
{
	struct record *record = find(cache, op_key, tactic);
	char *copy = record ? strdup(plan) : NULL;
	if (!copy)
		return -ENOMEM;
	free(record->plan);
	record->plan = copy;
	cache->changed = true;
	return 0;
}

int pk_timing_cache_put_winner(
	struct pk_timing_cache *cache, const char *op_key, const char *tactic, const char *plan)
{
	double us = pk_timing_cache_get(cache, op_key, tactic);
	int r = us < 0 ? -ENOENT : pk_timing_cache_put(cache, op_key, "", us);
	if (r == 0)
		r = put_plan(cache, op_key, tactic, plan);
	return r < 0 ? r : put_plan(cache, op_key, "", tactic);
}

static bool read_record(struct pk_timing_cache *cache, const char *line, size_t n)
{
	pk_auto_json json = NULL;
	const char *op_key = NULL, *tactic = NULL, *plan = NULL;
	double us = -1;
	if (pk_json_parse(line, n, "timing cache", &json, NULL) < 0 ||
		pk_json_get_str(json, "op", &op_key, NULL) < 0 ||
		pk_json_get_str(json, "tactic", &tactic, NULL) < 0 ||
		pk_json_get_num(json, "us", &us, NULL) < 0)
		return false;
	if (!(us >= 0 && us < 1e9) || pk_json_opt_str(json, "plan", &plan, NULL) < 0 ||
		pk_timing_cache_put(cache, op_key, tactic, us) < 0)
		return false;
	return !plan || put_plan(cache, op_key, tactic, plan) == 0;
}

static bool header_fits(const struct pk_timing_cache *cache, const char *line, size_t n)
{
	pk_auto_json json = NULL;
	int64_t version = 0;
	const char *device = NULL;
	return pk_json_parse(line, n, "timing cache", &json, NULL) == 0 &&
	       pk_json_get_int(json, "timing", &version, NULL) == 0 && version == 1 &&
	       pk_json_get_str(json, "device", &device, NULL) == 0 &&
	       strcmp(device, cache->device) == 0;
}

// Lines that do not parse are skipped: a torn tail costs its records, no more.
static void read_file(struct pk_timing_cache *cache)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_FILE_BYTES);
	if (pk_fs_read(cache->path, MAX_FILE_BYTES, &text, NULL) < 0 || text.len == 0)
		return;
	bool first = true;
	for (const char *at = text.data, *end = text.data + text.len; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);
		if (first && !header_fits(cache, at, n))
			return;
		if (!first && n > 0)
			(void)read_record(cache, at, n);
		first = false;
		at += n + 1;
	}
}

struct pk_timing_cache *pk_timing_cache_open(const char *path, const char *device)
{
	pk_auto(pk_timing_cache) cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->device = strdup(device);
	cache->path = path ? strdup(path) : NULL;
	if (!cache->device || (path && !cache->path))
		return NULL;
	if (path)
		read_file(cache);
	cache->changed = false;
	return pk_steal(cache);
}

void pk_timing_cache_close(struct pk_timing_cache *cache)
{
	if (!cache)
		return;
	struct record *record, *next;
	HASH_ITER (hh, cache->records, record, next) {
		HASH_DEL(cache->records, record);
		free_record(record);
	}
	free(cache->path);
	free(cache->device);
	free(cache);
}

static int compare_records(const struct record *a, const struct record *b)
{
	return strcmp(a->key, b->key);
}

int pk_timing_cache_save(struct pk_timing_cache *cache, struct pk_err *err)
{
	if (!cache->path || !cache->changed)
		return 0;
	HASH_SORT(cache->records, compare_records);
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, MAX_FILE_BYTES);
	pk_buf_str(&out, "{\"device\":");
	pk_buf_json_string(&out, cache->device);
	pk_buf_str(&out, ",\"timing\":1}\n");
	struct record *record, *next;
	HASH_ITER (hh, cache->records, record, next) {
		pk_buf_str(&out, "{\"op\":");
		pk_buf_json_string(&out, record->op_key);
		pk_buf_str(&out, ",\"tactic\":");
		pk_buf_json_string(&out, record->tactic);
		if (record->plan) {
			pk_buf_str(&out, ",\"plan\":");
			pk_buf_json_string(&out, record->plan);
		}
		pk_buf_printf(&out, ",\"us\":%.3f}\n", record->us);
	}
	if (pk_buf_error(&out) < 0)
		return pk_fail(err, pk_buf_error(&out), "timing cache is too large");
	int r = pk_fs_write_atomic(cache->path, out.data, out.len, 0640, err);
	if (r == 0)
		cache->changed = false;
	return r;
}

size_t pk_timing_cache_len(const struct pk_timing_cache *cache)
{
	return HASH_COUNT(cache->records);
}
