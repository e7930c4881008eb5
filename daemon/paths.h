// SPDX-License-Identifier: Apache-2.0
// Where things lie on this node; every path stands below one root.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_paths {
	char *root;     // "" or absolute, without '/' at the end
	char *config;   // …/etc/picket/picket.yaml, or as told
	char *drop_ins; // picket.d beside the config
	char *lib;      // …/var/lib/picket: the store
	char *engines;  // …/var/lib/picket/engines
	char *timing;
	char *state;
	char *build;            // …/var/lib/picket/build: what a build may write to
	char *run;              // …/run/picket
	char *socket;           // …/run/picket/control.sock
	char *worker, *builder; // the programs
};

// Each argument may be NULL. root: default "" (that is "/"). libexec: where the programs lie;
// default $PICKET_LIBEXEC, else the folder of the running program when picket-worker is there, else
// the installed one.
int pk_paths_init(struct pk_paths *paths, const char *root, const char *config, const char *libexec,
	struct pk_err *err) pk_must_check;
void pk_paths_finish(struct pk_paths *paths);
// Makes the folders that picketd writes to.
int pk_paths_make(const struct pk_paths *paths, struct pk_err *err) pk_must_check;
