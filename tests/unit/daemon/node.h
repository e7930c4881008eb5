// SPDX-License-Identifier: Apache-2.0
// A whole picketd on a temporary root, with doubles for its two programs.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/subprocess.h"
#include "tests/unit/daemon/support.h"

struct node {
	char *root;
	struct pk_subprocess process;
	int notify_fd; // receives what systemd would; -1: none
	char notified[8192];
};

// programs: picketd and the folder of the doubles.
void node_programs(const char *picketd, const char *doubles);
// Folders, a registry with "parts" under tag "stable", and the usual config; starts nothing.
// watchdog: as if systemd wanted a sign of life each 400 ms.
void node_init(struct node *node, bool watchdog);
void node_finish(struct node *node); // kills
// config: the text of picket.yaml; "%s" stands for the root (at most twice).
void node_config(struct node *node, const char *config);
// A build's address space has no limit in it: the sanitizers need terabytes.
extern const char node_usual_config[];
void node_bundle(struct node *node, const char *tag, const char *onnx); // a model under that tag
void node_start(struct node *node);                                     // waits for the socket
int node_spawn(struct node *node); // only the process; 0 or -errno
// SIGTERM, waits: the exit code; -1 when it took longer than 2 s or died of a signal.
int node_stop(struct node *node);

// One HTTP exchange over the control socket: the body (malloc'ed) and *status; NULL: no answer.
char *node_http(struct node *node, const char *request, int *status);
json_t *node_get(struct node *node, const char *path, int *status); // and parsed
json_t *node_post(struct node *node, const char *path, int *status);

// Waits until the model has that rung, at most limit_ms.
bool node_wait_rung(struct node *node, const char *rung, int limit_ms);
bool node_wait_alarm(struct node *node, int limit_ms);
// Text member of the (only) model.
void node_model_text(struct node *node, const char *member, char out[512]);
void node_update_text(struct node *node, const char *member, char out[512]); // of its `update`
pid_t node_worker_pid(struct node *node);
// Number of events of that name; fields of the last one's member into value (may be NULL).
unsigned node_events(struct node *node, const char *name, const char *member, char value[512]);
unsigned node_n_builds(struct node *node); // since the root was made
// Takes what was notified so far; true when it contains text.
bool node_notified(struct node *node, const char *text, int limit_ms);
