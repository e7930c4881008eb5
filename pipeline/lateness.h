// SPDX-License-Identifier: Apache-2.0
// When decoding does not keep up: which encoded pictures are left out, so that those that are
// decoded are fresh.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Zero-initialise and set the limit. One thread.
struct pk_lateness {
	int64_t limit_ns; // later than this is late; 0: nothing is
	bool begun;
	bool waiting;       // for a key frame that is in time
	int64_t floor_ns;   // delay of pictures that nothing holds up
	int64_t seen_ns;    // time of the last picture
	int64_t waiting_ns; // time of the first picture that was left out
};

enum pk_lateness_word {
	PK_LATENESS_DECODE,
	PK_LATENESS_LEAVE_OUT,
	PK_LATENESS_LEAVE_OUT_FROM_HERE, // likewise, the first one of several
};

// A picture comes at now_ns, so long after it was due; key: it leans on no other. What counts is
// the delay beyond the smallest one, because sources stamp their pictures as they like. Once one is
// late, the stream is left out up to a key frame that is not. A stream that is still late after a
// second without decoding is late by itself: that is its delay from then on.
enum pk_lateness_word pk_lateness_judge(
	struct pk_lateness *lateness, int64_t now_ns, int64_t delay_ns, bool key);
// The stream begins anew, or its times mean nothing.
void pk_lateness_reset(struct pk_lateness *lateness);
