// SPDX-License-Identifier: Apache-2.0
// Pieces are found by name; any damaged byte of a piece is told, any of the rest is survived.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda/section.h"

static void fill(struct pk_buf *section)
{
	pk_buf_init(section, 1u << 16);
	assert_int_equal(pk_cuda_section_add(section, "pool.cu", "device code", 11), 0);
	assert_int_equal(pk_cuda_section_add(section, "#3", "{}", 2), 0);
	assert_int_equal(pk_cuda_section_add(section, "#4", "", 0), 0);
}

static int find(const void *bytes, size_t n, const char *name, struct pk_cuda_bytes *out)
{
	struct pk_err err = {0};
	struct pk_cuda_bytes section = {bytes, n};
	int r = pk_cuda_section_find(&section, name, out, &err);
	assert_true(r == 0 || err.text[0]);
	return r;
}

static void test_find(void **state)
{
	pk_auto_buf struct pk_buf section;
	struct pk_cuda_bytes piece;
	(void)state;
	fill(&section);
	assert_int_equal(find(section.data, section.len, "#3", &piece), 0);
	assert_int_equal(piece.n, 2);
	assert_memory_equal(piece.data, "{}", 2);
	assert_int_equal(find(section.data, section.len, "pool.cu", &piece), 0);
	assert_int_equal(piece.n, 11);
	assert_int_equal((uintptr_t)((const char *)piece.data - section.data) % 16, 0);
	assert_int_equal(find(section.data, section.len, "#4", &piece), 0);
	assert_int_equal(find(section.data, section.len, "#5", &piece), -EBADMSG);
	assert_int_equal(find(NULL, 0, "#3", &piece), -EBADMSG);
}

static void test_damage(void **state)
{
	pk_auto_buf struct pk_buf section;
	struct pk_cuda_bytes piece;
	(void)state;
	fill(&section);
	for (size_t n = 0; n < section.len; n++) {
		int r = find(section.data, n, "#4", &piece);
		assert_true(r == -EBADMSG || n >= section.len - 15);
	}
	for (size_t i = 0; i < section.len; i++) {
		section.data[i] ^= 0x41;
		int r = find(section.data, section.len, "pool.cu", &piece);
		bool in_piece = i < 96 + 11 && !(i >= 56 && i < 64); // not the reserved word
		bool after_name = i > 7 && i < 48;                   // unread: behind the NUL
		if (in_piece && !after_name)
			assert_int_equal(r, -EBADMSG);
		else
			assert_int_equal(r, 0);
		section.data[i] ^= 0x41;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
