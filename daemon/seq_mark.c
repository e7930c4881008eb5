// SPDX-License-Identifier: Apache-2.0
// A record (base/record.h) of one number and whose it was.
#include "daemon/seq_mark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/record.h"
#include "daemon/update_record.h"

#define VERSION  1
#define MAX_FILE 4096

static const struct pk_seq_mark none = {.seq = -1};

static char *path_of(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s.mark", dir, name) < 0 ? NULL : path;
}

int pk_seq_mark_decode(const char *text, size_t n, struct pk_seq_mark *mark)
{
	pk_auto_json json = NULL;
	int64_t version = 0, seq = -1;
	const char *digest = NULL;
	struct pk_digest parsed;
	*mark = none;
	if (pk_json_parse(text, n, "mark", &json, NULL) < 0 ||
		pk_json_get_int(json, "v", &version, NULL) < 0 || version != VERSION ||
		pk_json_get_int(json, "seq", &seq, NULL) < 0 || seq < 0 || seq > PK_UP_MAX_SEQ ||
		pk_json_get_str(json, "digest", &digest, NULL) < 0 ||
		pk_digest_parse(digest, &parsed) < 0)
		return -EBADMSG;
	mark->seq = seq;
	pk_digest_format(&parsed, mark->digest);
	return 0;
}

int pk_seq_mark_load(
	const char *dir, const char *name, struct pk_seq_mark *mark, struct pk_err *err)
{
	pk_auto_free char *path = path_of(dir, name);
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, MAX_FILE);
	*mark = none;
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_record_load(path, &file, NULL, err);
	if (r == 0)
		r = pk_seq_mark_decode(pk_buf_cstr(&file), file.len, mark);
	if (r == 0 || r == -ENOENT || r == -ENOMEM)
		return r;
	return pk_fail(err, -EBADMSG, "%s is damaged", path);
}

int pk_seq_mark_save(
	const char *dir, const char *name, const struct pk_seq_mark *mark, struct pk_err *err)
{
	pk_auto_free char *path = path_of(dir, name);
	pk_auto_json json = json_pack("{s:i, s:I, s:s}", "v", VERSION, "seq", (json_int_t)mark->seq,
		"digest", mark->digest);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	if (!path || !text)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_record_save(NULL, path, text, strlen(text), err);
}
