// SPDX-License-Identifier: Apache-2.0
// Scope-exit helpers for what libc owns.
#include "base/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pk_auto_free_impl(void *p)
{
	void *taken;
	memcpy(&taken, p, sizeof(taken)); // the variable may be of any pointer type
	free(taken);
}

void pk_auto_close_impl(int *fd)
{
	if (*fd < 0)
		return;
	int saved = errno;
	close(*fd);
	errno = saved;
}
