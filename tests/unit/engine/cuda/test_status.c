// SPDX-License-Identifier: Apache-2.0
// The classes of driver statuses.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda/status.h"

static void test_classes(void **state)
{
	static const struct {
		int status, error;
	} rows[] = {{0, 0}, {1, -EINVAL}, {2, -ENOMEM}, {100, -ENODEV}, {209, -ESTALE},
		{214, -ENOTRECOVERABLE}, {600, -EAGAIN}, {700, -ENOTRECOVERABLE}, {701, -ENOMEM},
		{702, -ETIME}, {719, -ENOTRECOVERABLE}, {900, -EINVAL}, {999, -ENOTRECOVERABLE},
		{123456, -EINVAL}};
	(void)state;
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_err err = {0};
		int r = pk_cuda_result(NULL, rows[i].status, "launch_kernel", &err);
		assert_int_equal(r, rows[i].error);
		if (r < 0)
			assert_memory_equal(err.text, "launch_kernel: CUDA error (", 27);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
