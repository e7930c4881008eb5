// SPDX-License-Identifier: Apache-2.0
// The control API described as OpenAPI 3.1, out of the route table and daemon/api_list.h.
#pragma once

#include <jansson.h>

json_t *pk_openapi_json(void); // new reference; NULL: no memory
