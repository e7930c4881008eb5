// SPDX-License-Identifier: Apache-2.0
// One OCI descriptor ({mediaType, digest, size, annotations}) read from hostile JSON.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/json.h"
#include "registry/manifest.h"

// Longest media type, title or version that is accepted, in bytes.
#define PK_DESCRIPTOR_MAX_TEXT 255

// Fills *out from a JSON value; `urls` and `data` are ignored on purpose (never fetched, never
// trusted). On failure *out holds nothing. -EINVAL, -ENOTSUP (a digest that is not sha256),
// -ENOMEM.
int pk_descriptor_parse(const json_t *json, struct pk_descriptor *out, struct pk_err *err)
	pk_must_check;
void pk_descriptor_finish(struct pk_descriptor *descriptor); // zeroes it; may be called twice

// owner's annotation `key`, borrowed; NULL when it is absent. -EINVAL when the annotations are not
// an object of strings.
int pk_descriptor_annotation(
	const json_t *owner, const char *key, const char **out, struct pk_err *err) pk_must_check;

// A file name and nothing else: 1..255 bytes, no separators, no "..", no control characters.
int pk_descriptor_check_title(const char *title, struct pk_err *err) pk_must_check;

// Text for people (version, media type): 1..255 bytes without control characters. what names it.
int pk_descriptor_check_text(const char *what, const char *text, struct pk_err *err) pk_must_check;
