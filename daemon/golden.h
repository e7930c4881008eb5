// SPDX-License-Identifier: Apache-2.0
// The artifact's golden samples: pictures with the detections that its maker got from them.
#pragma once

#include <jansson.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"

// Runs an engine file on every sample and compares decoded detections. files: {title: path}; its
// "golden.json" is
// {"samples":[{"file":"a.rgb","width":256,"height":192,"detections":[{"label":"gear",
// "box":[x1,y1,x2,y2],"score":0.9}]}]}, each .rgb raw RGB24 of width x height. Every expected
// detection must be found with the same label, IoU >= card gate.match_iou and score within
// gate.match_score, and nothing else may stand clearly above the threshold. -EBADE: refused, err
// names sample and detection; -EINVAL: the samples themselves are broken; 0 without golden.json.
int pk_golden_check(const char *engine_path, const struct pk_card *card, const json_t *files,
	struct pk_err *err) pk_must_check;
