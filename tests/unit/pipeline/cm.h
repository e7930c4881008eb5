// SPDX-License-Identifier: Apache-2.0
// cmocka with the headers that it wants before it, and what the tests of this folder share.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/frame.h"

// Instrumented code is several times slower: figures of speed say nothing there, counts still do.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

#define assert_near(a, b, eps)                                                                     \
	assert_true((double)(a) - (double)(b) <= (eps) && (double)(b) - (double)(a) <= (eps))

// A frame on the heap with an I420 picture of one grey; counts releases when `released` is set.
struct pk_frame *test_frame(int width, int height, uint8_t luma, _Atomic int *released);
// A fresh empty folder below the build's temporary place; malloc'ed. Removed by test_folder_remove.
char *test_folder(void);
void test_folder_remove(char *folder);
// Milliseconds of sleep.
void test_sleep(int ms);
