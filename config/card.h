// SPDX-License-Identifier: Apache-2.0
// The model card (card.yaml in the artifact): how pictures go in and results come out.
// The key reference is docs/CARD.md, generated from the schema tables in card_table.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "config/problem.h"

enum pk_task { PK_TASK_DETECT, PK_TASK_CLASSIFY, PK_TASK_SEGMENT, PK_TASK_RAW };

enum pk_card_layout { PK_CARD_NCHW, PK_CARD_NHWC };
enum pk_card_color { PK_CARD_RGB, PK_CARD_BGR, PK_CARD_GRAY };
enum pk_card_resize { PK_CARD_STRETCH, PK_CARD_LETTERBOX, PK_CARD_CENTER_CROP };
enum pk_card_anchor { PK_CARD_CENTER, PK_CARD_TOP_LEFT };

enum pk_decode_family {
	PK_DECODE_YOLO_V8,      // one tensor [1,4+nc,N] (or [1,N,4+nc]): box then class scores
	PK_DECODE_YOLO_ANCHORS, // raw YOLOv3/v5/v7 heads, one tensor a stride: anchors, objectness
	PK_DECODE_YOLO_DFL,     // raw YOLOv8/v9/11 heads, one tensor a stride: distances as bins
	PK_DECODE_YOLOX,        // one tensor [1,N,5+nc], offsets from the cells of the grids
	PK_DECODE_END_TO_END,   // one tensor [1,N,6]: box, score, class (YOLOv10, YOLO26)
	PK_DECODE_BOXES_SCORES, // boxes [1,N,4] and scores [1,N,nc]
	PK_DECODE_DETR,         // the same, every (query, class) pair by itself (RT-DETR)
	PK_DECODE_SSD,          // the same, boxes as offsets from generated anchors
	PK_DECODE_DETECTIONS,   // boxes, scores and classes that the graph has suppressed already
	PK_DECODE_BLAZEFACE,    // scores + box offsets on a fixed anchor grid, several tensor pairs
	PK_DECODE_CLASSIFY,     // logits or probabilities [1,nc]
	PK_DECODE_MAP,          // probability map [1,1,h,w]: connected regions become boxes (DBNet)
	PK_DECODE_SEMANTIC,     // scores [1,nc,h,w] or class numbers [1,h,w]: a class a pixel
	PK_DECODE_RAW,          // tensors are passed on as numbers
};
enum pk_box_format { PK_BOX_XYXY, PK_BOX_XYWH, PK_BOX_CXCYWH };
enum pk_box_units { PK_BOX_PIXEL, PK_BOX_NORM }; // of the model's input
enum pk_box_order { PK_BOX_XY, PK_BOX_YX };
enum pk_score_activation { PK_SCORE_NONE, PK_SCORE_SIGMOID, PK_SCORE_SOFTMAX };
enum pk_anchor_formula {
	PK_FORMULA_V5, // xy = (2s - 0.5 + cell) stride, wh = (2s)^2 anchor
	PK_FORMULA_V3, // xy = (s + cell) stride, wh = exp(t) anchor
};
enum pk_background { PK_BACKGROUND_NONE, PK_BACKGROUND_FIRST, PK_BACKGROUND_LAST };
enum pk_output_role {
	PK_ROLE_PRED,
	PK_ROLE_BOXES,
	PK_ROLE_SCORES,
	PK_ROLE_LOGITS,
	PK_ROLE_MAP,
	PK_ROLE_CLASSES,
	PK_ROLE_COUNT,
	PK_ROLE_RAW,
};

#define PK_CARD_MAX_RANK    4
#define PK_CARD_MAX_ANCHORS 64 // numbers, two an anchor

struct pk_card_input {
	char *name;                      // graph input; "" means the only one
	int64_t shape[PK_CARD_MAX_RANK]; // ONNX order as `layout` says; batch first, 1
	size_t rank;
	enum pk_card_layout layout;
	enum pk_card_color color;
	enum pk_card_resize resize;
	enum pk_card_anchor anchor;
	double pad[3]; // 0..255, in `color` order
	bool upscale;  // letterbox may enlarge
	double scale;  // y = (x * scale - mean) / std, x in 0..255
	double mean[3], std[3];
};

struct pk_card_output {
	char *name;
	enum pk_output_role role;
};

struct pk_card {
	char *name;
	enum pk_task task;
	struct pk_card_input input;
	struct pk_card_output *outputs;
	size_t n_outputs;
	struct {
		enum pk_decode_family family;
		int classes;
		bool candidates_last; // pred_axis: last = [1,C,N]; middle = [1,N,C]
		enum pk_box_format box_format;
		enum pk_box_units box_units;
		enum pk_box_order box_order;
		enum pk_score_activation activation;
		bool objectness;
		enum pk_background background;
		int strides[8]; // grid strides, input pixels, one per layer
		size_t n_strides;
		double anchors[PK_CARD_MAX_ANCHORS]; // yolo-anchors: w, h in input pixels, layer by
						     // layer
		size_t n_anchors;                    // numbers, not pairs
		enum pk_anchor_formula formula;      // yolo-anchors
		int reg_max;                         // yolo-dfl: bins of a distance
		double variances[2];                 // ssd: of centres, of sizes
		struct {
			double min_scale,
				max_scale; // of the first and last layer, 0..1 of the input
			double aspect_ratios[8];
			size_t n_aspect_ratios;
			bool reduce_first; // the first layer has three anchors a cell
		} anchor_grid;             // ssd
		int anchors_per_cell[8];   // blazeface: anchors at each cell of the layer
		size_t n_anchors_per_cell;
		int top_k; // classify: how many labels are reported
	} decode;
	struct {
		double conf; // 0..1
		double iou;  // hard NMS threshold; >= 1 switches it off
		bool class_agnostic;
		int max_det;
		double min_area; // map: smallest region, in map pixels
	} post;
	char **labels; // n_labels == classes, or empty
	size_t n_labels;
	struct {
		double max_abs_err; // of the output's range, engine against reference
		double min_cosine;
		double match_iou; // golden detections
		double match_score;
	} gate;
};

int pk_card_parse(const char *text, size_t n, const char *name, struct pk_card **out,
	struct pk_problems *problems) pk_must_check;
int pk_card_load(const char *path, struct pk_card **out, struct pk_problems *problems)
	pk_must_check;
void pk_card_destroy(struct pk_card *card);
PK_DEFINE_AUTO(pk_card, pk_card_destroy);

// The label of a class, or "class N" text from a static buffer-free source: NULL when there is
// none.
const char *pk_card_label(const struct pk_card *card, int class_idx);
