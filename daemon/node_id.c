// SPDX-License-Identifier: Apache-2.0
// The node's id.
#include "daemon/node_id.h"

#include <stdio.h>
#include <systemd/sd-id128.h>

// Picket's own, so that the id tells nothing to others who use the machine id.
#define PICKET_APP_ID SD_ID128_MAKE(5e, 3c, 0a, 91, 7d, 42, 4f, 6b, 9c, 1e, 28, d7, 60, b3, f5, 84)

void pk_node_id(const struct pk_config *config, char out[PK_NODE_ID_MAX])
{
	sd_id128_t id;
	if (config->node_id[0])
		snprintf(out, PK_NODE_ID_MAX, "%s", config->node_id);
	else if (sd_id128_get_machine_app_specific(PICKET_APP_ID, &id) == 0)
		snprintf(out, PK_NODE_ID_MAX, SD_ID128_FORMAT_STR, SD_ID128_FORMAT_VAL(id));
	else
		snprintf(out, PK_NODE_ID_MAX, "%.150s", config->node_name);
}
