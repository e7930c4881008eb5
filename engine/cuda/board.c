// SPDX-License-Identifier: Apache-2.0
// Reads release, module, power mode and clocks.
#include "engine/cuda/board.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

// The first line of root/path, at most size - 1 bytes, without what JSON texts should not hold.
static void read_line(const char *root, const char *path, char *out, size_t size)
{
	char name[512];
	snprintf(name, sizeof(name), "%s%s", root, path);
	out[0] = '\0';
	FILE *file = fopen(name, "re");
	if (!file)
		return;
	if (!fgets(out, (int)size, file))
		out[0] = '\0';
	fclose(file);
	size_t n = 0;
	while (out[n] >= ' ' && out[n] <= '~' && out[n] != '"' && out[n] != '\\')
		n++;
	out[n] = '\0';
}

// "# R36 (release), REVISION: 4.3, GCID: …" becomes "36.4.3".
static void read_release(const char *root, char *out, size_t size)
{
	char line[128];
	int major;
	char revision[16];
	read_line(root, "/etc/nv_tegra_release", line, sizeof(line));
	if (sscanf(line, "# R%d (release), REVISION: %15[0-9.]", &major, revision) == 2)
		snprintf(out, size, "%d.%s", major, revision);
}

// "pmode:0002" and what else nvpmodel has written; its last run of digits without leading zeros.
static void read_power_mode(const char *root, char *out, size_t size)
{
	char line[64];
	read_line(root, "/var/lib/nvpmodel/status", line, sizeof(line));
	const char *digits = strpbrk(line, "0123456789");
	if (!digits)
		return;
	while (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
		digits++;
	snprintf(out, size, "%.*s", (int)strspn(digits, "0123456789"), digits);
}

// The GPU's devfreq folder is named by its address, which differs from module to module.
static void read_clocks(const char *root, char *out, size_t size)
{
	static const char *const patterns[] = {"/sys/class/devfreq/*gpu*",
		"/sys/class/devfreq/*gv11b*", "/sys/class/devfreq/*ga10b*"};
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && !out[0]; i++) {
		char pattern[512], low[32], high[32], path[600];
		glob_t found;
		snprintf(pattern, sizeof(pattern), "%s%s", root, patterns[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/min_freq", found.gl_pathv[0]);
		read_line("", path, low, sizeof(low));
		snprintf(path, sizeof(path), "%s/max_freq", found.gl_pathv[0]);
		read_line("", path, high, sizeof(high));
		if (low[0] && high[0])
			snprintf(out, size, "%.20s-%.20s", low, high);
		globfree(&found);
	}
}

void pk_cuda_board_read(const char *root, struct pk_cuda_board *board)
{
	*board = (struct pk_cuda_board){0};
	read_release(root, board->release, sizeof(board->release));
	read_line(root, "/proc/device-tree/model", board->module, sizeof(board->module));
	read_power_mode(root, board->power_mode, sizeof(board->power_mode));
	read_clocks(root, board->clocks, sizeof(board->clocks));
}
