// SPDX-License-Identifier: Apache-2.0
// What sinks see of cameras, readers of an encoded stream, and who counts what at a sink.
#include <gst/gst.h>
#include <stdio.h>

#include "pipeline/relay.h"
#include "pipeline/roster.h"
#include "pipeline/sink.h"
#include "tests/unit/pipeline/cm.h"

static struct pk_camera_config camera_config(const char *name, const char **sinks, size_t n)
{
	return (struct pk_camera_config){
		.name = (char *)name, .model = (char *)"m", .sinks = (char **)sinks, .n_sinks = n};
}

static size_t count(struct pk_roster *roster, const char *sink, struct pk_roster_camera *last)
{
	size_t n = 0;
	for (size_t at = 0; pk_roster_next(roster, sink, &at, last); n++)
		pk_relay_unref(last->relay);
	return n;
}

static void test_a_sink_sees_its_cameras(void **state)
{
	struct pk_roster *roster = pk_roster_create();
	struct pk_relay *relay = pk_relay_create(), *other = pk_relay_create();
	const char *both[] = {"x", "y"};
	struct pk_camera_config all[] = {
		camera_config("a", both, 2), camera_config("b", both + 1, 1)};
	struct pk_roster_camera seen;
	assert_int_equal(count(roster, "x", &seen), 0);
	assert_int_equal(pk_roster_put(roster, &all[0], relay), 0);
	assert_int_equal(pk_roster_put(roster, &all[1], relay), 0);
	assert_int_equal(count(roster, "x", &seen), 1);
	assert_string_equal(seen.name, "a");
	assert_ptr_equal(seen.relay, relay);
	assert_int_equal(count(roster, "y", &seen), 2);

	uint64_t version = pk_roster_version(roster);
	pk_roster_set_state(roster, "a", PK_CAMERA_RETRYING, "no frame");
	assert_int_not_equal(pk_roster_version(roster), version);
	assert_int_equal(pk_roster_put(roster, &all[0], relay), 0); // same camera: it keeps it
	assert_int_equal(count(roster, "x", &seen), 1);
	assert_int_equal(seen.state, PK_CAMERA_RETRYING);
	assert_string_equal(seen.cause, "no frame");
	assert_int_equal(pk_roster_put(roster, &all[0], other), 0); // started anew
	assert_int_equal(count(roster, "x", &seen), 1);
	assert_int_equal(seen.state, PK_CAMERA_STARTING);

	const struct pk_config config = {.cameras = &all[1], .n_cameras = 1};
	pk_roster_prune(roster, &config);
	assert_int_equal(count(roster, "x", &seen), 0);
	assert_int_equal(count(roster, "y", &seen), 1);
	pk_roster_set_state(roster, "a", PK_CAMERA_RUNNING, ""); // a late word of one that is gone
	pk_roster_unref(roster);
	pk_relay_unref(relay);
	pk_relay_unref(other);
}

static void on_unit(void *ctx, const struct pk_relay_unit *unit)
{
	*(int *)ctx += unit->key ? 100 : 1;
}

static void test_a_relay_tells_its_readers(void **state)
{
	gst_init(NULL, NULL);
	struct pk_relay *relay = pk_relay_create();
	GstCaps *caps = gst_caps_new_empty_simple("video/x-h264");
	struct pk_relay_unit unit = {.caps = caps, .key = true};
	int one = 0, two = 0;
	struct pk_relay_reader a = {.unit = on_unit, .ctx = &one},
			       b = {.unit = on_unit, .ctx = &two};
	char media[32];
	int64_t last_ns;
	pk_relay_look(relay, media, &last_ns);
	assert_string_equal(media, "");
	assert_false(pk_relay_is_read(relay));
	pk_relay_publish(relay, &unit);
	pk_relay_subscribe(relay, &a);
	pk_relay_subscribe(relay, &b);
	assert_true(pk_relay_is_read(relay));
	pk_relay_publish(relay, &unit);
	pk_relay_unsubscribe(relay, &a);
	unit.key = false;
	pk_relay_publish(relay, &unit);
	pk_relay_unsubscribe(relay, &a); // twice does no harm
	pk_relay_unsubscribe(relay, &b);
	pk_relay_publish(relay, &unit);
	assert_int_equal(one, 100);
	assert_int_equal(two, 101);
	assert_false(pk_relay_is_read(relay));
	pk_relay_look(relay, media, &last_ns);
	assert_string_equal(media, "video/x-h264");
	assert_true(last_ns > 0);
	pk_relay_unref(relay);
	gst_caps_unref(caps);
}

static bool take(struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	return n > 0;
}

static void test_each_camera_has_its_account(void **state)
{
	static const struct pk_sink_ops ops = {.kind = PK_SINK_JSONL, .take = take};
	struct pk_sink_config config = {.name = (char *)"log"};
	struct pk_sink *sink = calloc(1, sizeof(*sink));
	char name[16], cause[256];
	struct pk_result result = {.camera = name};
	pk_sink_init(sink, &ops, &config, NULL);
	for (int i = 0; i < PK_SINK_MAX_ACCOUNTS + 10; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		assert_true(pk_sink_take(sink, &result, "x", 1));
		assert_false(pk_sink_take(sink, &result, "", 0));
	}
	struct pk_sink_account *account = pk_sink_find_account(sink, "c7");
	assert_int_equal(account->n_taken, 1);
	assert_int_equal(account->n_dropped, 1);
	pk_sink_evicted(sink, pk_sink_account(sink, "c7"));
	assert_int_equal(account->n_evicted, 1);
	assert_int_equal(sink->n_evicted, 1);
	snprintf(name, sizeof(name), "c%d", PK_SINK_MAX_ACCOUNTS - 1);
	assert_int_equal(pk_sink_find_account(sink, name)->n_taken, 11); // with all beyond it
	assert_null(pk_sink_find_account(sink, "never"));
	assert_int_equal(sink->n_taken, PK_SINK_MAX_ACCOUNTS + 10);

	assert_int_equal(pk_sink_health(sink, cause), 0);
	pk_sink_fault(sink, -5, "it broke");
	assert_int_equal(pk_sink_health(sink, cause), -5);
	assert_string_equal(cause, "it broke");
	pk_sink_finish(sink);
	free(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sink_sees_its_cameras),
		cmocka_unit_test(test_a_relay_tells_its_readers),
		cmocka_unit_test(test_each_camera_has_its_account),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
