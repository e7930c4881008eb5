// SPDX-License-Identifier: Apache-2.0
// What must hold of a fallback chain after every step.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first.
#include <cmocka.h>

#include "daemon/fallback.h"

// before, event, after and the actions of one step. Fails the test with what was broken.
void check_step(const struct pk_fallback *before, const struct pk_fb_event *event,
	const struct pk_fallback *after, const struct pk_fb_actions *actions);
// The state as one line for messages.
const char *describe_fallback(const struct pk_fallback *fallback);
extern const char *const fallback_event_names[PK_N_FB_EVENTS];
