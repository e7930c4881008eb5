// SPDX-License-Identifier: Apache-2.0
// What a model is served with at one moment: an engine with its context and decoder, or nothing
// (passthrough) and the reason.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"
#include "engine/engine.h"
#include "pipeline/decode/decode.h"
#include "pipeline/pipeline.h"
#include "pipeline/result.h"

// Picture sizes and formats that a model's cameras have at one time, before tables are made anew.
#define PK_SERVING_PREPROCESS 8

struct pk_serving {
	char rung[16], cause[256], digest[80], runtime[32];
	// NULL in passthrough
	struct pk_engine *engine;
	struct pk_card *card;
	struct pk_context *context;
	struct pk_decoder *decoder;
	struct pk_image_spec spec;
	size_t n_outputs;
	struct {
		struct pk_preprocess *pre;
		uint64_t used; // turn of last use
	} tables[PK_SERVING_PREPROCESS];
	uint64_t turn;
};

// Loads the engine, checks its card against it and runs it once, so that the first frame finds
// everything warm. conf < 0: the card's. pool: host threads for the engine (borrowed), or NULL.
// events: its `loading` is told how far it is. Errors as pk_pipeline_assign. Any one thread.
int pk_serving_create(const struct pk_assignment *assignment, double conf, struct pk_cpu_pool *pool,
	const struct pk_pipeline_events *events, struct pk_serving **out, struct pk_err *err)
	pk_must_check;
void pk_serving_destroy(struct pk_serving *serving);
PK_DEFINE_AUTO(pk_serving, pk_serving_destroy);

// The state without an engine. rung "passthrough".
void pk_serving_init_passthrough(struct pk_serving *serving, const char *cause);
static inline bool pk_serving_infers(const struct pk_serving *serving)
{
	return serving->engine != NULL;
}

// Frame in, detections out (room for PK_RESULT_MAX_DETECTIONS); stamps the frame. decoder: the
// serving's own, read when the frame began. Allocates only when a picture size comes for the first
// time. One thread.
int pk_serving_run(struct pk_serving *serving, struct pk_decoder *decoder, struct pk_frame *frame,
	struct pk_detection *out, size_t *n, struct pk_err *err) pk_must_check;
// A decoder for the same engine and card with another threshold.
int pk_serving_make_decoder(const struct pk_serving *serving, double conf, struct pk_decoder **out,
	struct pk_err *err) pk_must_check;
