// SPDX-License-Identifier: Apache-2.0
// Class names as exporters write them into ONNX metadata: a Python dict or list literal of strings.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_PY_NAMES_MAX 65536

struct pk_py_names {
	char **items; // by class number; each owned
	size_t n;
};

// "{0: 'person', 1: \"driver's cab\"}" or "['a', 'b']". Keys of a dict must be 0, 1, 2, … in order.
// -EINVAL with the place; -ENOMEM. Whatever it returns, *out is to be given to pk_py_names_finish.
int pk_py_names_parse(const char *text, struct pk_py_names *out, struct pk_err *err) pk_must_check;
void pk_py_names_finish(struct pk_py_names *names);
