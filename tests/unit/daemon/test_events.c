// SPDX-License-Identifier: Apache-2.0
// The ring of events, what a follower gets, and the table of docs/EVENTS.md.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "daemon/events.h"
#include "tests/unit/daemon/support.h"

static char last_line[2048];

static void sink(void *ctx, enum pk_log_priority priority, const char *line)
{
	(void)ctx;
	(void)priority;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static int count_posts(void **ctx)
{
	(void)ctx;
	pk_log_set_sink(sink, NULL);
	return 0;
}

static void on_posted(void *ctx)
{
	(*(unsigned *)ctx)++;
}

static void test_post_and_read(void **ctx)
{
	(void)ctx;
	unsigned n_posted = 0;
	struct pk_events *events = pk_events_create();
	pk_events_set_listener(events, on_posted, &n_posted);
	assert_null(pk_events_next(events, 0));
	pk_events_post(events, PK_EVENT_RUNG,
		PK_FIELDS({"PICKET_MODEL", "parts"}, {"PICKET_RUNG", "engine"}, {"PICKET_X", NULL}),
		"model %s: %s", "parts", "engine");
	const json_t *event = pk_events_next(events, 0);
	assert_non_null(event);
	assert_int_equal(json_integer_value(json_object_get(event, "id")), 1);
	assert_string_equal(json_string_value(json_object_get(event, "name")), "rung");
	assert_string_equal(
		json_string_value(json_object_get(event, "message")), "model parts: engine");
	const json_t *fields = json_object_get(event, "fields");
	assert_int_equal(json_object_size(fields), 2);
	assert_string_equal(json_string_value(json_object_get(fields, "model")), "parts");
	assert_non_null(strstr(last_line, "PICKET_MODEL=parts"));
	assert_int_equal(n_posted, 1);
	assert_null(pk_events_next(events, 1));
	pk_events_destroy(events);
}

static void test_ring_keeps_the_newest(void **ctx)
{
	(void)ctx;
	struct pk_events *events = pk_events_create();
	for (int i = 1; i <= PK_EVENTS_KEPT + 250; i++)
		pk_events_post(events, PK_EVENT_STARTED, NULL, 0, "%d", i);
	int64_t after = 0;
	unsigned n = 0;
	const json_t *event;
	while ((event = pk_events_next(events, after))) {
		int64_t id = json_integer_value(json_object_get(event, "id"));
		assert_int_equal(id, n == 0 ? 251 : after + 1);
		assert_int_equal(
			strtol(json_string_value(json_object_get(event, "message")), NULL, 10), id);
		after = id;
		n++;
	}
	assert_int_equal(n, PK_EVENTS_KEPT);
	assert_int_equal(pk_events_last_id(events), after);
	assert_null(pk_events_next(events, INT64_MAX));
	assert_non_null(pk_events_next(events, -5));
	pk_events_destroy(events);
}

static void test_bytes_that_are_no_text(void **ctx)
{
	(void)ctx;
	struct pk_events *events = pk_events_create();
	pk_events_post(events, PK_EVENT_STARTED, PK_FIELDS({"PICKET_CAUSE", "\xff"}), "x\xfey");
	const json_t *event = pk_events_next(events, 0);
	assert_string_equal(json_string_value(json_object_get(event, "message")), "x?y");
	pk_events_destroy(events);
}

static void test_ids_are_well_formed_and_unique(void **ctx)
{
	(void)ctx;
	for (int i = 0; i < PK_N_EVENTS; i++) {
		const struct pk_event_info *info = pk_event_info((enum pk_event_type)i);
		assert_int_equal(strspn(info->message_id, "0123456789abcdef"), 32);
		assert_int_equal(strlen(info->message_id), 32);
		for (int k = 0; k < i; k++) {
			const struct pk_event_info *other = pk_event_info((enum pk_event_type)k);
			assert_string_not_equal(info->message_id, other->message_id);
			assert_string_not_equal(info->name, other->name);
		}
	}
}

static void test_secrets_stay_out_of_the_ring(void **ctx)
{
	(void)ctx;
	struct pk_events *events = pk_events_create();
	pk_log_redact("s3cr3t&word");
	pk_events_post(events, PK_EVENT_CAMERA,
		PK_FIELDS({"PICKET_CAMERA", "gate"}, {"PICKET_CAUSE", "s3cr3t%26word refused"}),
		"camera gate: s3cr3t&word");
	const json_t *event = pk_events_next(events, 0);
	assert_string_equal(
		json_string_value(json_object_get(event, "message")), "camera gate: ***");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(event, "fields"), "cause")),
		"*** refused");
	pk_events_destroy(events);
}

// A camera that flaps must neither fill the journal nor push everything else out of the ring.
static void test_repeated_events_are_held_back_and_counted(void **ctx)
{
	(void)ctx;
	struct pk_events *events = pk_events_create();
	pk_events_set_burst(events, 3);
	for (int i = 0; i < 10; i++)
		pk_events_post(
			events, PK_EVENT_CAMERA, PK_FIELDS({"PICKET_CAMERA", "gate"}), "flap");
	assert_int_equal(pk_events_last_id(events), 3);
	pk_events_post(events, PK_EVENT_CAMERA, PK_FIELDS({"PICKET_CAMERA", "door"}), "another");
	assert_int_equal(pk_events_last_id(events), 4);
	for (int i = 0; i < 10; i++)
		pk_events_post(events, PK_EVENT_ALARM, PK_FIELDS({"PICKET_MODEL", "a"}), "alarm");
	assert_int_equal(pk_events_last_id(events), 14); // alerts always pass
	pk_auto_json counts = pk_events_counts(events);
	assert_int_equal(json_array_size(counts), 2);
	size_t i;
	json_t *row;
	json_array_foreach (counts, i, row) {
		bool camera =
			strcmp(json_string_value(json_object_get(row, "name")), "camera") == 0;
		assert_int_equal(
			json_integer_value(json_object_get(row, "count")), camera ? 11 : 10);
	}
	pk_events_destroy(events);
}

static const char *docs_folder;

// Prints the row that is missing, ready to be pasted.
static void test_docs_have_every_event(void **ctx)
{
	(void)ctx;
	static const char *const words[] = {
		"", "alert", "", "error", "warning", "notice", "info", "debug"};
	char *docs = read_text(docs_folder, "EVENTS.md");
	unsigned n_missing = 0;
	for (int i = 0; i < PK_N_EVENTS; i++) {
		const struct pk_event_info *info = pk_event_info((enum pk_event_type)i);
		char row[1024];
		snprintf(row, sizeof(row), "| `%s` | `%s` | %s | %s |\n", info->name,
			info->message_id, words[info->priority], info->help);
		if (strstr(docs, row))
			continue;
		print_message("%s", row);
		n_missing++;
	}
	free(docs);
	assert_int_equal(n_missing, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_post_and_read),
		cmocka_unit_test(test_ring_keeps_the_newest),
		cmocka_unit_test(test_bytes_that_are_no_text),
		cmocka_unit_test(test_ids_are_well_formed_and_unique),
		cmocka_unit_test(test_secrets_stay_out_of_the_ring),
		cmocka_unit_test(test_repeated_events_are_held_back_and_counted),
		cmocka_unit_test(test_docs_have_every_event),
	};
	if (argc < 2)
		return 1;
	docs_folder = argv[1];
	return cmocka_run_group_tests(tests, count_posts, NULL);
}
