// SPDX-License-Identifier: Apache-2.0
// Where artifacts come from: a reference names one, a registry resolves and serves its bytes, the
// caller verifies every one of them. Users' door; one implementation per transport.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "registry/manifest.h"
#include "registry/store.h"

// "oci:/folder:tag", "oci:/folder@sha256:…" (an OCI image layout), both together (the digest wins).
// The tag starts at the last ':' after the last '/'. Later: "host/name:tag".
struct pk_ref {
	const char *scheme; // "oci"; static
	char *location;     // oci: the folder
	char *tag;          // NULL when only a digest is given
	bool has_digest;
	struct pk_digest digest;
};
// -EINVAL, or -ENOTSUP for a registry over HTTP. On failure *out holds nothing.
int pk_ref_parse(const char *text, struct pk_ref *out, struct pk_err *err) pk_must_check;
void pk_ref_finish(struct pk_ref *ref);
// [a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}, of the OCI distribution-spec. 0 or -EINVAL.
int pk_ref_check_tag(const char *tag, struct pk_err *err) pk_must_check;

struct pk_registry;

// Told by get_blob after each piece that it wrote to fd, and after it truncated fd to start afresh.
// Anything but 0 stops the transfer and is what get_blob returns.
struct pk_registry_watch {
	int (*landed)(void *ctx, struct pk_err *err);
	void *ctx;
};

// Implementers' door: a NULL-ended table in registry.c maps schemes to these.
struct pk_registry_ops {
	const char *scheme; // "oci"
	int (*open)(const struct pk_ref *ref, void **impl, struct pk_err *err);
	// Raw manifest bytes for ref's digest or tag, appended to out (bounded by its max). The
	// caller checks them against ref's digest; what a tag points at is the implementation's to
	// check.
	int (*get_manifest)(
		void *impl, const struct pk_ref *ref, struct pk_buf *out, struct pk_err *err);
	// Streams a blob of `size` bytes to fd from offset `have`, where fd stands. Does not
	// verify; 0 means that all bytes were written.
	int (*get_blob)(void *impl, const struct pk_descriptor *blob, int fd, int64_t have,
		struct pk_err *err);
	// Whom later get_blob calls tell of their progress; NULL: nobody. *watch outlives them.
	void (*watch)(void *impl, const struct pk_registry_watch *watch);
	void (*close)(void *impl);
};

int pk_registry_open(const struct pk_ref *ref, struct pk_registry **out, struct pk_err *err)
	pk_must_check;
void pk_registry_close(struct pk_registry *registry);
PK_DEFINE_AUTO(pk_registry, pk_registry_close);

// Called now and then while bytes move; may be NULL. Return non-zero to cancel (-ECANCELED).
struct pk_pull_progress {
	// Of what is not in the store yet; a continued partial file counts as done.
	int (*update)(void *ctx, int64_t done_bytes, int64_t total_bytes);
	void *ctx;
	// Once for config, each layer and the manifest, in this order, when it is in the store; may
	// be NULL. name: "config", "manifest", or the layer's title (NULL: it has none).
	void (*blob)(void *ctx, const char *name, const struct pk_descriptor *blob, bool fetched);
};

// The digest of the manifest that text names now; fetches nothing else. Any thread.
int pk_resolve(const char *ref_text, struct pk_digest *out, struct pk_err *err) pk_must_check;

// Resolves text, fetches manifest, config and layers into the store, verifying size and digest of
// every blob while it is written; blobs that are there already are not fetched. On 0 *manifest is
// the caller's (pk_manifest_destroy) and everything it names is in the store. A cut transfer is
// continued by the next pull. -EBADMSG: bytes that do not match their digest or size; -ENOSPC:
// the quota, told before anything is written, or the disk, told before the blob that is too big for
// it; -EBUSY: another process fetches the same blob; -ENOENT, -ENOTSUP, -EINVAL: as the text says.
// Blocks; any thread, one at a time per store.
int pk_pull(const char *ref_text, struct pk_store *store, const struct pk_pull_progress *progress,
	struct pk_manifest **manifest, struct pk_err *err) pk_must_check;
