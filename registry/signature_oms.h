// SPDX-License-Identifier: Apache-2.0
// Signatures of loose files: OpenSSF Model Signing 1.0, method "key", for what comes on a stick.
#pragma once

#include "base/array.h"
#include "base/attr.h"
#include "base/err.h"
#include "registry/signature_claim.h"

struct pk_signature_file {
	char *name; // relative, '/' between its parts
	struct pk_digest digest;
};
struct pk_signature_files {
	struct pk_signature_file *items; // any order
	size_t n, cap;
};
void pk_signature_files_finish(struct pk_signature_files *files);
// Every regular file below folder, hashed. skip_path: the signature's own file, passed over when it
// lies there; NULL: none. -ELOOP: a link (they are not followed), or folders deeper than 16;
// -EINVAL: neither file nor folder, a name that is not UTF-8; -EFBIG: above 4096 files.
int pk_signature_files_list(const char *folder, const char *skip_path,
	struct pk_signature_files *files, struct pk_err *err) pk_must_check;

// Pure. OK when a pinned key signed exactly these files: each signed one is there unchanged, and no
// other but what the specification (section 6.2: .git, .github, …) or the signed list of ignored
// paths passes over. claim->digest is not used; claim->seq is -1, as files state none.
enum pk_signature_reason pk_signature_oms_check(const struct pk_signature_claim *claim,
	const struct pk_buf *bundle, const struct pk_signature_files *files,
	const struct pk_trusted_key **key, struct pk_err *err) pk_must_check;

// Both on disk. As pk_signature_verify; the policy's threshold, name and target do not apply.
int pk_signature_oms_verify(const char *folder, const char *bundle_path,
	const struct pk_signature_policy *policy, struct pk_signature_verdict *out,
	struct pk_err *err) pk_must_check;
