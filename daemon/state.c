// SPDX-License-Identifier: Apache-2.0
// State file: a record (base/record.h) that holds one JSON object.
#include "daemon/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/record.h"
#include "daemon/text.h"

#define VERSION   1
#define MAX_BYTES (64u << 10)

static char *path_of(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s.json", dir, name) < 0 ? NULL : path;
}

// Digests stand in file names: nothing else may come in through this door.
static int read_digest(const json_t *json, const char *key, char out[PK_DIGEST_TEXT])
{
	const char *text = NULL;
	struct pk_digest digest;
	if (pk_json_get_str(json, key, &text, NULL) < 0 || pk_digest_parse(text, &digest) < 0)
		return -EBADMSG;
	pk_digest_format(&digest, out);
	return 0;
}

static int read_broken(const json_t *list, struct pk_state *state)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		char key[PK_DIGEST_TEXT];
		const char *cause = NULL;
		if (read_digest(item, "key", key) < 0 ||
			pk_json_get_str(item, "cause", &cause, NULL) < 0)
			return -EBADMSG;
		pk_state_remember_broken(state, key, cause);
	}
	return 0;
}

static int decode(const struct pk_buf *file, struct pk_state *state)
{
	pk_auto_json json = NULL;
	json_t *broken = NULL;
	int64_t version = 0;
	if (pk_json_parse(pk_buf_cstr(file), file->len, "state", &json, NULL) < 0)
		return -EBADMSG;
	if (pk_json_get_int(json, "v", &version, NULL) < 0 || version != VERSION)
		return -EBADMSG;
	if (json_object_get(json, "digest") && read_digest(json, "digest", state->digest) < 0)
		return -EBADMSG;
	if (pk_json_get_arr(json, "broken", &broken, NULL) < 0)
		return -EBADMSG;
	return read_broken(broken, state);
}

int pk_state_load(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
{
	*state = (struct pk_state){0};
	pk_auto_free char *path = path_of(dir, name);
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, MAX_BYTES);
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_record_load(path, &file, NULL, err);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r == 0)
		r = decode(&file, state);
	if (r == 0)
		return 0;
	*state = (struct pk_state){0};
	return pk_fail(err, -EBADMSG, "%s is damaged", path);
}

static json_t *encode(const struct pk_state *state)
{
	json_t *broken = json_array();
	for (size_t i = 0; i < state->n_broken; i++)
		json_array_append_new(broken, json_pack("{s:s, s:s}", "key", state->broken[i].key,
						      "cause", state->broken[i].cause));
	return json_pack("{s:i, s:s*, s:o}", "v", VERSION, "digest",
		state->digest[0] ? state->digest : NULL, "broken", broken);
}

int pk_state_save(
	const char *dir, const char *name, const struct pk_state *state, struct pk_err *err)
{
	pk_auto_json json = encode(state);
	pk_auto_free char *path = path_of(dir, name);
	pk_auto_free char *body = json ? pk_json_canonical(json) : NULL;
	if (!path || !body)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_record_save(NULL, path, body, strlen(body), err);
}

const char *pk_state_broken_cause(const struct pk_state *state, const char *key)
{
	for (size_t i = 0; i < state->n_broken; i++) {
		if (strcmp(state->broken[i].key, key) == 0)
			return state->broken[i].cause;
	}
	return NULL;
}

void pk_state_remember_broken(struct pk_state *state, const char *key, const char *cause)
{
	if (pk_state_broken_cause(state, key))
		return;
	if (state->n_broken == PK_STATE_MAX_BROKEN) {
		memmove(state->broken, state->broken + 1,
			(PK_STATE_MAX_BROKEN - 1) * sizeof(state->broken[0]));
		state->n_broken--;
	}
	struct pk_state_broken *entry = &state->broken[state->n_broken++];
	snprintf(entry->key, sizeof(entry->key), "%s", key);
	pk_text_format(entry->cause, sizeof(entry->cause), "%s", cause);
}
