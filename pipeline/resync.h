// SPDX-License-Identifier: Apache-2.0
// After a loss: which encoded pictures must not be decoded, because they lean on what is missing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Zero-initialise. One thread. Times are stream times of packets and pictures, ns; -1: not known.
struct pk_resync {
	bool begun;           // the first packet came
	bool synced;          // a whole key frame came, and nothing is missing since
	bool whole;           // the last picture that had a time lacks nothing
	uint16_t next_number; // that the next packet should have
	int64_t damaged_ns;   // pictures up to this time may lack something
	int64_t first_ns;     // of the first packet that no picture took yet
	int64_t last_ns;      // of the last packet
};

// A packet, in the order in which they are put together (RTP sequence number, RFC 3550 5.1).
void pk_resync_packet(struct pk_resync *resync, uint16_t number, int64_t at_ns);
// Whether the picture that was put together may be decoded. leans: it is no key frame. A key frame
// whose packets stand beside a gap may be the damaged one: it is left out too, and so is one before
// which a damaged picture never came out: what is left of that one may have gone into it.
bool pk_resync_pass(struct pk_resync *resync, int64_t at_ns, bool leans);
