// SPDX-License-Identifier: Apache-2.0
// The line of JSON, byte by byte, and that it is JSON whatever is put in.
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "pipeline/result.h"
#include "tests/unit/pipeline/cm.h"

static char *labels[] = {(char *)"gear", (char *)"nut \"M8\""};
static const struct pk_card card = {.name = (char *)"parts", .labels = labels, .n_labels = 2};

static struct pk_detection detections[] = {
	{.x1 = 10.25f, .y1 = 20.5f, .x2 = 110, .y2 = 220.125f, .score = 0.91236f, .class_idx = 1},
	{.x1 = 0, .y1 = 0, .x2 = 640, .y2 = 480, .score = 0.5f, .class_idx = 7},
};

static struct pk_frame frame = {.image = {.width = 640, .height = 480},
	.index = 42,
	.source_run = 3,
	.pts_ns = 1400000000,
	.realtime_ns = INT64_C(1700000000123000000)};

static struct pk_result full_result(void)
{
	return (struct pk_result){.camera = "belt-a",
		.frame = &frame,
		.model = "parts",
		.model_digest = "sha256:ab",
		.rung = "engine",
		.runtime = "cpu",
		.cause = "",
		.card = &card,
		.detections = detections,
		.n_detections = 2,
		.age_ns = 12345678,
		.n_dropped = 5};
}

static void test_exact_line(void **state)
{
	struct pk_buf out;
	pk_buf_init(&out, 65536);
	struct pk_result result = full_result();
	assert_int_equal(pk_result_write_json(&result, &out), 0);
	assert_string_equal(pk_buf_cstr(&out),
		"{\"schema\":1,\"camera\":\"belt-a\",\"frame\":42,\"source_run\":3,"
		"\"pts_ns\":1400000000,\"time\":\"2023-11-14T22:13:20.123Z\",\"age_ms\":12.35,"
		"\"rung\":\"engine\",\"runtime\":\"cpu\","
		"\"model\":{\"name\":\"parts\",\"digest\":\"sha256:ab\"},"
		"\"width\":640,\"height\":480,\"dropped\":5,\"detections\":["
		"{\"label\":\"nut \\\"M8\\\"\",\"class\":1,\"score\":0.9124,"
		"\"box\":[10.25,20.50,110.00,220.13],"
		"\"box_norm\":[0.01602,0.04271,0.17188,0.45859]},"
		"{\"label\":\"class 7\",\"class\":7,\"score\":0.5000,"
		"\"box\":[0.00,0.00,640.00,480.00],"
		"\"box_norm\":[0.00000,0.00000,1.00000,1.00000]}]}\n");
	pk_buf_finish(&out);
}

static void test_passthrough(void **state)
{
	struct pk_buf out;
	pk_buf_init(&out, 65536);
	struct pk_frame live = frame;
	live.pts_ns = -1;
	struct pk_result result = {.camera = "c",
		.frame = &live,
		.model = "m",
		.model_digest = "",
		.rung = "passthrough",
		.runtime = "",
		.cause = "no engine yet"};
	assert_int_equal(pk_result_write_json(&result, &out), 0);
	assert_string_equal(pk_buf_cstr(&out),
		"{\"schema\":1,\"camera\":\"c\",\"frame\":42,\"source_run\":3,\"pts_ns\":null,"
		"\"time\":\"2023-11-14T22:13:20.123Z\",\"age_ms\":0.00,\"rung\":\"passthrough\","
		"\"runtime\":\"\",\"cause\":\"no engine "
		"yet\",\"model\":{\"name\":\"m\",\"digest\":\"\"},"
		"\"width\":640,\"height\":480,\"dropped\":0,\"detections\":[]}\n");
	pk_buf_finish(&out);
}

static json_t *parsed(const struct pk_result *result)
{
	struct pk_buf out;
	pk_buf_init(&out, 1 << 20);
	assert_int_equal(pk_result_write_json(result, &out), 0);
	assert_int_equal(out.data[out.len - 1], '\n');
	assert_null(memchr(out.data, '\n', out.len - 1));
	json_t *json = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	pk_buf_finish(&out);
	assert_non_null(json);
	return json;
}

static void test_hostile_values_stay_json(void **state)
{
	struct pk_result result = full_result();
	struct pk_detection wild = {.x1 = NAN, .y1 = INFINITY, .x2 = -1e30f, .score = NAN};
	result.detections = &wild;
	result.n_detections = 1;
	result.camera = "a\n\"\\\xff\x01";
	result.cause = "multi\nline";
	result.age_ns = INT64_MIN;
	json_t *json = parsed(&result);
	json_t *d = json_array_get(json_object_get(json, "detections"), 0);
	assert_true(json_is_null(json_object_get(d, "score")));
	assert_string_equal(json_string_value(json_object_get(json, "cause")), "multi\nline");
	json_decref(json);
}

static void test_tensors(void **state)
{
	enum { LARGE = PK_RESULT_MAX_VALUES };
	float *large = calloc(LARGE, sizeof(float));
	const float small[] = {0.1f, -3, NAN};
	const struct pk_result_tensor tensors[] = {
		{.name = "a", .shape = {2, {1, 3}}, .data = small, .n = 3},
		{.name = "b", .shape = {1, {LARGE}}, .data = large, .n = LARGE},
	};
	struct pk_result result = full_result();
	result.tensors = tensors;
	result.n_tensors = 2;
	json_t *json = parsed(&result);
	json_t *list = json_object_get(json, "tensors");
	json_t *data = json_object_get(json_array_get(list, 0), "data");
	assert_int_equal(json_array_size(data), 3);
	assert_true((float)json_number_value(json_array_get(data, 0)) == 0.1f);
	assert_true(json_is_null(json_array_get(data, 2)));
	assert_true(json_is_true(json_object_get(json_array_get(list, 1), "truncated")));
	assert_null(json_object_get(json_array_get(list, 1), "data"));
	json_decref(json);
	free(large);
}

static void test_bounded(void **state)
{
	struct pk_buf out;
	pk_buf_init(&out, 100);
	struct pk_result result = full_result();
	assert_int_equal(pk_result_write_json(&result, &out), -ENOSPC);
	pk_buf_finish(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_line),
		cmocka_unit_test(test_passthrough),
		cmocka_unit_test(test_hostile_values_stay_json),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
