// SPDX-License-Identifier: Apache-2.0
// References from config files and command lines.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_ref ref;
	struct pk_err err = {0};
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (pk_ref_parse(text, &ref, &err) == 0) {
		// What was accepted names a place and a content, and nothing else.
		if (!ref.location[0] || (!ref.tag && !ref.has_digest))
			abort();
		if (ref.tag && pk_ref_check_tag(ref.tag, &err) < 0)
			abort();
		// What becomes a URL holds nothing that could lead elsewhere.
		bool is_url = strcmp(ref.scheme, "registry") == 0;
		if (is_url && (strpbrk(ref.location, "@/?#% ") || strpbrk(ref.name, "@?#%: ")))
			abort();
		if (is_url && (strstr(ref.name, "..") || ref.name[0] == '/'))
			abort();
		pk_ref_finish(&ref);
	} else if (!err.text[0]) {
		abort(); // a refusal without a reason
	}
	free(text);
	return 0;
}
