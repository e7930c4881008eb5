// SPDX-License-Identifier: Apache-2.0
// Paths named in a file are relative to that file's folder; these make them absolute.
#pragma once

#include "base/attr.h"
#include "base/err.h"

// Each fits pk_schema_resolve: *out is malloc'ed and the caller's on 0; -EINVAL with the reason;
// -ENOMEM. dir is absolute. Nothing is looked up on disk, links and ".." stay as they are.

// A plain path.
int pk_path_resolve(const char *text, const char *dir, char **out, struct pk_err *err)
	pk_must_check;
// "-" (standard output), "unix:PATH", or a plain path.
int pk_path_resolve_output(const char *text, const char *dir, char **out, struct pk_err *err)
	pk_must_check;
// A reference to an artifact: "oci:FOLDER:TAG", "file:TAR:TAG" (the folder or tar file is made
// absolute), "HOST[:PORT]/NAME:TAG", each also or instead with "@sha256:64 hex digits", and
// "https://HOST/PATH#sha256:64 hex digits". The last check is the registry's.
int pk_path_resolve_artifact(const char *text, const char *dir, char **out, struct pk_err *err)
	pk_must_check;

// A plain path or "credential:NAME".
int pk_path_resolve_secret(const char *text, const char *dir, char **out, struct pk_err *err)
	pk_must_check;
// host[:port] of a registry: 0, or -EINVAL with text after "`what` ".
int pk_path_check_host(const char *text, struct pk_err *err) pk_must_check;

// The folder of a file's path, absolute by the current folder. malloc'ed; NULL: errno.
char *pk_path_folder(const char *file) pk_must_check;
// dir made absolute; NULL or "" mean the current folder. malloc'ed; NULL: errno.
char *pk_path_absolute(const char *dir) pk_must_check;
