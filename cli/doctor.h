// SPDX-License-Identifier: Apache-2.0
// What `picketctl doctor` found: rows of verdicts.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attr.h"

enum pk_verdict { PK_VERDICT_OK, PK_VERDICT_SKIPPED, PK_VERDICT_WARNING, PK_VERDICT_BAD };

struct pk_doctor {
	json_t *rows;   // [{check, verdict, text, remedy}]
	json_t *status; // GET /v1/status, or NULL: picketd does not answer
	enum pk_verdict worst;
};

// Looks at everything. after_upgrade: also which engines will be built anew.
void pk_doctor_look(struct pk_doctor *doctor, bool after_upgrade);
void pk_doctor_finish(struct pk_doctor *doctor);
void pk_doctor_add(struct pk_doctor *doctor, const char *check, enum pk_verdict verdict,
	const char *remedy, const char *fmt, ...) pk_printf(5, 6);
// The engines part (cli/doctor_engines.c).
void pk_doctor_engines(struct pk_doctor *doctor);
