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
#include "registry/policy.h"
#include "registry/store.h"

// Where to take an artifact from and which one:
//   host[:port]/name:tag            a registry (OCI distribution-spec); always with a host
//   host[:port]/name@sha256:…       … pinned; with a tag too, the digest wins
//   oci:/folder:tag, @sha256:…      an OCI image layout
//   file:/path.tar:tag, @sha256:…   an OCI image layout in a tar file
//   https://host/path#sha256:…      one plain file, the model itself; the digest is its own
// The tag starts at the last ':' after the last '/'. There is no default tag.
struct pk_ref {
	const char *scheme; // "registry", "oci", "file", "https"; static
	char *location;     // host[:port], the folder, the tar file, or the URL without '#…'
	char *name;         // registry: the repository, "models/yolo"; else NULL
	char *tag;          // NULL when only a digest is given
	bool has_digest;
	struct pk_digest digest; // of the manifest; https: of the file
};
// -EINVAL with the place, before any use of the network. On failure *out holds nothing.
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

// What a poll learned. In: etag of the last one ("" at first); out: all.
struct pk_resolved {
	struct pk_digest digest; // of the manifest for this node's platform
	char etag[256];          // to be given to the next poll; "" when the server sends none
	bool not_modified;       // the same as last time: digest is not set
	int64_t retry_after_ns;  // also on failure: the server asks for so much patience; 0: no
};

// Implementers' door: a NULL-ended table in registry.c maps schemes to these.
struct pk_registry_ops {
	const char *scheme; // "oci"
	// options (or NULL) and what they point at outlive impl.
	int (*open)(const struct pk_ref *ref, const struct pk_registry_options *options,
		void **impl, struct pk_err *err);
	// Raw manifest bytes for ref's digest or tag, appended to out (bounded by its max). The
	// caller checks them against ref's digest; what a tag points at is the implementation's to
	// check. poll (or NULL): etag is sent and renewed, not_modified and retry_after_ns are set;
	// an implementation without etags leaves it alone.
	int (*get_manifest)(void *impl, const struct pk_ref *ref, struct pk_resolved *poll,
		struct pk_buf *out, struct pk_err *err);
	// Streams a blob of `size` bytes to fd from offset `have`, where fd stands. Does not
	// verify; 0 means that all bytes were written.
	int (*get_blob)(void *impl, const struct pk_descriptor *blob, int fd, int64_t have,
		struct pk_err *err);
	// The last blob's bytes were wrong: true when the next get_blob will ask somebody else.
	// NULL: there is nobody else.
	bool (*distrust)(void *impl);
	// An image index of what refers to subject (the referrers API). -ENOENT: no such API here;
	// NULL: the same.
	int (*get_referrers)(void *impl, const struct pk_digest *subject, const char *artifact_type,
		struct pk_buf *out, struct pk_err *err);
	// Whom later get_blob calls tell of their progress; NULL: nobody. *watch outlives them.
	void (*watch)(void *impl, const struct pk_registry_watch *watch);
	void (*close)(void *impl);
};

// options (or NULL) and what they point at outlive *out. One thread at a time.
int pk_registry_open(const struct pk_ref *ref, const struct pk_registry_options *options,
	struct pk_registry **out, struct pk_err *err) pk_must_check;
void pk_registry_close(struct pk_registry *registry);
PK_DEFINE_AUTO(pk_registry, pk_registry_close);

// Reads of single things. Errors by errno: -ENOENT missing, -EACCES credentials, -EBADMSG bytes
// that do not match their digest or size, -EFBIG more than max, -EPROTO a server against the
// protocol, -EKEYREJECTED TLS, -EAGAIN "later" (429, 5xx), -ETIMEDOUT, -ECONNREFUSED, -ECONNRESET,
// -EHOSTUNREACH, -ENETDOWN the network, -EDQUOT the byte budget, -ECANCELED.

// Raw bytes of a manifest (or index) of the same repository by ref's digest, which is checked, or
// tag. Appended to out.
int pk_registry_manifest(struct pk_registry *registry, const struct pk_ref *ref, size_t max,
	struct pk_buf *out, struct pk_err *err) pk_must_check;
// A whole small blob, size and digest verified, appended to out.
int pk_registry_blob(struct pk_registry *registry, const struct pk_descriptor *blob, size_t max,
	struct pk_buf *out, struct pk_err *err) pk_must_check;
// An image index ({"manifests": […]}) of what says that it refers to subject: the referrers API,
// else the tag sha256-<hex>; entries of another artifactType are left out (NULL: none is). An entry
// is a hint only: the reader checks each manifest's own `subject`. No referrers: an empty list.
int pk_registry_referrers(struct pk_registry *registry, const struct pk_digest *subject,
	const char *artifact_type, struct pk_buf *index_json, struct pk_err *err) pk_must_check;

// Called now and then while bytes move; may be NULL. Return non-zero to cancel (-ECANCELED).
struct pk_pull_progress {
	// Of what is not in the store yet; a continued partial file counts as done.
	int (*update)(void *ctx, int64_t done_bytes, int64_t total_bytes);
	void *ctx;
	// Once for config, each layer and the manifest, in this order, when it is in the store; may
	// be NULL. name: "config", "manifest", or the layer's title (NULL: it has none).
	void (*blob)(void *ctx, const char *name, const struct pk_descriptor *blob, bool fetched);
};

// The digest of the manifest that text names now; fetches nothing else. On failure only
// inout->retry_after_ns is set. Any thread.
int pk_resolve(const char *ref_text, const struct pk_registry_options *options,
	struct pk_resolved *inout, struct pk_err *err) pk_must_check;

// Resolves text, fetches manifest, config and layers into the store, verifying size and digest of
// every blob while it is written; blobs that are there already are not fetched. Of an image index
// the manifest for this platform is taken. On 0 *manifest is the caller's (pk_manifest_destroy) and
// everything it names is in the store. A cut transfer is continued, here a few times and by the
// next pull. Errors: those above; -ENOSPC: the quota, told before anything is written, or the disk,
// told before the blob that is too big for it; -EBUSY: another process fetches the same blob;
// -ENOTSUP, -EINVAL: as the text says. Blocks; any thread, one at a time per store.
int pk_pull(const char *ref_text, const struct pk_registry_options *options, struct pk_store *store,
	const struct pk_pull_progress *progress, struct pk_manifest **manifest, struct pk_err *err)
	pk_must_check;
