// SPDX-License-Identifier: Apache-2.0
// Two records below state/: the bytes of before, and until when.
#include "daemon/config_trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/record.h"
#include "config/yaml.h"

// Not ".json": these are no model's.
#define BEFORE    "config.before"
#define TRIAL     "config.trial"
#define MAX_TRIAL (64u << 10)

static char *path_of(const struct pk_paths *paths, const char *name)
{
	return pk_fs_join(paths->state, name);
}

static void boot_id(char out[SD_ID128_STRING_MAX])
{
	sd_id128_t id = {0};
	if (sd_id128_get_boot(&id) < 0)
		id = (sd_id128_t){0};
	sd_id128_to_string(id, out);
}

static void remove_record(const struct pk_paths *paths, const char *name)
{
	pk_auto_free char *path = path_of(paths, name);
	pk_auto_free char *previous = NULL;
	if (!path || asprintf(&previous, "%s" PK_RECORD_PREVIOUS, path) < 0)
		previous = NULL;
	// The older generation first: it must not come back for the newer one.
	if (previous)
		(void)unlink(previous);
	if (path)
		(void)unlink(path);
}

static void remove_records(const struct pk_paths *paths)
{
	remove_record(paths, TRIAL); // without it the other means nothing
	remove_record(paths, BEFORE);
}

int pk_config_file_write(const char *path, const void *bytes, size_t n, struct pk_err *err)
{
	struct stat st;
	mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0644;
	return pk_fs_write_atomic(path, bytes, n, mode, err);
}

static int put_back(const struct pk_paths *paths, struct pk_err *err)
{
	pk_auto_free char *path = path_of(paths, BEFORE);
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, PK_YAML_MAX_BYTES + 1);
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_record_load(path, &bytes, NULL, err);
	if (r == 0)
		r = pk_config_file_write(paths->config, bytes.data, bytes.len, err);
	PK_FAULT("config/back");
	return r;
}

// The record of the trial, or NULL: none is on.
static json_t *load_trial(const struct pk_paths *paths)
{
	pk_auto_free char *path = path_of(paths, TRIAL);
	pk_auto_buf struct pk_buf text;
	json_t *json = NULL;
	pk_buf_init(&text, MAX_TRIAL);
	if (!path || pk_record_load(path, &text, NULL, NULL) < 0 ||
		pk_json_parse(pk_buf_cstr(&text), text.len, TRIAL, &json, NULL) < 0)
		return NULL;
	return json;
}

// Time left on this boot; at most 0: it is over.
static int64_t left_ns(const json_t *trial)
{
	char boot[SD_ID128_STRING_MAX];
	const char *begun = NULL;
	int64_t until_ns = 0;
	boot_id(boot);
	if (pk_json_get_str(trial, "boot", &begun, NULL) < 0 || strcmp(begun, boot) != 0 ||
		pk_json_get_int(trial, "until_ns", &until_ns, NULL) < 0)
		return 0;
	return until_ns - pk_boottime_ns();
}

bool pk_config_trial_end_overdue(const struct pk_paths *paths)
{
	struct pk_err err = {0};
	pk_auto_json trial = load_trial(paths);
	if (!trial || left_ns(trial) > 0)
		return false;
	int r = put_back(paths, &err);
	if (r < 0) {
		pk_log_err("the config before cannot be put back: %s", pk_err_text(&err, r));
		return false;
	}
	remove_records(paths);
	return true;
}

void pk_config_trial_init(struct pk_config_trial *trial, const struct pk_paths *paths,
	struct pk_loop *loop, void (*over)(void *ctx), void *ctx)
{
	*trial = (struct pk_config_trial){.paths = paths, .loop = loop, .over = over, .ctx = ctx};
	trial->timer = (struct pk_timer){.fire = over, .ctx = ctx};
	pk_auto_json json = load_trial(paths);
	if (!json)
		return;
	json_t *excused = json_object_get(json, "excused");
	trial->excused = json_is_array(excused) ? json_incref(excused) : json_array();
	int64_t left = left_ns(json);
	pk_loop_start_timer(loop, &trial->timer, left > 0 ? left : 0);
}

void pk_config_trial_finish(struct pk_config_trial *trial)
{
	pk_loop_stop_timer(&trial->timer);
	json_decref(trial->excused);
	trial->excused = NULL;
}

static int keep_before(const struct pk_paths *paths, struct pk_err *err)
{
	pk_auto_free char *path = path_of(paths, BEFORE);
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, PK_YAML_MAX_BYTES + 1);
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_fs_read(paths->config, PK_YAML_MAX_BYTES, &bytes, err);
	return r < 0 ? r : pk_record_save(NULL, path, bytes.data, bytes.len, err);
}

static int keep_trial(
	const struct pk_paths *paths, int64_t limit_ns, json_t *excused, struct pk_err *err)
{
	char boot[SD_ID128_STRING_MAX];
	boot_id(boot);
	pk_auto_free char *path = path_of(paths, TRIAL);
	pk_auto_json json = json_pack("{s:s, s:I, s:O}", "boot", boot, "until_ns",
		(json_int_t)(pk_boottime_ns() + limit_ns), "excused", excused);
	pk_auto_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	if (!path || !text)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_record_save(NULL, path, text, strlen(text), err);
}

int pk_config_trial_begin(
	struct pk_config_trial *trial, int64_t limit_ns, json_t *excused, struct pk_err *err)
{
	pk_auto_json owned = excused;
	if (trial->excused)
		return pk_fail(
			err, -EBUSY, "a config is on trial already: confirm it or revert it first");
	int r = keep_before(trial->paths, err);
	PK_FAULT("config/before");
	if (r == 0)
		r = keep_trial(trial->paths, limit_ns, owned, err);
	PK_FAULT("config/trial");
	if (r < 0) {
		remove_records(trial->paths);
		return r;
	}
	trial->excused = pk_steal(owned);
	pk_loop_start_timer(trial->loop, &trial->timer, limit_ns);
	return 0;
}

int64_t pk_config_trial_left_ns(const struct pk_config_trial *trial)
{
	return trial->excused ? pk_timer_left_ns(&trial->timer) : -1;
}

bool pk_config_trial_excuses(const struct pk_config_trial *trial, const char *camera)
{
	size_t i;
	json_t *name;
	json_array_foreach (trial->excused, i, name) {
		if (strcmp(json_string_value(name) ?: "", camera) == 0)
			return true;
	}
	return false;
}

void pk_config_trial_confirm(struct pk_config_trial *trial)
{
	remove_records(trial->paths);
	pk_config_trial_finish(trial);
}

int pk_config_trial_revert(struct pk_config_trial *trial, struct pk_err *err)
{
	if (!trial->excused)
		return pk_fail(err, -ENOENT, "no config is on trial");
	int r = put_back(trial->paths, err);
	if (r < 0)
		return r;
	pk_config_trial_confirm(trial);
	return 0;
}
