// SPDX-License-Identifier: Apache-2.0
// JSON in and out: what parses has one canonical form, and any text becomes a valid JSON string.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_canonical(const uint8_t *data, size_t size)
{
	pk_auto_json json = NULL;
	if (pk_json_parse(data, size, "input", &json, NULL) < 0)
		return;
	pk_auto_free char *once = pk_json_canonical(json);
	pk_auto_json again = NULL;
	assert(once);
	int r = pk_json_parse(once, strlen(once), "canonical form", &again, NULL);
	assert(r == 0);
	pk_auto_free char *twice = pk_json_canonical(again);
	assert(twice && strcmp(once, twice) == 0);
}

static void check_string(const uint8_t *data, size_t size)
{
	pk_auto_free char *text = malloc(size + 1);
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 6 * size + 2);
	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	int r = pk_buf_json_string(&buf, text);
	assert(r == 0);
	pk_auto_json json = NULL;
	r = pk_json_parse(buf.data, buf.len, "string", &json, NULL);
	assert(r == 0 && json_is_string(json));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_canonical(data, size);
	check_string(data, size);
	return 0;
}
