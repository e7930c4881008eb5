// SPDX-License-Identifier: Apache-2.0
// picket-worker --probe: looks at one camera for a few seconds and reports, for `picketctl camera
// test`. Not part of the service.
#pragma once

// `--probe CAMERA SECONDS [SNAPSHOT.jpg]`: takes a whole configuration on stdin and writes one JSON
// object a line on stdout:
//   {"event":"progress","text":"…","elapsed_ms":N,"limit_ms":N}
//   {"event":"report", source, codec, decoder, encoded, raw, width, height, format, declared_fps,
//    fps, frames, lost, skipped, seconds, first_frame_ms, interval_p50_ms, interval_p99_ms,
//    jitter_ms, age_p50_ms, age_p99_ms, brightness, spread, snapshot}
//   {"event":"failed","error":"…","code":-errno}
// jitter_ms: standard deviation of the time between two pictures. Gives the exit code: 0 after a
// report.
int pk_worker_probe(int argc, char **argv);
