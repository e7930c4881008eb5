// SPDX-License-Identifier: Apache-2.0
// What of a config must not get into logs, events or bundles.
#pragma once

#include "base/buf.h"
#include "config/config.h"

// Registers the passwords of camera addresses with pk_log_redact.
void pk_config_redact(const struct pk_config *config);

// Appends text to out without registered secrets, without user and password in any address
// ("://***@"), and without the values of keys called password, passphrase, secret or token.
void pk_secrets_mask(struct pk_buf *out, const char *text);
