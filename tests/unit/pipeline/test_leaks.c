// SPDX-License-Identifier: Apache-2.0
// GStreamer's own leak tracer finds nothing alive after sources of each kind have come and gone.
#include <gst/gst.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/source.h"
#include "tests/unit/pipeline/clip.h"
#include "tests/unit/pipeline/cm.h"

#define LOG_MAX (16u << 20)
// A line of the tracer; its format comes first, with %s for the type.
#define FOUND "object-alive, type-name=(string)"

static char *folder, *trace;

static void on_frame(void *ctx, struct pk_frame *frame)
{
	atomic_fetch_add((_Atomic int *)ctx, 1);
	pk_frame_unref(frame);
}

static int live(const struct pk_source_config *config, int want)
{
	_Atomic int n = 0;
	const struct pk_source_receiver receiver = {.frame = on_frame, .ctx = &n};
	struct pk_source *source = NULL;
	int r = pk_source_create(config, &receiver, 0, &source, NULL);
	int64_t until_ns = pk_now_ns() + 10 * PK_NS_PER_S;
	while (r == 0 && atomic_load(&n) < want && pk_now_ns() < until_ns)
		r = pk_source_poll(source, 5 * PK_NS_PER_MS, NULL);
	pk_source_destroy(source);
	return r < 0 ? r : atomic_load(&n);
}

static void test_kinds(void **state)
{
	char *clip = pk_fs_join(folder, "clip.mp4");
	bool encoder = test_clip(clip, 20);
	struct pk_source_config test = {.kind = PK_SOURCE_TEST,
		.pattern = (char *)"ball",
		.width = 64,
		.height = 48,
		.rate_hz = 100};
	struct pk_source_config file = {.kind = PK_SOURCE_FILE, .uri = clip};
	struct pk_source_config broken = {
		.kind = PK_SOURCE_GST, .launch = (char *)"videotestsrc ! nosuchelement"};
	struct pk_source_config rtsp = {.kind = PK_SOURCE_RTSP,
		.uri = (char *)"rtsp://127.0.0.1:1/x",
		.resync = true,
		.tcp = true};
	struct pk_source_config http = {
		.kind = PK_SOURCE_HTTP, .uri = (char *)"http://127.0.0.1:1/x", .tls_verify = true};
	struct pk_source_config images = {.kind = PK_SOURCE_IMAGES, .uri = folder, .rate_hz = 10};
	for (int i = 0; i < 3; i++) {
		assert_true(live(&test, 5) >= 5);
		if (encoder)
			assert_true(live(&file, 20) >= 20);
		assert_true(live(&broken, 1) < 0);
		assert_true(live(&rtsp, 1) < 0);
		assert_true(live(&http, 1) < 0);
		assert_true(live(&images, 1) < 0);
	}
	free(clip);
}

static void test_nothing_is_alive(void **state)
{
	gst_deinit(); // now the tracer writes what is left
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, LOG_MAX);
	assert_int_equal(pk_fs_read(trace, LOG_MAX - 1, &text, NULL), 0);
	const char *log = pk_buf_cstr(&text);
	assert_non_null(strstr(log, FOUND "%s")); // the tracer did run
	for (const char *at = strstr(log, FOUND); at; at = strstr(at + 1, FOUND))
		if (strncmp(at + strlen(FOUND), "%s", 2) != 0)
			fail_msg("%.600s", at);
}

static int begin(void **state)
{
	folder = test_folder();
	trace = pk_fs_join(folder, "trace.log");
	setenv("GST_TRACERS", "leaks", 1);
	setenv("GST_DEBUG", "GST_TRACER:7", 1);
	setenv("GST_DEBUG_FILE", trace, 1);
	setenv("GST_DEBUG_NO_COLOR", "1", 1);
	return 0;
}

static int end(void **state)
{
	free(trace);
	test_folder_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_nothing_is_alive),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
