// SPDX-License-Identifier: Apache-2.0
// Numbers with units as people write them: 250ms, 64KiB, 15/s. Exact, overflow-checked, and the
// same under every locale.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

// Each parses the whole text. 0, or -EINVAL / -ERANGE (too large) with the reason in err, which
// may be NULL. *out is untouched on failure. Negative quantities are refused. Any thread.

// Nanoseconds. Units ns us ms s m h d; a fraction is fine (1.5s) as far as whole nanoseconds go.
// "0" alone needs no unit.
int pk_quantity_duration(const char *text, int64_t *ns, struct pk_err *err) pk_must_check;
// Bytes. Units B KiB MiB GiB TiB (powers of 1024) and kB KB MB GB TB (of 1000). "0" needs no unit.
int pk_quantity_bytes(const char *text, int64_t *bytes, struct pk_err *err) pk_must_check;
// Hertz. "15/s", "15fps", "90/m", "600/h", or a plain number per second.
int pk_quantity_rate(const char *text, double *hz, struct pk_err *err) pk_must_check;
// Whole decimal number, sign allowed, no leading zeros.
int pk_quantity_int(const char *text, int64_t *out, struct pk_err *err) pk_must_check;
// Decimal number, exponent allowed; not inf, nan or hex.
int pk_quantity_float(const char *text, double *out, struct pk_err *err) pk_must_check;

// The shortest usual text that parses back to the same value.
#define PK_QUANTITY_TEXT_MAX 48
void pk_quantity_print_duration(int64_t ns, char out[PK_QUANTITY_TEXT_MAX]);
void pk_quantity_print_bytes(int64_t bytes, char out[PK_QUANTITY_TEXT_MAX]);
void pk_quantity_print_rate(double hz, char out[PK_QUANTITY_TEXT_MAX]);
void pk_quantity_print_float(double v, char out[PK_QUANTITY_TEXT_MAX]);
