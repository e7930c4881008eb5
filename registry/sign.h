// SPDX-License-Identifier: Apache-2.0
// Signs an artifact that lies in an OCI layout, so that pushing the layout pushes its signature.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"
#include "registry/registry.h"
#include "registry/signer.h"

struct pk_sign_result {
	struct pk_digest digest; // of the manifest that is signed
	bool already;            // this key's signature was there; nothing was written
	char tag[80];            // under which the signature lies
};

// format: one of PK_SIGNATURE_COSIGN and PK_SIGNATURE_BUNDLE. The signatures of other keys stay.
// The layout's tags move last, so a reader never sees half a signature. ref: scheme "oci". -EINVAL,
// -ENOENT, -ENOTSUP (an index), -EBUSY (another writer), as the layout writer.
int pk_sign_layout(const struct pk_ref *ref, const struct pk_signer *signer, unsigned format,
	struct pk_sign_result *out, struct pk_err *err) pk_must_check;
