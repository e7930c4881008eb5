// SPDX-License-Identifier: Apache-2.0
// Sources that are a plain chain of elements, as launch text: made without a device, so that the
// text can be tested where there is none.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "pipeline/elements.h"

#define PK_PLAN_TEXT_MAX 2048

struct pk_source_plan {
	// Ends in raw video in system memory. The source is called "picket-src". No word of the
	// operator's is in it but checked names and numbers: paths and addresses are set as
	// properties, so nothing has to be quoted.
	char text[PK_PLAN_TEXT_MAX];
	const char *property; // of picket-src, that gets `value`; NULL: none
	const char *value;    // the config's
};

// For v4l2, csi and http. -ENOENT: elements are missing, and which.
int pk_source_plan(const struct pk_source_config *config, const struct pk_elements *elements,
	struct pk_source_plan *out, struct pk_err *err) pk_must_check;
