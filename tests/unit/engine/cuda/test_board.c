// SPDX-License-Identifier: Apache-2.0
// A Jetson's files, their absence, and files that hold something else.
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/cuda/board.h"

static char root[64];

static void put(const char *path, const char *text)
{
	char name[512];
	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = strchr(name + strlen(root) + 1, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(name, 0700);
		*slash = '/';
	}
	FILE *file = fopen(name, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/picket-board-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void test_jetson(void **state)
{
	struct pk_cuda_board board;
	(void)state;
	put("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: x\n");
	put("/proc/device-tree/model", "NVIDIA Jetson Orin Nano \"Developer\" Kit");
	put("/var/lib/nvpmodel/status", "pmode:0002\n");
	put("/sys/class/devfreq/17000000.gpu/min_freq", "306000000\n");
	put("/sys/class/devfreq/17000000.gpu/max_freq", "1020000000\n");
	pk_cuda_board_read(root, &board);
	assert_string_equal(board.release, "36.4.3");
	assert_string_equal(board.module, "NVIDIA Jetson Orin Nano ");
	assert_string_equal(board.power_mode, "2");
	assert_string_equal(board.clocks, "306000000-1020000000");
}

static void test_elsewhere(void **state)
{
	struct pk_cuda_board board;
	(void)state;
	pk_cuda_board_read(root, &board);
	assert_string_equal(board.release, "");
	assert_string_equal(board.module, "");
	assert_string_equal(board.power_mode, "");
	assert_string_equal(board.clocks, "");
}

static void test_other_contents(void **state)
{
	struct pk_cuda_board board;
	(void)state;
	put("/etc/nv_tegra_release", "R36\n");
	put("/proc/device-tree/model", "");
	put("/var/lib/nvpmodel/status", "no digits here\n");
	put("/sys/class/devfreq/17000000.gpu/min_freq", "\n");
	pk_cuda_board_read(root, &board);
	assert_string_equal(board.release, "");
	assert_string_equal(board.power_mode, "");
	assert_string_equal(board.clocks, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_jetson, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_elsewhere, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_other_contents, make_root, remove_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
