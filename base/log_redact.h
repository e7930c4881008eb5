// SPDX-License-Identifier: Apache-2.0
// Takes registered secrets out of a text: for the log, and for what else leaves the process.
#pragma once

#include "base/buf.h"

// Appends text to out with each secret of pk_log_redact, as it is or percent-encoded in whole or in
// part, replaced by "***". Any thread.
void pk_log_redact_append(struct pk_buf *out, const char *text);
