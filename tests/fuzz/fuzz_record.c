// SPDX-License-Identifier: Apache-2.0
// State files as a torn or hostile disk may give them: the frame, and the digests found within.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/record.h"
#include "registry/roots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frame(const uint8_t *data, size_t size)
{
	const char *content;
	size_t n;
	struct pk_digest digest;
	char head[PK_DIGEST_TEXT];
	if (pk_record_check(data, size, &content, &n) < 0)
		return;
	if (content + n != (const char *)data + size || pk_digest_bytes(content, n, &digest) < 0)
		abort();
	pk_digest_format(&digest, head);
	if (memcmp(data, head, strlen(head)) != 0)
		abort();
}

static void check_content(const void *content, size_t n)
{
	struct pk_store_roots roots = {0};
	(void)!pk_store_roots_parse(content, n, &roots);
	for (size_t i = 0; i < roots.n; i++)
		for (size_t j = 0; j < i; j++)
			if (pk_digest_equal(&roots.manifests[i], &roots.manifests[j]))
				abort();
	pk_store_roots_finish(&roots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_frame(data, size);
	check_content(data, size);
	if (size > PK_DIGEST_TEXT) // behind any frame, so that the fuzzer need not find SHA-256
		check_content(data + PK_DIGEST_TEXT, size - PK_DIGEST_TEXT);
	return 0;
}
