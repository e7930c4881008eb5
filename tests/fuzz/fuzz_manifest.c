// SPDX-License-Identifier: Apache-2.0
// Manifests and layout indexes, as a registry that lies may serve them.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "registry/descriptor.h"
#include "registry/layout.h"
#include "registry/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_manifest(const uint8_t *data, size_t size)
{
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	if (pk_manifest_parse(data, size, &manifest, &err) < 0) {
		if (manifest || !err.text[0])
			abort();
		return;
	}
	int64_t sum = manifest->config.size;
	for (size_t i = 0; i < manifest->n_layers; i++) {
		const struct pk_descriptor *layer = &manifest->layers[i];
		if (layer->size < 0 || __builtin_add_overflow(sum, layer->size, &sum))
			abort();
		if (layer->title && (strchr(layer->title, '/') || strstr(layer->title, "..") ||
					    pk_manifest_file(manifest, layer->title) != layer))
			abort();
	}
	if (sum != manifest->total_size)
		abort();
	(void)pk_manifest_onnx(manifest);
	pk_manifest_destroy(manifest);
}

static void check_index(const uint8_t *data, size_t size)
{
	struct pk_descriptor found;
	struct pk_err err = {0};
	if (pk_layout_find(data, size, "t", &found, &err) == 0)
		pk_descriptor_finish(&found);
	else if (found.media_type || !err.text[0])
		abort();
	(void)!pk_layout_check_marker(data, size, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_manifest(data, size);
	check_index(data, size);
	return 0;
}
