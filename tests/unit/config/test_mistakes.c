// SPDX-License-Identifier: Apache-2.0
// Wrong configurations and the exact words, lines and columns in which they are refused.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "config/config.h"
#include "tests/unit/config/cm.h"

#define KEY_ID "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// text of the file, and what is printed of it (each line behind the file's name)
static const struct mistake {
	const char *name;
	const char *text;
	const char *expected;
} mistakes[] = {
	{"tab",
		"node:\n"
		"\tname: a\n",
		"2:1: not valid YAML: found character that cannot start any token (while scanning "
		"for the next token, from 2:1); indent with spaces, not tabs\n"},
	{"unclosed_flow", "node: {name: a\n",
		"2:1: not valid YAML: did not find expected ',' or '}' (while parsing a flow "
		"mapping, from 1:7)\n"},
	{"unclosed_quote", "node: {name: \"a}\n",
		"2:1: not valid YAML: found unexpected end of stream (while scanning a quoted "
		"scalar, from 1:14)\n"},
	{"bad_indent",
		"node:\n"
		"  name: a\n"
		" name: b\n",
		"3:2: not valid YAML: did not find expected key (while parsing a block mapping, "
		"from 1:1)\n"},
	{"colon_in_plain",
		"node:\n"
		"  name: a: b\n",
		"2:10: not valid YAML: mapping values are not allowed in this context\n"},
	{"missing_colon",
		"node:\n"
		"  name\n",
		"2:3: `node`: expected a map (key: value), found text\n"},
	{"duplicate_key",
		"telemetry: {interval: 1s}\n"
		"node: {name: a}\n"
		"telemetry: {interval: 2s}\n",
		"3:1: `telemetry` is given twice; first at 1:1\n"},
	{"duplicate_nested",
		"build:\n"
		"  nice: 1\n"
		"  memory: 1GiB\n"
		"  nice: 2\n",
		"4:3: `nice` is given twice; first at 2:3\n"},
	{"key_rules",
		"models:\n"
		"  a:\n"
		"    artifact: oci:x:y\n"
		"    signature:\n"
		"      key_rules:\n"
		"        " KEY_ID ": {not_before: 2026-02-30, seq_min: -1}\n"
		"        cafe: {seq_max: 3}\n",
		"6:88: `not_before`: must be like 2026-11-30 or 2026-11-30T19:24:27Z\n"
		"6:109: `seq_min`: must be from 0 to 9007199254740992; found `-1`\n"
		"7:9: `cafe` must be a key's id: 64 hex digits, a-f in lower case\n"},
	{"key_rules_order",
		"models:\n"
		"  a:\n"
		"    artifact: oci:x:y\n"
		"    signature:\n"
		"      key_rules:\n"
		"        " KEY_ID ": {not_before: 2026-02-03, not_after: 2026-02-03, seq_min: 4, "
		"seq_max: 3}\n",
		"6:75: not_before must be earlier than not_after\n"
		"6:75: seq_min must not be above seq_max\n"},
	{"mqtt_topic",
		"sinks:\n"
		"  m: {kind: mqtt, host: b, prefix: a/#}\n",
		"2:36: `prefix`: must be a topic: levels between single `/`, without `+` and `#`, "
		"not beginning with `$`\n"},
	{"mqtt_pairs",
		"sinks:\n"
		"  m: {kind: mqtt, host: b, cert: c, password_file: p}\n",
		"2:34: cert needs `key` beside it\n"
		"2:34: cert needs `ca` beside it\n"
		"2:52: password_file needs `user` beside it\n"},
	{"restream_user",
		"sinks:\n"
		"  r: {kind: restream, user: u}\n",
		"2:29: user needs `password_file` beside it\n"},
	{"restream_ports",
		"sinks:\n"
		"  r: {kind: restream, port: 9000}\n"
		"  s: {kind: restream, port: 9000}\n"
		"  t: {kind: restream}\n",
		"3:6: sinks `r` and `s` have the same port\n"},
	{"anchor", "runtime: {chain: &c [cpu]}\n",
		"1:18: anchors (`&c`) are not supported; write the value out\n"},
	{"alias", "runtime: {chain: *c}\n",
		"1:18: aliases (`*c`) are not supported; write the value out\n"},
	{"tag", "node: {name: !!str a}\n",
		"1:14: tags (`tag:yaml.org,2002:str`) are not supported\n"},
	{"second_document",
		"node: {name: a}\n"
		"---\n"
		"node: {name: b}\n",
		"2:1: a second document starts here; one file holds one\n"},
	{"map_as_key", "{a: b}: c\n", "1:1: a key must be text, not a map\n"},
	{"root_list",
		"- a\n"
		"- b\n",
		"1:1: expected a map (key: value) at the top, found a list\n"},
	{"root_text", "hello\n", "1:1: expected a map (key: value) at the top, found text\n"},
	{"control_escape", "node: {name: \"a\\x1bb\"}\n",
		"1:14: the control character U+001B is not allowed\n"},
	{"nul_escape", "node: {name: \"a\\0b\"}\n",
		"1:14: the control character U+0000 is not allowed\n"},
	{"unknown_escape", "node: {name: \"a\\qb\"}\n",
		"1:16: not valid YAML: found unknown escape character (while parsing a quoted "
		"scalar, from 1:14)\n"},
	{"unknown_top",
		"camera:\n"
		"  a: {}\n",
		"1:1: unknown key `camera`; did you mean `cameras`?\n"},
	{"unknown_far", "frobnicate: 1\n",
		"1:1: unknown key `frobnicate`; known here: node, telemetry, runtime, build, "
		"health, store, registries, models, cameras, sinks\n"},
	{"unknown_case", "Node: {name: a}\n", "1:1: unknown key `Node`; did you mean `node`?\n"},
	{"unknown_swap", "sinsk: {}\n", "1:1: unknown key `sinsk`; did you mean `sinks`?\n"},
	{"unknown_dash", "build: {time-limit: 1m}\n",
		"1:9: unknown key `time-limit`; did you mean `time_limit`?\n"},
	{"unknown_nested", "build: {nise: 2}\n", "1:9: unknown key `nise`; did you mean `nice`?\n"},
	{"unknown_empty", "'': 1\n",
		"1:1: unknown key ``; known here: node, telemetry, runtime, build, health, store, "
		"registries, models, "
		"cameras, sinks\n"},
	{"missing_all",
		"cameras:\n"
		"  a:\n",
		"2:3: missing required key `source` in `cameras.a`\n"
		"2:3: missing required key `model` in `cameras.a`\n"},
	{"missing_kind",
		"sinks:\n"
		"  a: {path: x}\n",
		"2:3: missing required key `kind` in `sinks.a`\n"},
	{"missing_uri",
		"cameras:\n"
		"  a: {source: {kind: file}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:7: missing required key `uri` in `cameras.a.source`\n"},
	{"missing_launch",
		"cameras:\n"
		"  a:\n"
		"    model: m\n"
		"    source:\n"
		"      kind: gst\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"4:5: missing required key `launch` in `cameras.a.source`\n"},
	{"missing_interval",
		"sinks:\n"
		"  a: {kind: snapshot, path: x}\n",
		"2:3: missing required key `interval` in `sinks.a`\n"},
	{"missing_artifact",
		"models:\n"
		"  m: {conf: 0.5}\n",
		"2:3: missing required key `artifact` in `models.m`\n"},
	{"misplaced_loop",
		"cameras:\n"
		"  a: {source: {kind: rtsp, uri: 'rtsp://h/1', loop: true}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:47: `loop` does not apply to kind `rtsp` (only to: file, images)\n"},
	{"misplaced_uri",
		"cameras:\n"
		"  a: {source: {kind: test, uri: x}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:28: `uri` does not apply to kind `test` (only to: file, images, rtsp, http)\n"},
	{"misplaced_rotate",
		"sinks:\n"
		"  a: {kind: snapshot, path: x, interval: 1s, rotate: 1MiB}\n",
		"2:46: `rotate` does not apply to kind `snapshot` (only to: jsonl)\n"},
	{"misplaced_interval",
		"sinks:\n"
		"  a: {kind: jsonl, path: x, interval: 1s}\n",
		"2:29: `interval` does not apply to kind `jsonl` (only to: snapshot)\n"},
	{"map_for_text", "node: {name: {a: b}}\n", "1:14: `name`: expected text, found a map\n"},
	{"list_for_text", "node: {name: [a]}\n", "1:14: `name`: expected text, found a list\n"},
	{"text_for_map", "node: conveyor\n",
		"1:7: `node`: expected a map (key: value), found text\n"},
	{"list_for_map",
		"cameras:\n"
		"  - a\n",
		"2:3: `cameras`: expected a map of names (name: {key: value}), found a list\n"},
	{"text_for_list", "runtime: {chain: cpu}\n",
		"1:18: `chain`: expected a list ([a, b]), found text\n"},
	{"map_for_list", "runtime: {chain: {a: b}}\n",
		"1:18: `chain`: expected a list ([a, b]), found a map\n"},
	{"list_in_list", "runtime: {chain: [[cpu]]}\n",
		"1:19: `chain`: expected text, found a list\n"},
	{"nothing_for_number",
		"build:\n"
		"  nice:\n",
		"2:8: `nice`: has no value; expected a whole number\n"},
	{"null_for_text", "node: {name: null}\n", "1:14: `name`: has no value; expected text\n"},
	{"empty_list", "runtime: {chain: []}\n",
		"1:18: `chain`: expected 1 to 8 entries, found 0\n"},
	{"threads", "runtime: {threads: 65}\n",
		"1:20: `threads`: must be from 0 to 64; found `65`\n"},
	{"long_list", "runtime: {chain: [a, b, c, d, e, f, g, h, i]}\n",
		"1:18: `chain`: expected 1 to 8 entries, found 9\n"},
	{"camera_is_text",
		"cameras:\n"
		"  a: rtsp://h/1\n",
		"2:6: `a`: expected a map (key: value), found text\n"},
	{"yes_is_text",
		"models:\n"
		"  m: {artifact: 'oci:r:t', cpu_ok: yes}\n",
		"2:36: `cpu_ok`: expected true or false; found `yes`\n"},
	{"quoted_bool",
		"models:\n"
		"  m: {artifact: 'oci:r:t', cpu_ok: 'true'}\n",
		"2:36: `cpu_ok`: expected true or false, found text in quotes: \"true\"\n"},
	{"quoted_number", "build: {nice: '2'}\n",
		"1:15: `nice`: expected a number, found text in quotes: \"2\"\n"},
	{"float_for_int", "build: {nice: 1.5}\n",
		"1:15: `nice`: expected a whole number; found `1.5`\n"},
	{"hex", "build: {nice: 0x10}\n", "1:15: `nice`: expected a whole number; found `0x10`\n"},
	{"leading_zero", "build: {nice: 010}\n",
		"1:15: `nice`: expected a whole number; found `010`\n"},
	{"int_overflow", "build: {nice: 99999999999999999999}\n",
		"1:15: `nice`: `99999999999999999999` is too large\n"},
	{"int_too_wide", "build: {nice: 4294967297}\n",
		"1:15: `nice`: must be from 0 to 19; found `4294967297`\n"},
	{"below_range", "build: {nice: -1}\n", "1:15: `nice`: must be from 0 to 19; found `-1`\n"},
	{"above_range", "build: {nice: 20}\n", "1:15: `nice`: must be from 0 to 19; found `20`\n"},
	{"float_above",
		"models:\n"
		"  m: {artifact: 'oci:r:t', conf: 1.5}\n",
		"2:34: `conf`: must be from 0 to 1; found `1.5`\n"},
	{"float_nan",
		"models:\n"
		"  m: {artifact: 'oci:r:t', conf: .nan}\n",
		"2:34: `conf`: expected a number; found `.nan`\n"},
	{"float_comma",
		"models:\n"
		"  m: {artifact: 'oci:r:t', conf: '0,5'}\n",
		"2:34: `conf`: expected a number, found text in quotes: \"0,5\"\n"},
	{"float_huge",
		"models:\n"
		"  m: {artifact: 'oci:r:t', conf: 1e999}\n",
		"2:34: `conf`: `1e999` is too large\n"},
	{"duration_no_unit", "telemetry: {interval: 30}\n",
		"1:23: `interval`: a duration needs a unit (ms, s, m, h or d, for example 30s); "
		"found `30`\n"},
	{"duration_bad_unit", "telemetry: {interval: 30sec}\n",
		"1:23: `interval`: `sec` is no unit of a duration; use ms, s, m, h or d, for "
		"example 30s\n"},
	{"duration_compound", "telemetry: {interval: 1h30m}\n",
		"1:23: `interval`: `h30m` is no unit of a duration; use ms, s, m, h or d, for "
		"example 30s\n"},
	{"duration_negative", "telemetry: {interval: -1s}\n",
		"1:23: `interval`: expected a duration (a number and ms, s, m, h or d, for example "
		"30s); found `-1s`\n"},
	{"duration_zero", "telemetry: {interval: 0}\n",
		"1:23: `interval`: must be from 1s to 1d; found `0`\n"},
	{"duration_long", "telemetry: {interval: 2d}\n",
		"1:23: `interval`: must be from 1s to 1d; found `2d`\n"},
	{"duration_overflow", "telemetry: {interval: 999999999999d}\n",
		"1:23: `interval`: `999999999999d` is too large\n"},
	{"duration_space", "telemetry: {interval: 30 s}\n",
		"1:23: `interval`: `30 s`: write it without a space\n"},
	{"size_no_unit", "store: {quota: 1000000}\n",
		"1:16: `quota`: a size needs a unit (B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, for "
		"example 64MiB); found `1000000`\n"},
	{"size_unclear", "store: {quota: 8G}\n",
		"1:16: `quota`: `8G` is unclear: write GiB (1024) or GB (1000)\n"},
	{"size_case", "store: {quota: 8gib}\n",
		"1:16: `quota`: `gib` is no unit of a size; use B, KiB, MiB, GiB, TiB, kB, MB, GB "
		"or TB, for example 64MiB\n"},
	{"size_fraction", "store: {quota: 0.3B}\n",
		"1:16: `quota`: `0.3B` is no whole number of B\n"},
	{"size_overflow", "store: {quota: 9999999999TiB}\n",
		"1:16: `quota`: `9999999999TiB` is too large\n"},
	{"size_above", "store: {quota: 2TiB}\n",
		"1:16: `quota`: must be from 0 to 1TiB; found `2TiB`\n"},
	{"reserve_above", "store: {reserve: 2TiB}\n",
		"1:18: `reserve`: must be from 0 to 1TiB; found `2TiB`\n"},
	{"rate_words",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, max_rate: fast}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:49: `max_rate`: expected a rate (a number and /s, fps, /m or /h, for example "
		"15/s); found `fast`\n"},
	{"roi_outside",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, roi: [0.5, 0, 0.6, 1]}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:44: roi must lie in the picture: x + width and y + height at most 1\n"},
	{"roi_empty",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, roi: [0.5, 0, 0.2, 0]}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:44: roi: width and height must be above 0\n"},
	{"roi_short",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, roi: [0.5, 0]}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:44: `roi`: expected exactly 4 entries, found 2\n"},
	{"rate_unit",
		"cameras:\n"
		"  a: {source: {kind: test, rate: 15Hz}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:34: `rate`: expected a rate (a number and /s, fps, /m or /h, for example 15/s); "
		"found `15Hz`\n"},
	{"rate_zero",
		"cameras:\n"
		"  a: {source: {kind: test, rate: 0}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:34: `rate`: must be from 0.1/s to 1000/s; found `0`\n"},
	{"enum_near",
		"sinks:\n"
		"  a: {kind: json, path: x}\n",
		"2:13: `kind`: cannot be `json`; did you mean `jsonl`? Allowed: jsonl, snapshot, "
		"mqtt, restream\n"},
	{"enum_far",
		"cameras:\n"
		"  a: {source: {kind: webcam}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:22: `kind`: cannot be `webcam`; allowed: file, images, test, rtsp, http, "
		"v4l2, csi, gst\n"},
	{"enum_hides_uri",
		"cameras:\n"
		"  a: {source: {kind: rtps, uri: 'rtsp://h/1'}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:22: `kind`: cannot be `rtps`; did you mean `rtsp`? Allowed: file, images, "
		"test, rtsp, http, v4l2, csi, gst\n"},
	{"http_scheme",
		"cameras:\n"
		"  a: {source: {kind: http, uri: 'rtsp://h/1'}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:33: `uri`: must start with http:// or https://\n"},
	{"http_secret",
		"cameras:\n"
		"  a: {source: {kind: http, uri: 'http://u:geheim@h/1'}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:33: `uri`: must not hold a user or password; use `user` and `password_file`\n"},
	{"v4l2_without_device",
		"cameras:\n"
		"  a: {source: {kind: v4l2}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:7: missing required key `device` in `cameras.a.source`\n"},
	{"v4l2_control",
		"cameras:\n"
		"  a: {source: {kind: v4l2, device: /dev/video0, controls: [gain=high]}, model: "
		"m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:60: `controls`: must be name=number, as `v4l2-ctl --list-ctrls` names them: "
		"exposure_auto=1\n"},
	{"check_unknown",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, checks: {frosen: 1m}}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:48: unknown key `frosen`; did you mean `frozen`?\n"},
	{"rtsp_scheme",
		"cameras:\n"
		"  a: {source: {kind: rtsp, uri: 'http://h/1'}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:33: `uri`: must start with rtsp:// or rtsps://\n"},
	{"file_with_address",
		"cameras:\n"
		"  a: {source: {kind: file, uri: 'rtsp://user:secret@h/1'}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:33: `uri`: must be a path, not an address\n"},
	{"file_scheme",
		"cameras:\n"
		"  a: {source: {kind: file, uri: 'file:///a.mp4'}, model: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:33: `uri`: must be a plain path, without file://\n"},
	{"empty_path",
		"sinks:\n"
		"  a: {kind: jsonl, path: ''}\n",
		"2:26: `path`: must not be empty\n"},
	{"unix_empty",
		"sinks:\n"
		"  a: {kind: jsonl, path: 'unix:'}\n",
		"2:26: `path`: unix: needs the path of a socket\n"},
	{"empty_name", "node: {name: ''}\n", "1:14: `name`: must not be empty\n"},
	{"artifact_scheme",
		"models:\n"
		"  m: {artifact: reg.local/parts}\n",
		"2:17: `artifact`: names no tag: add :TAG or @sha256:DIGEST\n"},
	{"artifact_form",
		"models:\n"
		"  m: {artifact: 'parts:v1'}\n",
		"2:17: `artifact`: must be HOST/NAME:TAG, oci:FOLDER:TAG, file:TAR:TAG (or "
		"@sha256:DIGEST for the tag) or https://HOST/PATH#sha256:DIGEST; found "
		"`parts:v1`\n"},
	{"artifact_url_without_digest",
		"models:\n"
		"  m: {artifact: 'https://h/m.onnx'}\n",
		"2:17: `artifact`: needs #sha256: and 64 lower-case hex digits at its end\n"},
	{"registry_host",
		"registries:\n"
		"  'https://reg.example': {insecure: true}\n",
		"2:3: `https://reg.example` is no host: a name or address, then perhaps :PORT\n"},
	{"registry_mirror",
		"registries:\n"
		"  reg.example: {mirrors: [a/b]}\n",
		"2:27: `mirrors`: is no host: a name or address, then perhaps :PORT\n"},
	{"registry_credential",
		"registries:\n"
		"  reg.example: {key: 'credential:a/b'}\n",
		"2:22: `key`: credential: needs the name of a credential\n"},
	{"artifact_no_tag",
		"models:\n"
		"  m: {artifact: 'oci:registry'}\n",
		"2:17: `artifact`: names no tag: add :TAG or @sha256:DIGEST\n"},
	{"artifact_no_folder",
		"models:\n"
		"  m: {artifact: 'oci::stable'}\n",
		"2:17: `artifact`: names no folder between oci: and `:stable`\n"},
	{"artifact_bad_tag",
		"models:\n"
		"  m: {artifact: 'oci:r:sta ble'}\n",
		"2:17: `artifact`: `sta ble` is no tag (letters, digits, _ . -)\n"},
	{"artifact_digest",
		"models:\n"
		"  m: {artifact: 'oci:r@sha256:12AB'}\n",
		"2:17: `artifact`: needs 64 lower-case hex digits after @sha256:\n"},
	{"name_upper",
		"sinks:\n"
		"  Results: {kind: jsonl, path: x}\n",
		"2:3: `Results` is no name: a-z, 0-9, _ and - only, first a letter or digit, at "
		"most 63\n"},
	{"name_dash",
		"sinks:\n"
		"  -a: {kind: jsonl, path: x}\n",
		"2:3: `-a` is no name: a-z, 0-9, _ and - only, first a letter or digit, at most "
		"63\n"},
	{"name_long",
		"sinks:\n"
		"  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: {kind: jsonl, "
		"path: x}\n",
		"2:3: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…` is no name: a-z, 0-9, _ "
		"and - only, first a letter or digit, at most 63\n"},
	{"name_utf8",
		"sinks:\n"
		"  größe: {kind: jsonl, path: x}\n",
		"2:3: `größe` is no name: a-z, 0-9, _ and - only, first a letter or digit, at most "
		"63\n"},
	{"model_near",
		"cameras:\n"
		"  a: {source: {kind: test}, model: part}\n"
		"models:\n"
		"  parts: {artifact: 'oci:r:t'}\n",
		"2:36: `part` is not among models; did you mean `parts`?\n"},
	{"model_none",
		"cameras:\n"
		"  a: {source: {kind: test}, model: parts}\n",
		"2:36: `parts` is not among models\n"},
	{"sink_near",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, sinks: [result]}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n"
		"sinks:\n"
		"  results: {kind: jsonl, path: x}\n",
		"2:47: `result` is not among sinks; did you mean `results`?\n"},
	{"sink_twice",
		"cameras:\n"
		"  a: {source: {kind: test}, model: m, sinks: [r, r]}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n"
		"sinks:\n"
		"  r: {kind: jsonl, path: x}\n",
		"2:50: `r` is in this list twice\n"},
	{"reference_into_a_list",
		"models: [m]\n"
		"cameras:\n"
		"  a: {source: {kind: test}, model: m}\n",
		"1:9: `models`: expected a map of names (name: {key: value}), found a list\n"},
	{"chain_unknown", "runtime: {chain: [tensorrt, cpu]}\n",
		"1:19: `tensorrt` is no runtime; known: cuda, cpu\n"},
	{"chain_near", "runtime: {chain: [cude, cpu]}\n",
		"1:19: `cude` is no runtime; did you mean `cuda`? Known: cuda, cpu\n"},
	{"chain_twice",
		"models:\n"
		"  m: {artifact: 'oci:r:t', chain: [cpu, cuda, cpu]}\n",
		"2:47: `cpu` is in this list twice\n"},
	{"same_path",
		"sinks:\n"
		"  a: {kind: jsonl, path: x}\n"
		"  b: {kind: jsonl, path: ./x}\n",
		"3:26: sinks `a` and `b` have the same path\n"},
	{"retries", "build: {retry_min: 2h, retry_max: 1h}\n",
		"1:35: retry_min must not be above retry_max\n"},
	{"typo_of_required",
		"cameras:\n"
		"  a: {source: {kind: test}, modle: m}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t'}\n",
		"2:29: unknown key `modle`; did you mean `model`?\n"},
	{"five",
		"telemetry: {interval: 30}\n"
		"models:\n"
		"  m: {artifact: 'oci:r:t', conf: 2}\n"
		"cameras:\n"
		"  a:\n"
		"    source: {kind: file, uri: a.mp4, latency: 1s}\n"
		"    model: n\n"
		"    prio: 3\n",
		"1:23: `interval`: a duration needs a unit (ms, s, m, h or d, for example 30s); "
		"found `30`\n"
		"3:34: `conf`: must be from 0 to 1; found `2`\n"
		"6:38: `latency` does not apply to kind `file` (only to: rtsp)\n"
		"7:12: `n` is not among models\n"
		"8:5: unknown key `prio`; did you mean `priority`?\n"},
	{"good_and_bad_duplicates", "node: {name: a, name: b, nam: c}\n",
		"1:17: `name` is given twice; first at 1:8\n"
		"1:26: unknown key `nam`; did you mean `name`?\n"},
};

// What is wrong with text, as printed, without the file's name.
static char *complaints(const char *text)
{
	struct pk_config *config = NULL;
	struct pk_problems problems = {0};
	char *out = NULL;
	size_t n = 0;

	assert_int_equal(pk_config_parse(text, strlen(text), "", "/etc/picket", &config, &problems),
		-EINVAL);
	assert_null(config);
	FILE *memory = open_memstream(&out, &n);
	assert_non_null(memory);
	for (size_t i = 0; i < problems.n; i++)
		assert_string_equal(problems.items[i].file, "");
	pk_problems_print(&problems, memory);
	fclose(memory);
	pk_problems_finish(&problems);
	return out;
}

static void test_mistake(void **state)
{
	const struct mistake *m = *state;
	pk_auto_free char *printed = complaints(m->text);
	char bare[4096] = "";

	// The file is called "": each line starts with the colon after it.
	for (const char *p = printed; *p; p = strchr(p, '\n') + 1) {
		assert_int_equal(*p, ':');
		strncat(bare, p + 1, (size_t)(strchr(p, '\n') - p));
	}
	assert_string_equal(bare, m->expected);
}

int main(void)
{
	static struct CMUnitTest tests[PK_ARRAY_LEN(mistakes)];

	for (size_t i = 0; i < PK_ARRAY_LEN(mistakes); i++)
		tests[i] = (struct CMUnitTest){.name = mistakes[i].name,
			.test_func = test_mistake,
			.initial_state = (void *)(uintptr_t)&mistakes[i]};
	return cmocka_run_group_tests_name("mistakes", tests, NULL, NULL);
}
