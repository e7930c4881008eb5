// SPDX-License-Identifier: Apache-2.0
// The program of test_chain.c as a constant: chain.cu is built a second time with it.
#pragma once

// out0 = silu(a * b + c), out1 = a * b < c; three operands of [6, 10], c one row.
#define FIXED_GROUPS 18
#define FIXED_PROGRAM                                                                              \
	{                                                                                          \
		2, 3, 2, 4, FIXED_GROUPS, 10, {6, 10},                                             \
			{                                                                          \
				{PK_CU_F32, 0, {10, 1}},                                           \
				{PK_CU_F32, 0, {10, 1}},                                           \
				{PK_CU_F32, 0, {0, 1}},                                            \
			},                                                                         \
			{{PK_CU_F32, 0, {10, 1}}, {PK_CU_BOOL, 0, {10, 1}}}, {5, 4},               \
		{                                                                                  \
			{PK_FN_MUL, 3, 0, 1, 0, {0}, 0, 0}, {PK_FN_LESS, 4, 3, 2, 0, {0}, 0, 0},   \
				{PK_FN_ADD, 5, 3, 2, 0, {0}, 0, 0},                                \
				{PK_FN_SILU, 5, 5, 0, 0, {0}, 0, 0},                               \
		}                                                                                  \
	}
