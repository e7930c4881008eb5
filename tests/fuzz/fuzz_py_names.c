// SPDX-License-Identifier: Apache-2.0
// Class names from ONNX metadata.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/py_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text = calloc(1, n + 1);
	struct pk_py_names names;
	struct pk_err err = {0};
	if (!text)
		return 0;
	memcpy(text, bytes, n);
	int r = pk_py_names_parse(text, &names, &err);
	assert(r == 0 || err.text[0]);
	for (size_t i = 0; i < names.n; i++)
		assert(names.items[i][0]);
	pk_py_names_finish(&names);
	free(text);
	return 0;
}
