// SPDX-License-Identifier: Apache-2.0
// How picketd asks picket-build for an engine: one JSON job on stdin, JSON lines on stdout.
#pragma once

// stdin: {"v":1,"onnx":"path","card":"path"|null,"runtime":"cpu","opt_level":0|1|2,
//         "engine":"path","timing":"path"|null,"shapes":{"x":[1,3,320,320]},
//         "golden":{"golden.json":"path","a.rgb":"path"}|null,"thrift":0..2,
//         "int8":"path of the calibration, or left out"}
// "admit":true: nothing is built; model, card and golden samples are read and checked (admit.h).
// golden: the artifact's golden samples by their title, as they lie in the store.
// thrift: settings that spare memory and give the same engine, after a build ran out of it.
// stdout, one object a line, progress at least each second:
//   {"v":1,"type":"sandbox","seccomp":bool,"landlock":ABI version or 0}   before anything is parsed
//   {"v":1,"type":"progress","phase":"tune","done":3,"total":90,"what":"…"}
//   {"v":1,"type":"result","code":0|-errno,"error":null|"…","permanent":bool,"key":"sha256:…",
//    "engine_bytes":N,"n_measured":N,"n_cache_hits":N,"max_rel_err":X,"min_cosine":X,"wall_ms":N}
// Exit code: 0 built; 1 not built, the result line says why. Anything else (a signal, no result
// line): the builder crashed, a transient failure.
#define PK_BUILD_PROTO_VERSION 1
#define PK_BUILD_MAX_LINE      65536

#define PK_BUILD_THRIFT_ONE_SAMPLE 1 // compared with the reference on one picture instead of all
#define PK_BUILD_THRIFT_NO_SAMPLE  2 // on none: golden samples still judge the finished engine
