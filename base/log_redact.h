// SPDX-License-Identifier: Apache-2.0
// Private to the log: takes registered secrets out of a text.
#pragma once

#include "base/buf.h"

// Appends text to out with each secret of pk_log_redact, as it is or percent-encoded in whole or in
// part, replaced by "***". Any thread.
void pk_log_redact_append(struct pk_buf *out, const char *text);
