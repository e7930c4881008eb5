// SPDX-License-Identifier: Apache-2.0
// The highest signed sequence number of a model, in a small file of its own beside the record
// (base/record.h: DIR/NAME.mark and its previous generation): a record that is lost must not let
// older models back in.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

struct pk_seq_mark {
	int64_t seq;                 // 0 .. PK_UP_MAX_SEQ; -1: none
	char digest[PK_DIGEST_TEXT]; // of the manifest that had it
};

// -ENOENT: there is none; -EBADMSG: both generations are damaged. *mark is none then.
int pk_seq_mark_load(const char *dir, const char *name, struct pk_seq_mark *mark,
	struct pk_err *err) pk_must_check;
// Durable on return.
int pk_seq_mark_save(const char *dir, const char *name, const struct pk_seq_mark *mark,
	struct pk_err *err) pk_must_check;

// The content of the file. -EBADMSG: not one of ours. Pure.
int pk_seq_mark_decode(const char *text, size_t n, struct pk_seq_mark *mark) pk_must_check;
