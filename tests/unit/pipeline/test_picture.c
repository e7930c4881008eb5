// SPDX-License-Identifier: Apache-2.0
// Frozen, black, covered and blurred pictures are told from good ones, and what a look costs.
#include <stdio.h>

#include "base/clock.h"
#include "pipeline/picture.h"
#include "tests/unit/pipeline/cm.h"

#define W 640
#define H 360

static uint8_t pixels[H][W];
static uint32_t random_state = 1;

static int noise(int amplitude)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (int)(random_state >> 24) % (2 * amplitude + 1) - amplitude;
}

static struct pk_image image(void)
{
	return (struct pk_image){.format = PK_PIXEL_GRAY8,
		.width = W,
		.height = H,
		.planes = {&pixels[0][0]},
		.strides = {W}};
}

enum scene { GOOD, BLACK, EVEN, SMOOTH, N_SCENES };

static uint8_t clamp(int v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

// Stripes of a few pixels are what a sharp picture has and a blurred one has not.
static void draw(enum scene scene)
{
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) {
			const int levels[N_SCENES] = {
				[GOOD] = 60 + x / 6 + (x / 3 % 2) * 50,
				[BLACK] = 16,
				[EVEN] = 120,
				[SMOOTH] = 60 + x / 6 + 25,
			};
			pixels[y][x] = clamp(levels[scene] + noise(2));
		}
}

static struct pk_picture_watch watch(void)
{
	const int64_t s = PK_NS_PER_S;
	return (struct pk_picture_watch){.checks = {.frozen_ns = 5 * s,
						 .black_ns = 3 * s,
						 .covered_ns = 3 * s,
						 .blurred_ns = 4 * s}};
}

// A picture a second, drawn anew each time unless still; gives the last word.
static enum pk_picture_state look(
	struct pk_picture_watch *w, int64_t *now_ns, enum scene scene, int n, bool still)
{
	enum pk_picture_state state = w->state;
	for (int i = 0; i < n; i++) {
		if (!still || i == 0)
			draw(scene);
		struct pk_image picture = image();
		*now_ns += PK_NS_PER_S;
		state = pk_picture_look(w, &picture, *now_ns);
	}
	return state;
}

static void test_good_stays_good(void **state)
{
	struct pk_picture_watch w = watch();
	int64_t now_ns = PK_NS_PER_S;
	for (int i = 0; i < 300; i++)
		assert_int_equal(look(&w, &now_ns, GOOD, 1, false), PK_PICTURE_GOOD);
}

static void test_frozen_and_back(void **state)
{
	struct pk_picture_watch w = watch();
	int64_t now_ns = PK_NS_PER_S;
	look(&w, &now_ns, GOOD, 10, false);
	assert_int_equal(look(&w, &now_ns, GOOD, 5, true), PK_PICTURE_GOOD); // 4 s unchanged
	struct pk_image picture = image();
	now_ns += PK_NS_PER_S;
	assert_int_equal(pk_picture_look(&w, &picture, now_ns), PK_PICTURE_FROZEN);
	assert_int_equal(look(&w, &now_ns, GOOD, 1, false), PK_PICTURE_GOOD);
}

static void test_black_and_covered(void **state)
{
	struct pk_picture_watch w = watch();
	int64_t now_ns = PK_NS_PER_S;
	look(&w, &now_ns, GOOD, 10, false);
	assert_int_equal(look(&w, &now_ns, BLACK, 3, false), PK_PICTURE_GOOD);
	assert_int_equal(look(&w, &now_ns, BLACK, 1, false), PK_PICTURE_BLACK);
	assert_int_equal(look(&w, &now_ns, GOOD, 1, false), PK_PICTURE_GOOD);
	assert_int_equal(look(&w, &now_ns, EVEN, 4, false), PK_PICTURE_COVERED);
	assert_int_equal(look(&w, &now_ns, GOOD, 1, false), PK_PICTURE_GOOD);
}

static void test_blurred_against_its_own_past(void **state)
{
	struct pk_picture_watch w = watch();
	int64_t now_ns = PK_NS_PER_S;
	assert_int_equal(look(&w, &now_ns, SMOOTH, 60, false), PK_PICTURE_GOOD); // never was sharp
	w = watch();
	look(&w, &now_ns, GOOD, 60, false);
	assert_int_equal(look(&w, &now_ns, SMOOTH, 4, false), PK_PICTURE_GOOD);
	assert_int_equal(look(&w, &now_ns, SMOOTH, 1, false), PK_PICTURE_BLURRED);
	// Being blurred does not become what is usual.
	assert_int_equal(look(&w, &now_ns, SMOOTH, 3000, false), PK_PICTURE_BLURRED);
	assert_int_equal(look(&w, &now_ns, GOOD, 1, false), PK_PICTURE_GOOD);
}

static void test_zero_means_not_looked_at(void **state)
{
	struct pk_picture_watch w = {0};
	int64_t now_ns = PK_NS_PER_S;
	assert_int_equal(look(&w, &now_ns, BLACK, 100, true), PK_PICTURE_GOOD);
}

static void test_at_most_one_look_a_second(void **state)
{
	struct pk_picture_watch w = watch();
	struct pk_image picture = image();
	draw(GOOD);
	pk_picture_look(&w, &picture, PK_NS_PER_S);
	double mean = w.now.mean;
	draw(BLACK);
	pk_picture_look(&w, &picture, PK_NS_PER_S + 999 * PK_NS_PER_MS);
	assert_near(w.now.mean, mean, 0);
	pk_picture_look(&w, &picture, 2 * PK_NS_PER_S);
	assert_near(w.now.mean, 16, 1);
}

// Tiny pictures, padded rows and packed colours read nothing beyond their pixels (run under ASan).
static void test_any_size(void **state)
{
	static const int sizes[][2] = {{1, 1}, {2, 3}, {63, 35}, {64, 36}, {17, 400}, {400, 5}};
	for (size_t i = 0; i < PK_ARRAY_LEN(sizes); i++)
		for (int step = 1; step <= 3; step += 2) {
			int w = sizes[i][0], h = sizes[i][1], stride = w * step;
			uint8_t *bytes = malloc((size_t)stride * (size_t)h);
			memset(bytes, 77, (size_t)stride * (size_t)h);
			struct pk_image picture = {
				.format = step == 1 ? PK_PIXEL_GRAY8 : PK_PIXEL_RGB,
				.width = w,
				.height = h,
				.planes = {bytes},
				.strides = {stride}};
			struct pk_picture_figures figures;
			pk_picture_measure(&picture, &figures);
			assert_near(figures.mean, 77, 0.001);
			assert_near(figures.spread + figures.detail, 0, 0.001);
			free(bytes);
		}
}

static void test_causes(void **state)
{
	const struct pk_picture_checks checks = {.frozen_ns = 30 * PK_NS_PER_S};
	char cause[PK_PICTURE_CAUSE_MAX];
	pk_picture_cause(PK_PICTURE_FROZEN, &checks, cause);
	assert_string_equal(cause, "frozen: the picture has not changed for 30.0 s");
	pk_picture_cause(PK_PICTURE_GOOD, &checks, cause);
	assert_string_equal(cause, "");
}

static void test_cost(void **state)
{
	static uint8_t big[1080][1920];
	struct pk_image picture = {.format = PK_PIXEL_GRAY8,
		.width = 1920,
		.height = 1080,
		.planes = {&big[0][0]},
		.strides = {1920}};
	struct pk_picture_figures figures;
	int64_t best_ns = INT64_MAX;
	for (int i = 0; i < 50; i++) {
		int64_t start_ns = pk_now_ns();
		pk_picture_measure(&picture, &figures);
		int64_t took_ns = pk_now_ns() - start_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	printf("figure: a look at a 1080p picture costs %.1f us, once a second\n",
		(double)best_ns / 1000);
	if (!TEST_SANITIZED)
		assert_true(best_ns < PK_NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_stays_good),
		cmocka_unit_test(test_frozen_and_back),
		cmocka_unit_test(test_black_and_covered),
		cmocka_unit_test(test_blurred_against_its_own_past),
		cmocka_unit_test(test_zero_means_not_looked_at),
		cmocka_unit_test(test_at_most_one_look_a_second),
		cmocka_unit_test(test_any_size),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_cost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
