// SPDX-License-Identifier: Apache-2.0
// Topics and retained messages of the mqtt sink.
#include "base/json.h"
#include "pipeline/sinks/mqtt_topic.h"
#include "tests/unit/pipeline/cm.h"

static void test_topics(void **state)
{
	char root[PK_MQTT_TOPIC_MAX], topic[PK_MQTT_TOPIC_MAX];
	pk_mqtt_topic_root(root, "plant/a", "post-7");
	assert_string_equal(root, "plant/a/post-7");
	pk_mqtt_topic_status(topic, root);
	assert_string_equal(topic, "plant/a/post-7/status");
	pk_mqtt_topic_camera(topic, root, "belt-a", "results");
	assert_string_equal(topic, "plant/a/post-7/cameras/belt-a/results");
}

// A node may be called anything; it stays one level and no wildcard.
static void test_a_node_is_one_level(void **state)
{
	char root[PK_MQTT_TOPIC_MAX];
	pk_mqtt_topic_root(root, "picket", "a/b+c#d\x01 e");
	assert_string_equal(root, "picket/a_b_c_d_ e");
}

static void test_the_longest_names_fit(void **state)
{
	char prefix[400], node[400], camera[64], root[PK_MQTT_TOPIC_MAX], topic[PK_MQTT_TOPIC_MAX];
	memset(prefix, 'p', sizeof(prefix));
	memset(node, 'n', sizeof(node));
	memset(camera, 'c', sizeof(camera));
	prefix[399] = node[399] = camera[63] = '\0';
	pk_mqtt_topic_root(root, prefix, node);
	assert_int_equal(strlen(root), 128 + 1 + 253);
	pk_mqtt_topic_camera(topic, root, camera, "results");
	assert_string_equal(topic + strlen(topic) - 9, "c/results");
}

static json_t *parse(const struct pk_buf *text)
{
	json_t *json = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_json_parse(text->data, text->len, "message", &json, &err), 0);
	return json;
}

static const char *text_at(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static void test_status(void **state)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 4096);
	pk_mqtt_write_status(&text,
		&(struct pk_mqtt_status){
			.node = "say \"hi\"", .boot_id = "b", .session = "s", .reason = "stopped"});
	pk_auto_json json = parse(&text);
	assert_string_equal(text_at(json, "node"), "say \"hi\"");
	assert_string_equal(text_at(json, "reason"), "stopped");
	assert_true(json_is_false(json_object_get(json, "online")));
}

static void test_state(void **state)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 4096);
	struct pk_mqtt_state camera = {.camera = "gate",
		.model = "parts",
		.state = PK_CAMERA_RETRYING,
		.cause = "no frame",
		.rung = {.rung = "cpu", .runtime = "cpu", .cause = "cuda: no driver"}};
	pk_mqtt_write_state(&text, &camera, 0);
	pk_auto_json json = parse(&text);
	assert_string_equal(text_at(json, "camera"), "gate");
	assert_string_equal(text_at(json, "state"), "retrying");
	assert_string_equal(text_at(json, "cause"), "no frame");
	assert_string_equal(text_at(json, "rung"), "cpu");
	assert_string_equal(text_at(json, "rung_cause"), "cuda: no driver");
	assert_string_equal(text_at(json, "time"), "1970-01-01T00:00:00.000Z");
	assert_string_equal(text_at(json_object_get(json, "model"), "name"), "parts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topics),
		cmocka_unit_test(test_a_node_is_one_level),
		cmocka_unit_test(test_the_longest_names_fit),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
