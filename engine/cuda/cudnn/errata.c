// SPDX-License-Identifier: Apache-2.0
// The errata list.
#include "engine/cuda/cudnn/errata.h"

#include "engine/cuda/cudnn/constants.h"

#define NOTE(n) (1u << (n))

// One row per known fault, found on a device by validation (engine/cuda/tune.h) or stated by the
// vendor. Empty of faults so far: no plan of ours has run on hardware yet.
const struct pk_cudnn_erratum pk_cudnn_errata[] = {
	{0},
};

static bool is_meant(const struct pk_cudnn_erratum *row, const struct pk_cudnn_offer *offer,
	const struct pk_cudnn_fusion *fusion)
{
	return offer->version >= row->first_version && offer->version <= row->last_version &&
	       (!row->sm || row->sm == offer->sm) &&
	       (row->engine < 0 || row->engine == offer->engine) &&
	       (row->core < 0 || row->core == (int)fusion->core) &&
	       (row->type < 0 || row->type == fusion->x.type);
}

const char *pk_cudnn_refusal(const struct pk_cudnn_erratum *table,
	const struct pk_cudnn_offer *offer, const struct pk_cudnn_fusion *fusion)
{
	if (offer->notes & NOTE(PK_CUDNN_NOTE_NONDETERMINISTIC))
		return "its sums depend on the order of threads";
	if (offer->notes & NOTE(PK_CUDNN_NOTE_REDUCED_SUM))
		return "it sums in the half type";
	if (fusion->strict && fusion->x.type == PK_CUDNN_DATA_FLOAT &&
		offer->notes & (NOTE(PK_CUDNN_NOTE_TENSOR_CORE) | NOTE(PK_CUDNN_NOTE_DOWN_CONVERT)))
		return "it cuts f32 inputs down";
	for (const struct pk_cudnn_erratum *row = table; row->why; row++) {
		if (is_meant(row, offer, fusion))
			return row->why;
	}
	return NULL;
}
