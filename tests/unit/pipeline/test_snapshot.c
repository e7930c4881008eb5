// SPDX-License-Identifier: Apache-2.0
// Snapshots: a JPEG that decodes to the picture with boxes and text on it, rate-limited, replaced
// whole; and the canvas and font below.
#include <stdatomic.h>
#include <stdio.h>
#include <turbojpeg.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/canvas.h"
#include "pipeline/font.h"
#include "pipeline/sink.h"
#include "tests/unit/pipeline/cm.h"

struct picture {
	int width, height;
	uint8_t *rgb;
};

static bool load(const char *path, struct picture *out)
{
	struct pk_buf bytes;
	pk_buf_init(&bytes, 1 << 24);
	int subsampling, colors;
	bool ok = pk_fs_read(path, 1 << 24, &bytes, NULL) == 0;
	tjhandle jpeg = tjInitDecompress();
	ok = ok && tjDecompressHeader3(jpeg, (unsigned char *)bytes.data, bytes.len, &out->width,
			   &out->height, &subsampling, &colors) == 0;
	out->rgb = ok ? malloc((size_t)out->width * (size_t)out->height * 3) : NULL;
	ok = ok && tjDecompress2(jpeg, (unsigned char *)bytes.data, bytes.len, out->rgb, out->width,
			   0, out->height, TJPF_RGB, 0) == 0;
	tjDestroy(jpeg);
	pk_buf_finish(&bytes);
	return ok;
}

static void assert_pixel(const struct picture *p, int x, int y, int r, int g, int b, int tolerance)
{
	const uint8_t *at = p->rgb + 3 * (y * p->width + x);
	const int want[3] = {r, g, b};
	for (int i = 0; i < 3; i++)
		if (abs(at[i] - want[i]) > tolerance)
			fail_msg("pixel %d,%d is %d,%d,%d, not %d,%d,%d", x, y, at[0], at[1], at[2],
				r, g, b);
}

static struct pk_sink *make(const char *folder, int64_t interval_ns, bool detections_only)
{
	struct pk_sink_config config = {.name = (char *)"pictures",
		.kind = PK_SINK_SNAPSHOT,
		.path = (char *)folder,
		.interval_ns = interval_ns,
		.detections_only = detections_only};
	struct pk_sink *sink = NULL;
	assert_int_equal(pk_sink_create(&config, NULL, &sink, NULL), 0);
	return sink;
}

static bool take(struct pk_sink *sink, const char *camera, struct pk_frame *frame,
	struct pk_detection *detections, size_t n)
{
	static char *labels[] = {(char *)"gear"};
	static const struct pk_card card = {.labels = labels, .n_labels = 1};
	struct pk_result result = {.camera = camera,
		.frame = frame,
		.rung = "engine",
		.card = &card,
		.detections = detections,
		.n_detections = n};
	bool taken = pk_sink_take(sink, &result, NULL, 0);
	pk_frame_unref(frame);
	return taken;
}

static void test_boxes_are_drawn(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "new/belt.jpg");
	char *sub = pk_fs_join(folder, "new");
	struct pk_sink *sink = make(sub, 0, false);
	_Atomic int released = 0;
	struct pk_detection boxes[] = {{.x1 = 100, .y1 = 80, .x2 = 200, .y2 = 160, .score = 0.9f},
		{.x1 = -50, .y1 = 200, .x2 = 5000, .y2 = 230, .class_idx = 3}}; // beyond the edges
	assert_true(take(sink, "belt", test_frame(320, 240, 126, &released), boxes, 2));
	pk_sink_destroy(sink);
	assert_int_equal(released, 1);
	struct picture p;
	assert_true(load(path, &p));
	assert_int_equal(p.width, 320);
	assert_int_equal(p.height, 240);
	assert_pixel(&p, 250, 60, 128, 128, 128, 4);  // luma 126 of 16..235
	assert_pixel(&p, 150, 130, 128, 128, 128, 6); // inside the box
	struct pk_canvas_color red = pk_canvas_class_color(0);
	assert_pixel(&p, 101, 120, red.r, red.g, red.b, 60); // its edge
	assert_pixel(&p, 198, 120, red.r, red.g, red.b, 60);
	assert_pixel(&p, 319, 5, 128, 128, 128, 10); // the caption ends before the corner
	free(p.rgb);
	free(sub);
	free(path);
	test_folder_remove(folder);
}

static void test_rate_limit_per_camera(void **state)
{
	char *folder = test_folder();
	struct pk_sink *sink = make(folder, 3600 * PK_NS_PER_S, false);
	char *a = pk_fs_join(folder, "a.jpg"), *b = pk_fs_join(folder, "b.jpg");
	for (int i = 0; i < 5; i++) {
		assert_true(take(sink, "a", test_frame(32, 32, i ? 235 : 16, NULL), NULL, 0));
		assert_true(take(sink, "b", test_frame(32, 32, 235, NULL), NULL, 0));
	}
	pk_sink_destroy(sink);
	struct picture p;
	assert_true(load(a, &p));
	assert_pixel(&p, 16, 28, 0, 0, 0, 8); // the first one is what stayed
	free(p.rgb);
	assert_true(load(b, &p));
	assert_pixel(&p, 16, 28, 255, 255, 255, 8);
	free(p.rgb);
	free(a);
	free(b);
	test_folder_remove(folder);
}

static void test_detections_only_and_names(void **state)
{
	char *folder = test_folder();
	struct pk_sink *sink = make(folder, 0, true);
	struct pk_detection d = {.x1 = 1, .y1 = 1, .x2 = 9, .y2 = 9};
	assert_true(take(sink, "empty", test_frame(32, 32, 50, NULL), NULL, 0));
	assert_true(take(sink, "../a", test_frame(31, 33, 50, NULL), &d, 1));
	pk_sink_destroy(sink);
	char *none = pk_fs_join(folder, "empty.jpg"), *odd = pk_fs_join(folder, ".._a.jpg");
	assert_false(pk_fs_exists(none));
	assert_true(pk_fs_exists(odd)); // never outside of the folder
	free(none);
	free(odd);
	test_folder_remove(folder);
}

static _Atomic int last_fault, n_faults;

static void on_fault(void *ctx, const char *sink, int code, const char *cause)
{
	atomic_store(&last_fault, code);
	atomic_fetch_add(&n_faults, 1);
}

static void test_never_waits_and_reports_once(void **state)
{
	char *folder = test_folder(), *file = pk_fs_join(folder, "file");
	assert_int_equal(pk_fs_write_atomic(file, "x", 1, 0600, NULL), 0);
	struct pk_sink_config config = {.name = (char *)"p",
		.kind = PK_SINK_SNAPSHOT,
		.path = file}; // no folder, and cannot become one
	struct pk_sink_env events = {.fault = on_fault};
	struct pk_sink *sink = NULL;
	assert_int_equal(pk_sink_create(&config, &events, &sink, NULL), 0);
	struct pk_frame *large = test_frame(1920, 1080, 50, NULL);
	int64_t start_ns = pk_now_ns();
	int n_taken = 0;
	for (int i = 0; i < 100; i++)
		n_taken += take(sink, "a", pk_frame_ref(large), NULL, 0);
	assert_true(pk_now_ns() - start_ns < 200 * PK_NS_PER_MS);
	assert_true(n_taken < 100); // busy: dropped and counted
	assert_int_equal(sink->n_dropped, 100 - n_taken);
	pk_frame_unref(large);
	pk_sink_destroy(sink);
	assert_true(last_fault < 0);
	assert_int_equal(n_faults, 1);
	free(file);
	test_folder_remove(folder);
}

static void test_colors_of_all_formats(void **state)
{
	// One red pixel of BT.601 and BT.709, limited and full range, as published tables have it.
	static const struct {
		enum pk_color_matrix matrix;
		bool full;
		uint8_t y, u, v;
	} reds[] = {{PK_MATRIX_BT601, false, 81, 90, 240}, {PK_MATRIX_BT601, true, 76, 85, 255},
		{PK_MATRIX_BT709, false, 63, 102, 240}, {PK_MATRIX_BT709, true, 54, 99, 255}};
	struct pk_canvas canvas = {0};
	for (size_t i = 0; i < 4; i++) {
		uint8_t y[9], uv[8], u[4], v[4];
		memset(y, reds[i].y, sizeof(y));
		for (int k = 0; k < 4; k++) {
			uv[2 * k] = u[k] = reds[i].u;
			uv[2 * k + 1] = v[k] = reds[i].v;
		}
		struct pk_image image = {.format = PK_PIXEL_NV12,
			.width = 3,
			.height = 3,
			.planes = {y, uv},
			.strides = {3, 4},
			.matrix = reds[i].matrix,
			.full_range = reds[i].full};
		struct picture p = {.width = 3};
		for (int planar = 0; planar < 2; planar++) {
			assert_int_equal(pk_canvas_load(&canvas, &image), 0);
			p.rgb = canvas.rgb;
			assert_pixel(&p, 0, 0, 255, 0, 0, 2);
			assert_pixel(&p, 2, 2, 255, 0, 0, 2);
			image.format = PK_PIXEL_I420;
			image.planes[1] = u;
			image.planes[2] = v;
			image.strides[1] = image.strides[2] = 2;
		}
	}
	const uint8_t bgr[] = {1, 2, 3}, gray[] = {7};
	struct pk_image image = {
		.format = PK_PIXEL_BGR, .width = 1, .height = 1, .planes = {bgr}, .strides = {3}};
	assert_int_equal(pk_canvas_load(&canvas, &image), 0);
	assert_memory_equal(canvas.rgb, ((uint8_t[]){3, 2, 1}), 3);
	image.format = PK_PIXEL_RGB;
	assert_int_equal(pk_canvas_load(&canvas, &image), 0);
	assert_memory_equal(canvas.rgb, ((uint8_t[]){1, 2, 3}), 3);
	image = (struct pk_image){.format = PK_PIXEL_GRAY8,
		.width = 1,
		.height = 1,
		.planes = {gray},
		.strides = {1}};
	assert_int_equal(pk_canvas_load(&canvas, &image), 0);
	assert_memory_equal(canvas.rgb, ((uint8_t[]){7, 7, 7}), 3);
	pk_canvas_finish(&canvas);
}

static void test_drawing_is_clipped(void **state)
{
	const uint8_t gray[64 * 64] = {0};
	struct pk_image image = {.format = PK_PIXEL_GRAY8,
		.width = 64,
		.height = 64,
		.planes = {gray},
		.strides = {64}};
	struct pk_canvas canvas = {0};
	assert_int_equal(pk_canvas_load(&canvas, &image), 0);
	struct pk_canvas_color white = {255, 255, 255};
	const int boxes[][4] = {{-10, -10, 100, 100}, {60, 60, 70, 70}, {-5, -5, -1, -1},
		{30, 30, 20, 20}, {100, 100, 200, 200}, {5, 5, 6, 6}};
	for (size_t i = 0; i < 6; i++) {
		pk_canvas_frame(&canvas, boxes[i], 3, white);
		pk_canvas_label(&canvas, boxes[i][0], boxes[i][1], "~ \x7f\xc3\xa4 W", white);
	}
	assert_memory_equal(pk_font_glyph('\x7f'), pk_font_glyph('?'), PK_FONT_ROWS);
	pk_canvas_finish(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boxes_are_drawn),
		cmocka_unit_test(test_rate_limit_per_camera),
		cmocka_unit_test(test_detections_only_and_names),
		cmocka_unit_test(test_never_waits_and_reports_once),
		cmocka_unit_test(test_colors_of_all_formats),
		cmocka_unit_test(test_drawing_is_clipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
