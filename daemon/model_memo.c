// SPDX-License-Identifier: Apache-2.0
// What a poll said, in the run folder; and the engine of the model before, kept ready.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "daemon/model_job.h"

#define MAX_BYTES 4096

bool pk_model_ref_is_fixed(const char *ref)
{
	struct pk_ref parsed;
	if (pk_ref_parse(ref, &parsed, NULL) < 0)
		return false;
	bool fixed = parsed.has_digest;
	pk_ref_finish(&parsed);
	return fixed;
}

static char *path_of(const struct pk_model *model)
{
	char *path = NULL;
	int n = asprintf(&path, "%s/poll-%s.json", model->env->paths->run, model->name);
	return n < 0 ? NULL : path;
}

static void read_memo(const json_t *json, struct pk_model *model)
{
	const char *ref = NULL, *etag = NULL, *digest = NULL;
	struct pk_digest parsed;
	struct pk_byte_budget budget = {0};
	if (pk_json_get_int(json, "used_bytes", &budget.used_bytes, NULL) == 0 &&
		pk_json_get_int(json, "window_end_ns", &budget.window_end_ns, NULL) == 0 &&
		budget.used_bytes >= 0 && budget.window_end_ns >= 0)
		model->budget = budget;
	if (pk_json_get_str(json, "ref", &ref, NULL) < 0 ||
		pk_json_get_str(json, "etag", &etag, NULL) < 0 ||
		pk_json_get_str(json, "digest", &digest, NULL) < 0 ||
		strcmp(ref, model->ref) != 0 || pk_digest_parse(digest, &parsed) < 0 ||
		strlen(etag) >= sizeof(model->memo.etag))
		return; // of another reference, or damaged: asked anew
	snprintf(model->memo.etag, sizeof(model->memo.etag), "%s", etag);
	snprintf(model->memo.digest, sizeof(model->memo.digest), "%s", digest);
}

void pk_model_memo_load(struct pk_model *model)
{
	pk_auto_free char *path = path_of(model);
	pk_auto_buf struct pk_buf text;
	pk_auto_json json = NULL;
	pk_buf_init(&text, MAX_BYTES);
	if (path && pk_fs_read(path, MAX_BYTES, &text, NULL) == 0 &&
		pk_json_parse(pk_buf_cstr(&text), text.len, "poll", &json, NULL) == 0)
		read_memo(json, model);
}

void pk_model_memo_write(const struct pk_model *model)
{
	pk_auto_free char *path = path_of(model);
	pk_auto_json json = json_pack("{s:s, s:s, s:s, s:I, s:I}", "ref", model->ref, "etag",
		model->memo.etag, "digest", model->memo.digest, "used_bytes",
		(json_int_t)model->budget.used_bytes, "window_end_ns",
		(json_int_t)model->budget.window_end_ns);
	pk_auto_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	struct pk_err err = {0};
	if (path && text && pk_fs_write_atomic(path, text, strlen(text), 0600, &err) < 0)
		pk_log_debug("model %s: %s", model->name, err.text);
}

void pk_model_memo_keep(struct pk_model *model, const char *etag, const char *digest)
{
	struct pk_resolved_memo *memo = &model->memo;
	if (strcmp(memo->etag, etag) == 0 && strcmp(memo->digest, digest) == 0)
		return;
	snprintf(memo->etag, sizeof(memo->etag), "%s", etag);
	snprintf(memo->digest, sizeof(memo->digest), "%s", digest);
	pk_model_memo_write(model);
}

static void on_warm(pk_unused struct pk_model *model, const struct pk_build_result *result)
{
	if (result->code < 0)
		pk_log_notice("model %s: the model before cannot be built here: %s", model->name,
			result->error ? result->error : "no reason given");
}

static void on_previous(struct pk_model *model, struct pk_model_job *job)
{
	if (job->code < 0 || strcmp(job->digest, model->update.record.previous.digest) != 0)
		return;
	pk_artifact_unref(model->previous);
	model->previous = pk_artifact_ref(job->artifact);
	pk_model_warm(model);
}

void pk_model_warm(struct pk_model *model)
{
	const char *digest = model->update.record.previous.digest;
	const struct pk_engine_file *file =
		model->previous ? &model->previous->files[PK_ENGINE_TUNED] : NULL;
	bool busy = model->apart_artifact || pk_update_pending(&model->update);
	if (!digest[0])
		return;
	if (!model->previous) { // cleaning must know which engines are its
		if (!model->warm_job)
			pk_model_job_post(
				model, PK_JOB_PREPARE, &model->warm_job, digest, on_previous);
	} else if (!busy && file->path && !pk_model_is_file(file->path) &&
		   !pk_state_broken_cause(&model->state, file->digest)) {
		pk_model_build_apart(model, model->previous, on_warm);
	}
}
