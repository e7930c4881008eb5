// SPDX-License-Identifier: Apache-2.0
// One client of the control API: HTTP over picketd's unix socket.
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_answer {
	long status; // HTTP
	char *text;  // the body as it came
	size_t n;
	json_t *json; // parsed; an object
};
void pk_answer_finish(struct pk_answer *answer);

// method "GET" or "POST"; path as control_api.h says. 0 when picketd answered with JSON, whatever
// the status; else a negative errno, and err says what to do.
int pk_client_call(const char *method, const char *path, struct pk_answer *answer,
	struct pk_err *err) pk_must_check;
// The same with a body of n bytes.
int pk_client_send(const char *path, const void *body, size_t n, struct pk_answer *answer,
	struct pk_err *err) pk_must_check;
// The same where every status but 200 is a failure: err then carries picketd's own reason.
int pk_client_get(const char *path, struct pk_answer *answer, struct pk_err *err) pk_must_check;

// Calls line for each line of an endless answer, without its '\n'; empty lines are left out. Ends
// with 0 when line returns non-zero, else with a negative errno: picketd is gone.
int pk_client_follow(const char *path, int (*line)(void *ctx, const char *text, size_t n),
	void *ctx, struct pk_err *err) pk_must_check;

// name with everything that a path cannot carry percent-encoded, behind prefix; malloc'ed.
char *pk_client_path(const char *prefix, const char *name, const char *suffix) pk_must_check;
