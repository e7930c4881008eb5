// SPDX-License-Identifier: Apache-2.0
// What cuDNN's heuristics propose for a graph.
#include <errno.h>
#include <stdio.h>

#include "engine/cuda/cudnn/constants.h"
#include "engine/cuda/cudnn/cudnn_status.h"
#include "engine/cuda/cudnn/errata.h"
#include "engine/cuda/cudnn/plan.h"

#define MAX_KNOBS 24
#define MAX_NOTES 16

static int get(const struct pk_cudnn_functions *fn, const void *descriptor, int attribute, int type,
	int64_t n_max, int64_t *n, void *elements)
{
	int64_t ignored = 0;
	return fn->get_attribute(descriptor, attribute, type, n_max, n ? n : &ignored, elements);
}

// One after the other into tag.
static void put_knobs(struct pk_cudnn_pool *pool, void *config, char *tag, size_t at)
{
	void *choices[MAX_KNOBS];
	int64_t n = 0;
	int made = 0;
	for (; made < MAX_KNOBS; made++) {
		struct pk_cudnn_maker maker =
			pk_cudnn_begin(pool, PK_CUDNN_NEW_KNOB_CHOICE, "knob", NULL);
		if (maker.error < 0)
			break;
		choices[made] = maker.descriptor;
	}
	if (get(pool->fn, config, PK_CUDNN_CONFIG_KNOBS, PK_CUDNN_TYPE_DESCRIPTOR, made, &n,
		    choices) != 0)
		return;
	for (int64_t i = 0; i < n && i < made && at < PK_CUDNN_MAX_TAG; i++) {
		int type = -1;
		int64_t value = 0;
		if (get(pool->fn, choices[i], PK_CUDNN_KNOB_TYPE, PK_CUDNN_TYPE_KNOB_TYPE, 1, NULL,
			    &type) == 0 &&
			get(pool->fn, choices[i], PK_CUDNN_KNOB_VALUE, PK_CUDNN_TYPE_INT64, 1, NULL,
				&value) == 0)
			at += (size_t)snprintf(tag + at, PK_CUDNN_MAX_TAG - at, " k%d=%lld", type,
				(long long)value);
	}
}

static uint32_t read_notes(const struct pk_cudnn_functions *fn, void *engine)
{
	int notes[MAX_NOTES];
	int64_t n = 0;
	uint32_t bits = 0;
	if (get(fn, engine, PK_CUDNN_ENGINE_NOTES, PK_CUDNN_TYPE_NOTE, MAX_NOTES, &n, notes) != 0)
		return 0;
	for (int64_t i = 0; i < n && i < MAX_NOTES; i++) {
		if (notes[i] >= 0 && notes[i] < 32)
			bits |= 1u << notes[i];
	}
	return bits;
}

// Fills all of the candidate; returns the engine's index, or -1.
static int64_t describe(const struct pk_cudnn_device *device, struct pk_cudnn_candidate *out)
{
	struct pk_cudnn_pool pool = {.fn = device->fn};
	int64_t idx = -1;
	struct pk_cudnn_maker maker = pk_cudnn_begin(&pool, PK_CUDNN_NEW_ENGINE, "engine", NULL);
	if (maker.error == 0 && get(device->fn, out->config, PK_CUDNN_CONFIG_ENGINE,
					PK_CUDNN_TYPE_DESCRIPTOR, 1, NULL, &maker.descriptor) == 0)
		(void)get(device->fn, maker.descriptor, PK_CUDNN_ENGINE_INDEX, PK_CUDNN_TYPE_INT64,
			1, NULL, &idx);
	if (idx >= 0) {
		int n = snprintf(out->tag, sizeof(out->tag), "e%lld", (long long)idx);
		out->notes = read_notes(device->fn, maker.descriptor);
		put_knobs(&pool, out->config, out->tag, (size_t)n);
	}
	pk_cudnn_pool_finish(&pool);
	return idx;
}

static void *ask(const struct pk_cudnn_device *device, const struct pk_cudnn_graph *graph, int mode,
	struct pk_cudnn_maker *maker)
{
	pk_cudnn_set(maker, PK_CUDNN_HEUR_GRAPH, PK_CUDNN_TYPE_DESCRIPTOR, 1, &graph->descriptor);
	pk_cudnn_set(maker, PK_CUDNN_HEUR_MODE, PK_CUDNN_TYPE_HEUR_MODE, 1, &mode);
	if (!device->handle)
		pk_cudnn_set(maker, PK_CUDNN_HEUR_DEVICEPROP, PK_CUDNN_TYPE_DESCRIPTOR, 1,
			&device->properties);
	return pk_cudnn_end(maker);
}

static int make_configs(struct pk_cudnn_pool *pool, void **configs, struct pk_err *err)
{
	for (int i = 0; i < PK_CUDNN_MAX_CANDIDATES; i++) {
		struct pk_cudnn_maker maker =
			pk_cudnn_begin(pool, PK_CUDNN_NEW_CONFIG, "engine configuration", err);
		if (maker.error < 0)
			return maker.error;
		configs[i] = maker.descriptor;
	}
	return 0;
}

static void keep_allowed(struct pk_cudnn_candidates *list, const struct pk_cudnn_device *device,
	const struct pk_cudnn_fusion *fusion, void *config)
{
	struct pk_cudnn_candidate *candidate = &list->items[list->n];
	*candidate = (struct pk_cudnn_candidate){.config = config};
	int64_t engine = describe(device, candidate);
	const struct pk_cudnn_offer offer = {
		.version = device->version,
		.sm = device->sm,
		.engine = (int)engine,
		.notes = candidate->notes,
	};
	if (engine >= 0 && !pk_cudnn_refusal(pk_cudnn_errata, &offer, fusion))
		list->n++;
}

int pk_cudnn_candidates_init(struct pk_cudnn_candidates *list, const struct pk_cudnn_device *device,
	const struct pk_cudnn_graph *graph, const struct pk_cudnn_fusion *fusion,
	enum pk_cudnn_mode mode, struct pk_err *err)
{
	static const int modes[PK_CUDNN_N_MODES] = {
		PK_CUDNN_MODE_A, PK_CUDNN_MODE_B, PK_CUDNN_MODE_FALLBACK};
	void *configs[PK_CUDNN_MAX_CANDIDATES];
	int64_t n = 0;
	*list = (struct pk_cudnn_candidates){.pool.fn = device->fn};
	struct pk_cudnn_maker maker =
		pk_cudnn_begin(&list->pool, PK_CUDNN_NEW_HEURISTICS, "heuristics", err);
	if (!ask(device, graph, modes[mode], &maker))
		// A mode that has nothing to say is not a failure.
		return maker.error == -ENOTSUP ? 0 : maker.error;
	int r = make_configs(&list->pool, configs, err);
	if (r < 0)
		return r;
	int status = get(device->fn, maker.descriptor, PK_CUDNN_HEUR_RESULTS,
		PK_CUDNN_TYPE_DESCRIPTOR, PK_CUDNN_MAX_CANDIDATES, &n, configs);
	if (status != 0)
		return pk_cudnn_result(device->fn, status, "what heuristics found", err);
	for (int64_t i = 0; i < n && i < PK_CUDNN_MAX_CANDIDATES; i++)
		keep_allowed(list, device, fusion, configs[i]);
	return 0;
}

void pk_cudnn_candidates_finish(struct pk_cudnn_candidates *list)
{
	pk_cudnn_pool_finish(&list->pool);
	list->n = 0;
}
