// SPDX-License-Identifier: Apache-2.0
// Prints the text of a GPU kernel as NVRTC gets it, or the names of all: a tool of test_nvrtc.py.
#include <stdio.h>
#include <string.h>

#include "engine/cuda/row.h"

int main(int argc, char **argv)
{
	for (const struct pk_cuda_source *s = pk_cuda_sources; s->name; s++) {
		if (argc < 2)
			printf("%s\n", s->name);
		else if (!strcmp(argv[1], s->name))
			fwrite(s->text, 1, s->n, stdout);
	}
	return 0;
}
