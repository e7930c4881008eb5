// SPDX-License-Identifier: Apache-2.0
// The schema tables of picket.yaml.
#pragma once

#include "config/schema.h"

extern const struct pk_schema pk_config_schema;
// Parts of it that are compared by themselves.
extern const struct pk_schema pk_config_source_schema;
extern const struct pk_schema pk_config_camera_schema;
extern const struct pk_schema pk_config_model_schema;
extern const struct pk_schema pk_config_sink_schema;
extern const struct pk_schema pk_config_registry_schema;

// Parts of a model, in update_table.c.
extern const struct pk_schema pk_config_poll_schema, pk_config_window_schema,
	pk_config_signature_schema, pk_config_limits_schema, pk_config_check_schema;
