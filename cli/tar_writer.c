// SPDX-License-Identifier: Apache-2.0
// One header of 512 bytes a file, contents padded to the same.
#include "cli/tar_writer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define BLOCK    512
#define CHECKSUM 148

static int put_all(FILE *out, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, out) == n ? 0 : -EIO;
}

int pk_tar_put(FILE *out, const char *name, const void *bytes, size_t n)
{
	static const char zeros[BLOCK];
	char header[BLOCK] = {0};
	unsigned sum = 0;
	if (strlen(name) > 99 || n > 077777777777u)
		return -ENAMETOOLONG;
	memcpy(header, name, strlen(name));
	snprintf(header + 100, 8, "%07o", 0600u);
	snprintf(header + 108, 8, "%07o", 0u);
	snprintf(header + 116, 8, "%07o", 0u);
	snprintf(header + 124, 12, "%011llo", (unsigned long long)n);
	snprintf(header + 136, 12, "%011llo", (unsigned long long)time(NULL) & 077777777777u);
	memset(header + CHECKSUM, ' ', 8);
	header[156] = '0';
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + CHECKSUM, 7, "%06o", sum);
	int r = put_all(out, header, BLOCK);
	if (r == 0)
		r = put_all(out, bytes, n);
	return r == 0 ? put_all(out, zeros, (BLOCK - n % BLOCK) % BLOCK) : r;
}

int pk_tar_end(FILE *out)
{
	static const char zeros[2 * BLOCK];
	return put_all(out, zeros, sizeof(zeros));
}
