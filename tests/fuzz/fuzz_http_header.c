// SPDX-License-Identifier: Apache-2.0
// Header lines of hostile servers, a line each.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "registry/http_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_http_response response;
	const char *at = (const char *)data;
	pk_http_response_init(&response, 1024);
	while (size > 0) {
		const char *end = memchr(at, '\n', size);
		size_t n = end ? (size_t)(end - at) + 1 : size;
		char *line = malloc(n); // of its own, so that reading past it is seen
		if (!line)
			break;
		memcpy(line, at, n);
		int rc = pk_http_response_line(&response, line, n);
		free(line);
		if (rc < 0)
			break;
		at += n;
		size -= n;
	}
	pk_http_response_settle(&response, 1800000000);
	if (response.retry_after_ns < 0 || response.retry_after_ns > 24 * 3600 * PK_NS_PER_S)
		abort();
	if (response.has_content_range && response.range_from < 0)
		abort();
	pk_http_response_finish(&response);
	return 0;
}
