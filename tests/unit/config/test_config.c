// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "config/config_table.h"
#include "tests/unit/config/cm.h"

#define SECOND INT64_C(1000000000)

static const char example[] =
	"node: {name: conveyor-1}\n"
	"telemetry: {interval: 45s}\n"
	"runtime: {chain: [cuda, cpu], threads: 3}\n"
	"build: {time_limit: 20m, memory: 1GiB, nice: 5, opt_level: 0, retry_min: 2m, "
	"retry_max: 3h}\n"
	"store: {quota: 4GiB, reserve: 100MiB}\n"
	"registries:\n"
	"  reg.example:5000: {ca: keys/ca.pem, user: u, password_file: 'credential:pw',\n"
	"    mirrors: [cache:5000, m2], token_hosts: [auth.example]}\n"
	"models:\n"
	"  parts:\n"
	"    artifact: oci:../registry:stable\n"
	"    chain: [cpu]\n"
	"    cpu_ok: false\n"
	"    conf: 0.4\n"
	"  other: {artifact: 'oci:/srv/reg:v1'}\n"
	"cameras:\n"
	"  belt-a:\n"
	"    source: {kind: file, uri: belt-a.mp4, loop: true, paced: false}\n"
	"    model: parts\n"
	"    sinks: [results, shots]\n"
	"    max_rate: 15/s\n"
	"    priority: 60\n"
	"    first_frame: 11s\n"
	"    stall: 6s\n"
	"  gate: {source: {kind: rtsp, uri: 'rtsps://u:p@h/1', tcp: false, latency: 50ms}, model: "
	"other}\n"
	"  ball: {source: {kind: test, width: 320, height: 240, rate: 7.5fps}, model: other}\n"
	"  own: {source: {kind: gst, launch: 'videotestsrc ! video/x-raw'}, model: other}\n"
	"  usb: {source: {kind: v4l2, device: /dev/video0, format: mjpeg, width: 1280, height: 720,"
	" controls: [exposure_auto=1, gain=-3]}, model: other, retry_max: 10s,"
	" checks: {frozen: 0, restart: false}}\n"
	"  board: {source: {kind: csi, sensor_id: 1}, model: other}\n"
	"  web: {source: {kind: http, uri: 'https://h/1', user: u, password_file: pw, tls_ca: "
	"ca.pem,"
	" tls_verify: false}, model: other}\n"
	"  stills: {source: {kind: images, uri: 'pics/*.jpg', rate: 2/s, loop: true}, model: "
	"other}\n"
	"sinks:\n"
	"  results: {kind: jsonl, path: results.jsonl, rotate: 1MiB}\n"
	"  shots: {kind: snapshot, path: /var/shots, interval: 5s, detections_only: true}\n"
	"  out: {kind: jsonl, path: '-'}\n"
	"  sock: {kind: jsonl, path: 'unix:r.sock'}\n"
	"x-remark: [anything, {goes: here}]\n";

static struct pk_config *parse_ok(const char *text)
{
	struct pk_problems problems = {0};
	struct pk_config *config = NULL;
	int rc = pk_config_parse(text, strlen(text), "t.yaml", "/etc/picket", &config, &problems);

	if (rc < 0)
		pk_problems_print(&problems, stderr);
	assert_int_equal(rc, 0);
	assert_int_equal(problems.n, 0);
	pk_problems_finish(&problems);
	return config;
}

static void test_every_value(void **state)
{
	struct pk_config *c = parse_ok(example);

	assert_string_equal(c->node_name, "conveyor-1");
	assert_int_equal(c->telemetry.interval_ns, 45 * SECOND);
	assert_int_equal(c->runtime.n_chain, 2);
	assert_string_equal(c->runtime.chain[0], "cuda");
	assert_int_equal(c->runtime.threads, 3);
	assert_int_equal(c->build.time_limit_ns, 1200 * SECOND);
	assert_int_equal(c->build.memory_bytes, 1 << 30);
	assert_int_equal(c->build.nice, 5);
	assert_int_equal(c->build.opt_level, 0);
	assert_int_equal(c->build.retry_min_ns, 120 * SECOND);
	assert_int_equal(c->build.retry_max_ns, 10800 * SECOND);
	assert_int_equal(c->store.quota_bytes, INT64_C(4) << 30);
	assert_int_equal(c->store.reserve_bytes, INT64_C(100) << 20);

	assert_int_equal(c->n_registries, 1);
	assert_string_equal(c->registries[0].host, "reg.example:5000");
	assert_string_equal(c->registries[0].ca, "/etc/picket/keys/ca.pem");
	assert_string_equal(c->registries[0].password_file, "credential:pw");
	assert_string_equal(c->registries[0].mirrors[1], "m2");
	assert_int_equal(c->registries[0].n_token_hosts, 1);
	assert_string_equal(c->registries[0].auth, "");

	const struct pk_model_config *m = pk_config_model(c, "parts");
	assert_string_equal(m->artifact, "oci:/etc/picket/../registry:stable");
	assert_int_equal(m->n_chain, 1);
	assert_false(m->cpu_ok);
	assert_true(m->conf == 0.4);

	const struct pk_camera_config *a = pk_config_camera(c, "belt-a");
	assert_int_equal(a->source.kind, PK_SOURCE_FILE);
	assert_string_equal(a->source.uri, "/etc/picket/belt-a.mp4");
	assert_true(a->source.loop && !a->source.paced);
	assert_string_equal(a->model, "parts");
	assert_int_equal(a->n_sinks, 2);
	assert_string_equal(a->sinks[1], "shots");
	assert_true(a->max_rate_hz == 15);
	assert_int_equal(a->priority, 60);
	assert_int_equal(a->first_frame_ns, 11 * SECOND);
	assert_int_equal(a->stall_ns, 6 * SECOND);

	const struct pk_camera_config *g = pk_config_camera(c, "gate");
	assert_string_equal(g->source.uri, "rtsps://u:p@h/1");
	assert_false(g->source.tcp);
	assert_int_equal(g->source.latency_ns, SECOND / 20);
	const struct pk_camera_config *b = pk_config_camera(c, "ball");
	assert_true(b->source.width == 320 && b->source.height == 240 && b->source.rate_hz == 7.5);
	assert_string_equal(
		pk_config_camera(c, "own")->source.launch, "videotestsrc ! video/x-raw");
	const struct pk_camera_config *usb = pk_config_camera(c, "usb");
	assert_string_equal(usb->source.device, "/dev/video0");
	assert_int_equal(usb->source.format, PK_V4L2_MJPEG);
	assert_int_equal(usb->source.n_controls, 2);
	assert_string_equal(usb->source.controls[1], "gain=-3");
	assert_int_equal(usb->retry_max_ns, 10 * SECOND);
	assert_int_equal(usb->checks.frozen_ns, 0);
	assert_int_equal(usb->checks.black_ns, 10 * SECOND);
	assert_false(usb->checks.restart);
	const struct pk_camera_config *board = pk_config_camera(c, "board");
	assert_int_equal(board->source.width, 1920); // the kind's own default
	assert_int_equal(board->source.sensor_id, 1);
	assert_int_equal(board->source.n_recovery, 4);
	const struct pk_camera_config *web = pk_config_camera(c, "web");
	assert_string_equal(web->source.password_file, "/etc/picket/pw");
	assert_false(web->source.tls_verify);
	const struct pk_camera_config *stills = pk_config_camera(c, "stills");
	assert_string_equal(stills->source.uri, "/etc/picket/pics/*.jpg");
	assert_true(stills->source.loop && stills->source.paced);

	assert_string_equal(pk_config_sink(c, "results")->path, "/etc/picket/results.jsonl");
	assert_int_equal(pk_config_sink(c, "results")->rotate_bytes, 1 << 20);
	assert_string_equal(pk_config_sink(c, "shots")->path, "/var/shots");
	assert_true(pk_config_sink(c, "shots")->detections_only);
	assert_string_equal(pk_config_sink(c, "out")->path, "-");
	assert_string_equal(pk_config_sink(c, "sock")->path, "unix:/etc/picket/r.sock");
	assert_null(pk_config_sink(c, "none"));
	assert_null(pk_config_model(c, "none"));
	assert_null(pk_config_camera(c, "none"));
	pk_config_destroy(c);
}

static void test_defaults(void **state)
{
	struct pk_config *c = parse_ok("models: {m: {artifact: 'oci:r:t'}}\n"
				       "cameras: {a: {source: {kind: test}, model: m}}\nsinks: {s: "
				       "{kind: jsonl, path: x}}\n");
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	assert_string_equal(c->node_name, host);
	assert_int_equal(c->telemetry.interval_ns, 30 * SECOND);
	assert_int_equal(c->runtime.n_chain, 2);
	assert_string_equal(c->runtime.chain[1], "cpu");
	assert_int_equal(c->runtime.threads, 0);
	assert_int_equal(c->build.time_limit_ns, 1800 * SECOND);
	assert_int_equal(c->build.memory_bytes, INT64_C(2) << 30);
	assert_int_equal(c->store.quota_bytes, INT64_C(8) << 30);
	assert_int_equal(c->store.reserve_bytes, 0);
	assert_int_equal(c->models[0].n_chain, 2);
	assert_string_equal(c->models[0].chain[0], "cuda");
	assert_true(c->models[0].cpu_ok && c->models[0].conf < 0);
	const struct pk_camera_config *a = &c->cameras[0];
	assert_string_equal(a->source.pattern, "ball");
	assert_true(a->source.width == 640 && a->source.height == 480 && a->source.rate_hz == 15);
	assert_string_equal(a->source.uri, "");
	assert_string_equal(a->source.launch, "");
	assert_true(a->n_sinks == 0 && a->max_rate_hz == 0 && a->priority == 50);
	assert_int_equal(a->first_frame_ns, 10 * SECOND);
	assert_int_equal(a->stall_ns, 5 * SECOND);
	assert_int_equal(c->sinks[0].rotate_bytes, 64 << 20);
	pk_config_destroy(c);
}

static void test_nothing_is_fine(void **state)
{
	static const char *const texts[] = {"", "# nothing yet\n", "cameras:\nmodels:\nsinks:\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct pk_config *c = parse_ok(texts[i]);
		assert_int_equal(c->n_cameras, 0);
		pk_config_destroy(c);
	}
	pk_config_destroy(NULL);
}

static void assert_round_trip(const struct pk_config *a)
{
	pk_auto_free char *dump = pk_config_dump(a);

	assert_non_null(dump);
	struct pk_config *b = parse_ok(dump);
	assert_true(pk_schema_equal(&pk_config_schema, a, b));
	pk_auto_free char *again = pk_config_dump(b);
	assert_string_equal(dump, again);
	pk_config_destroy(b);
}

static void test_dump_round_trip(void **state)
{
	static const char *const texts[] = {example, "",
		"models: {m: {artifact: 'oci:a b/größe \"x\" \\\\:t', conf: 0.1}}\n"
		"cameras: {c: {source: {kind: gst, launch: \"a !\\n\\tb \\\"q\\\" 📷\"}, model: m, "
		"max_rate: 1/m}}\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct pk_config *c = parse_ok(texts[i]);
		assert_round_trip(c);
		pk_config_destroy(c);
	}
}

// Files

static char folder[] = "/tmp/picket-config-XXXXXX";

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	return pk_fs_remove_tree(folder, NULL);
}

static char *write_file(const char *name, const char *text)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static char *make_dir(const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static void test_drop_ins(void **state)
{
	char expected[256];
	pk_auto_free char *dir = make_dir("d1");
	pk_auto_free char *path =
		write_file("one.yaml", "node: {name: a}\nbuild: {nice: 3, opt_level: 0}\n"
				       "models: {m: {artifact: 'oci:r:t', chain: [cuda, cpu]}}\n"
				       "sinks: {s: {kind: jsonl, path: main.jsonl}}\n");
	free(write_file("d1/20-b.yaml", "node: {name: c}\nmodels: {m: {chain: [cpu]}}\nsinks: "
					"{t: {kind: jsonl, path: t}}\n"));
	free(write_file("d1/10-a.yaml",
		"node: {name: b}\nbuild: {nice: 4}\nsinks:\n"
		"cameras: {c: {source: {kind: file, uri: v.mp4}, model: m, sinks: [s, t]}}\n"));
	free(write_file("d1/30-c.yml", "nonsense: 1\n"));
	free(write_file("d1/.hidden.yaml", "nonsense: 1\n"));
	struct pk_problems problems = {0};
	pk_auto(pk_config) c = NULL;

	assert_int_equal(pk_config_load(path, dir, &c, &problems), 0);
	assert_string_equal(c->node_name, "c"); // the last in name order
	assert_int_equal(c->build.nice, 4);
	assert_int_equal(c->build.opt_level, 0);
	assert_int_equal(c->models[0].n_chain, 1); // lists are replaced
	assert_int_equal(c->n_sinks, 2);
	snprintf(expected, sizeof(expected), "%s/main.jsonl", folder);
	assert_string_equal(pk_config_sink(c, "s")->path, expected);
	snprintf(expected, sizeof(expected), "%s/d1/v.mp4", folder); // beside the file naming it
	assert_string_equal(c->cameras[0].source.uri, expected);
	assert_round_trip(c);
}

static void test_mistakes_name_their_files(void **state)
{
	pk_auto_free char *dir = make_dir("d2");
	pk_auto_free char *path =
		write_file("two.yaml", "node: {nam: a}\nsinks:\n  s: {path: x}\n");
	pk_auto_free char *a = write_file("d2/a.yaml", "sinks:\n  s: {kind: jsonl, rotate: 5}\n");
	pk_auto_free char *b = write_file("d2/b.yaml", "a: [\n");
	pk_auto_free char *l = write_file("d2/c.yaml", "- a\n");
	struct pk_problems problems = {0};
	struct pk_config *c = NULL;
	pk_auto_free char *printed = NULL;
	pk_auto_free char *expected = NULL;
	size_t n = 0;

	assert_int_equal(pk_config_load(path, dir, &c, &problems), -EINVAL);
	assert_null(c);
	FILE *memory = open_memstream(&printed, &n);
	pk_problems_print(&problems, memory);
	fclose(memory);
	pk_problems_finish(&problems);
	assert_true(asprintf(&expected,
			    "%s:2:28: `rotate`: a size needs a unit (B, KiB, MiB, GiB, TiB, kB, "
			    "MB, GB or TB, for "
			    "example 64MiB); found `5`\n"
			    "%s:2:1: not valid YAML: did not find expected node content (while "
			    "parsing a flow "
			    "node, from 2:1)\n"
			    "%s:1:1: expected a map (key: value) at the top, found a list\n"
			    "%s:1:8: unknown key `nam`; did you mean `name`?\n",
			    a, b, l, path) > 0);
	assert_string_equal(printed, expected);
}

static void test_unreadable(void **state)
{
	struct pk_problems problems = {0};
	struct pk_config *c = NULL;
	pk_auto_free char *path = write_file("three.yaml", "");
	pk_auto_free char *dir = make_dir("d3");

	assert_int_equal(pk_config_load("/nonexistent/x.yaml", NULL, &c, &problems), -ENOENT);
	assert_int_equal(problems.n, 1);
	assert_string_equal(problems.items[0].text, "cannot be read: No such file or directory");
	assert_int_equal(pk_config_load(path, "/nonexistent/d", &c, &problems), 0);
	pk_config_destroy(pk_steal(c));
	assert_int_equal(pk_config_load(path, path, &c, &problems), -ENOTDIR);
	assert_true(pk_config_load(dir, NULL, &c, &problems) < 0); // a folder is no file
	assert_null(c);
	pk_problems_finish(&problems);
}

static void test_too_large(void **state)
{
	pk_auto_free char *path = write_file("four.yaml", "");
	struct pk_problems problems = {0};
	struct pk_config *c = NULL;
	FILE *f = fopen(path, "w");

	for (int i = 0; i < 40000; i++)
		fputs("# a comment of thirty bytes ...\n", f);
	fclose(f);
	assert_int_equal(pk_config_load(path, NULL, &c, &problems), -EFBIG);
	assert_string_equal(problems.items[0].text, "cannot be read: larger than 1 MiB");
	pk_problems_finish(&problems);
}

static void test_odd_folder_name(void **state)
{
	struct pk_problems problems = {0};
	struct pk_config *c = NULL;

	assert_int_equal(pk_config_parse("", 0, "t", "/a\xff", &c, &problems), -EINVAL);
	assert_int_equal(problems.n, 1);
	pk_problems_finish(&problems);
}

static void test_thousands_of_mistakes(void **state)
{
	struct pk_buf text;
	struct pk_problems problems = {0};
	struct pk_config *c = NULL;

	pk_buf_init(&text, 1024 * 1024);
	for (int i = 0; i < 40000; i++)
		pk_buf_printf(&text, "modle%d: 1\n", i);
	assert_int_equal(pk_config_parse(text.data, text.len, "t", "/", &c, &problems), -EINVAL);
	assert_int_equal(problems.n, PK_PROBLEMS_MAX);
	assert_string_equal(
		problems.items[PK_PROBLEMS_MAX - 1].text, "39901 more problems are not shown");
	pk_problems_finish(&problems);
	pk_buf_finish(&text);
}

// Random damage to a good file: whatever comes in, it is refused with a place or accepted, and what
// is accepted survives the way to the worker.
static void test_damage(void **state)
{
	static const char *const bits[] = {"{", "}", "[", "]", ":", ": ", ",", "\n", "  ", "- ",
		"\"", "'", "#", "&a", "*a", "!t", "|", "0", "-1", "1e9", "null", "true", "s", "KiB",
		"\xc3", "\xff", "\t", "kind: test", "cpu", "-", "x-", "? ", "---\n", "\x1b",
		"999999999999"};
	uint32_t seed = 12345;
	size_t n_good = 0;

	for (int round = 0; round < 4000; round++) {
		char text[sizeof(example) + 256];
		memcpy(text, example, sizeof(example));
		for (int i = 0; i <= round % 3; i++) {
			seed = seed * 1664525 + 1013904223;
			size_t len = strlen(text), at = (seed >> 8) % len;
			const char *bit = bits[(seed >> 3) % (sizeof(bits) / sizeof(*bits))];
			size_t cut = (seed >> 28) % 4, n = strlen(bit);
			cut = cut > len - at ? len - at : cut;
			memmove(text + at + n, text + at + cut, len - at - cut + 1);
			memcpy(text + at, bit, n);
		}
		struct pk_problems problems = {0};
		struct pk_config *c = NULL;
		int rc = pk_config_parse(text, strlen(text), "t", "/etc/picket", &c, &problems);
		if (rc == 0) {
			assert_int_equal(problems.n, 0);
			assert_round_trip(c);
			n_good++;
		} else {
			assert_int_equal(rc, -EINVAL);
			assert_true(problems.n > 0 && problems.items[0].line > 0);
		}
		pk_config_destroy(c);
		pk_problems_finish(&problems);
	}
	assert_true(n_good > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_value),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_nothing_is_fine),
		cmocka_unit_test(test_dump_round_trip),
		cmocka_unit_test(test_drop_ins),
		cmocka_unit_test(test_mistakes_name_their_files),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_odd_folder_name),
		cmocka_unit_test(test_thousands_of_mistakes),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests_name("config", tests, make_folder, remove_folder);
}
