// SPDX-License-Identifier: Apache-2.0
// What the board itself says of its release, module and clocks: files of Jetson's Linux, all absent
// elsewhere.
#pragma once

#include <stddef.h>

struct pk_cuda_board {
	char release[32];    // "36.4.3" from /etc/nv_tegra_release; "" off Jetson
	char module[64];     // the device tree's model; ""
	char power_mode[16]; // nvpmodel's id; ""
	char clocks[64];     // "306000000-1020000000": the range that the GPU may run at, Hz; ""
};

// root: "" or a folder in whose place "/" stands (tests).
void pk_cuda_board_read(const char *root, struct pk_cuda_board *board);
