// SPDX-License-Identifier: Apache-2.0
// Prints the importer's operator table as Markdown rows, for scripts/gen-onnx-support.
#include <stdio.h>

#include "base/buf.h"
#include "engine/onnx/import.h"

int main(void)
{
	struct pk_buf out;
	pk_buf_init(&out, 1u << 20);
	pk_onnx_list_operators(&out);
	int r = pk_buf_error(&out);
	if (r == 0)
		fputs(pk_buf_cstr(&out), stdout);
	pk_buf_finish(&out);
	return r ? 1 : 0;
}
