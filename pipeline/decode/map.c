// SPDX-License-Identifier: Apache-2.0
// A probability map: connected regions above the threshold become boxes (text detection, DBNet).
#include <errno.h>
#include <string.h>

#include "pipeline/decode/decoder.h"

// Regions of one map at most, in reading order; more is noise.
#define PK_MAP_MAX_REGIONS 4096

struct pk_map_region {
	int x0, y0, x1, y1; // pixels inside, inclusive
	size_t area;
	double sum;
};

// Fixed memory of one run: who was seen, and the pixels whose neighbours are still to be seen.
struct pk_map_fill {
	const float *p;
	int width, height;
	float threshold;
	uint8_t *seen;
	uint32_t *stack;
	size_t n_stack;
};

static int pk_map_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_decode_output *map = pk_decoder_output(decoder, PK_ROLE_MAP, 0, err);
	if (!map)
		return -EINVAL;
	if (decoder->card->decode.activation == PK_SCORE_SOFTMAX)
		return pk_fail(err, -EINVAL,
			"card `%s`: decode.score: softmax is not for family map",
			decoder->card->name);
	if (map->dtype != PK_F32)
		return pk_fail(err, -EINVAL, "card `%s`: output `%s` is %s, expected f32",
			decoder->card->name, map->name, pk_dtype_name(map->dtype));
	const struct pk_shape *s = &map->shape;
	if (s->rank != 4 || s->dims[0] != 1 || s->dims[1] != 1)
		return pk_decoder_bad_shape(decoder, map, err, "[1,1,h,w]");
	*max_candidates = map->n < PK_MAP_MAX_REGIONS ? map->n : PK_MAP_MAX_REGIONS;
	*scratch_bytes = map->n * (sizeof(uint32_t) + 1); // each pixel is stacked once at most
	return 0;
}

static void pk_map_push(struct pk_map_fill *fill, int x, int y)
{
	size_t at = (size_t)y * (size_t)fill->width + (size_t)x;
	if (fill->seen[at] || !(fill->p[at] >= fill->threshold))
		return;
	fill->seen[at] = 1;
	fill->stack[fill->n_stack++] = (uint32_t)at;
}

static void pk_map_push_neighbours(struct pk_map_fill *fill, int x, int y)
{
	int x0 = x > 0 ? x - 1 : 0, x1 = x + 1 < fill->width ? x + 1 : x;
	int y0 = y > 0 ? y - 1 : 0, y1 = y + 1 < fill->height ? y + 1 : y;
	for (int ny = y0; ny <= y1; ny++)
		for (int nx = x0; nx <= x1; nx++)
			pk_map_push(fill, nx, ny);
}

static void pk_map_grow(struct pk_map_region *region, int x, int y, float v)
{
	region->x0 = x < region->x0 ? x : region->x0;
	region->x1 = x > region->x1 ? x : region->x1;
	region->y0 = y < region->y0 ? y : region->y0;
	region->y1 = y > region->y1 ? y : region->y1;
	region->area++;
	region->sum += (double)v;
}

// The whole region (8 neighbours) around an unseen pixel; no recursion, so no bound on its shape.
static struct pk_map_region pk_map_region_at(
	struct pk_decoder *decoder, struct pk_map_fill *fill, int x, int y)
{
	struct pk_map_region region = {.x0 = x, .y0 = y, .x1 = x, .y1 = y};
	pk_map_push(fill, x, y);
	while (fill->n_stack) {
		uint32_t at = fill->stack[--fill->n_stack];
		int px = (int)(at % (uint32_t)fill->width), py = (int)(at / (uint32_t)fill->width);
		pk_map_grow(&region, px, py, pk_decoder_activate(decoder, fill->p[at]));
		pk_map_push_neighbours(fill, px, py);
	}
	return region;
}

static void pk_map_take(struct pk_decoder *decoder, const struct pk_map_fill *fill,
	const struct pk_map_region *region)
{
	if ((double)region->area < decoder->card->post.min_area)
		return;
	float sx = (float)decoder->input_width / (float)fill->width;
	float sy = (float)decoder->input_height / (float)fill->height;
	pk_decoder_add(decoder, &(struct pk_candidate){.x1 = (float)region->x0 * sx,
					.y1 = (float)region->y0 * sy,
					.x2 = (float)(region->x1 + 1) * sx,
					.y2 = (float)(region->y1 + 1) * sy,
					.score = (float)(region->sum / (double)region->area),
					.idx = (uint32_t)region->y0 * (uint32_t)fill->width +
					       (uint32_t)region->x0});
}

static void pk_map_run(struct pk_decoder *decoder)
{
	const struct pk_decode_output *map = pk_decoder_output(decoder, PK_ROLE_MAP, 0, NULL);
	struct pk_map_fill fill = {.p = pk_decoder_data(decoder, map),
		.width = (int)map->shape.dims[3],
		.height = (int)map->shape.dims[2],
		.threshold = pk_decoder_threshold(decoder),
		.stack = decoder->scratch,
		.seen = (uint8_t *)decoder->scratch + map->n * sizeof(uint32_t)};
	memset(fill.seen, 0, map->n);
	for (int y = 0; y < fill.height; y++) {
		for (int x = 0; x < fill.width; x++) {
			size_t at = (size_t)y * (size_t)fill.width + (size_t)x;
			if (fill.seen[at] || !(fill.p[at] >= fill.threshold))
				continue;
			struct pk_map_region region = pk_map_region_at(decoder, &fill, x, y);
			pk_map_take(decoder, &fill, &region);
		}
	}
}

const struct pk_decoder_ops pk_decoder_map = {
	.family = PK_DECODE_MAP,
	.name = "map",
	.check = pk_map_check,
	.run = pk_map_run,
	.no_nms = true,
};
