// SPDX-License-Identifier: Apache-2.0
// A result with its picture, copied so that it can be drawn later on another thread.
#include "pipeline/sinks/marked.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/clock.h"

void pk_marked_fill(struct pk_marked *marked, const struct pk_result *result)
{
	char time[PK_ISO_TIME_MAX];
	pk_format_iso_time(result->frame->realtime_ns, time);
	snprintf(marked->camera, sizeof(marked->camera), "%s", result->camera);
	snprintf(marked->caption, sizeof(marked->caption), "%s  %s  %s", result->camera,
		result->rung, time);
	marked->n_boxes = PK_MIN(result->n_detections, (size_t)PK_MARKED_BOXES);
	for (size_t i = 0; i < marked->n_boxes; i++) {
		const struct pk_detection *d = &result->detections[i];
		const char *label = result->card ? pk_card_label(result->card, d->class_idx) : NULL;
		char number[24];
		snprintf(number, sizeof(number), "class %d", d->class_idx);
		marked->boxes[i].detection = *d;
		snprintf(marked->boxes[i].label, sizeof(marked->boxes[i].label), "%.32s %d%%",
			label ? label : number, (int)(d->score * 100 + 0.5f));
	}
	marked->frame = pk_frame_ref(result->frame);
}

void pk_marked_draw(const struct pk_marked *marked, struct pk_canvas *canvas)
{
	int thick = PK_MAX(2, PK_MIN(canvas->width, canvas->height) / 240);
	int bar = pk_canvas_label_height(canvas);
	bool whole = true;
	int below = bar;
	for (size_t i = 0; i < marked->n_boxes; i++) {
		const struct pk_detection *d = &marked->boxes[i].detection;
		struct pk_canvas_color color = pk_canvas_class_color(d->class_idx);
		const int box[4] = {
			(int)d->x1, (int)d->y1, (int)(d->x2 + 0.5f), (int)(d->y2 + 0.5f)};
		whole = box[0] <= 0 && box[1] <= 0 && box[2] >= canvas->width &&
			box[3] >= canvas->height;
		if (!whole)
			pk_canvas_frame(canvas, box, thick, color);
		int y = whole ? below : box[1] >= bar ? box[1] - bar : box[1];
		below += whole ? bar : 0; // classes of the whole picture stand in a list
		pk_canvas_label(canvas, box[0], y, marked->boxes[i].label, color);
	}
	pk_canvas_label(canvas, 0, 0, marked->caption, (struct pk_canvas_color){32, 32, 32});
}
