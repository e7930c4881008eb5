// SPDX-License-Identifier: Apache-2.0
// The name under which an operation's times are kept.
#pragma once

#include "base/buf.h"
#include "engine/ir/graph.h"

// "conv(f32[1,3,8,8],f32[4,3,3,3],_)->f32[1,4,8,8]{strides=1,1 …}": everything a kernel's time
// depends on, no names. Appends to out.
int pk_op_key(const struct pk_node *node, struct pk_buf *out);
