// SPDX-License-Identifier: Apache-2.0
// One camera as inference sees it.
#include "pipeline/station.h"

#include <stdio.h>
#include <stdlib.h>

static void pk_station_release(struct pk_lane *lane)
{
	struct pk_station *station = pk_container_of(lane, struct pk_station, lane);
	pk_relay_unref(station->relay);
	free(station);
}

struct pk_station *pk_station_create(const char *name)
{
	struct pk_station *station = calloc(1, sizeof(*station));
	if (!station || !(station->relay = pk_relay_create())) {
		free(station);
		return NULL;
	}
	pk_lane_init(&station->lane, pk_station_release);
	snprintf(station->name, sizeof(station->name), "%s", name);
	return station;
}

uint64_t pk_station_n_dropped(const struct pk_station *station)
{
	return pk_mailbox_n_replaced(&station->lane.mailbox) + pk_counter_get(&station->n_lost);
}
