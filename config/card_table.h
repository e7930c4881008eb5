// SPDX-License-Identifier: Apache-2.0
// The schema tables of card.yaml.
#pragma once

#include "config/schema.h"

// postprocess.nms.type; the card holds it as an iou of 1 (see card.h).
enum pk_card_nms { PK_CARD_NMS_HARD, PK_CARD_NMS_NONE };

extern const struct pk_schema pk_card_schema;
