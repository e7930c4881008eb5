// SPDX-License-Identifier: Apache-2.0
// Copies of a source's configuration.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

static const size_t strings[] = {
	offsetof(struct pk_source_config, uri),
	offsetof(struct pk_source_config, launch),
	offsetof(struct pk_source_config, pattern),
	offsetof(struct pk_source_config, user),
	offsetof(struct pk_source_config, password_file),
	offsetof(struct pk_source_config, tls_ca),
	offsetof(struct pk_source_config, device),
};

static char **string_at(struct pk_source_config *config, size_t i)
{
	return (char **)((char *)config + strings[i]);
}

static void free_list(char **items, size_t n)
{
	for (size_t i = 0; items && i < n; i++)
		free(items[i]);
	free(items);
}

static char **copy_list(char *const *items, size_t n)
{
	char **out = calloc(n + 1, sizeof(char *));
	for (size_t i = 0; out && i < n; i++) {
		out[i] = strdup(items[i]);
		if (!out[i]) {
			free_list(out, n);
			return NULL;
		}
	}
	return out;
}

int pk_source_config_copy(struct pk_source_config *dst, const struct pk_source_config *src)
{
	bool whole = true;
	*dst = *src;
	for (size_t i = 0; i < PK_ARRAY_LEN(strings); i++) {
		char **at = string_at(dst, i);
		*at = strdup(*at ? *at : "");
		whole = whole && *at;
	}
	dst->controls = copy_list(src->controls, src->n_controls);
	dst->recovery = copy_list(src->recovery, src->n_recovery);
	if (whole && dst->controls && dst->recovery)
		return 0;
	pk_source_config_finish(dst);
	return -ENOMEM;
}

void pk_source_config_finish(struct pk_source_config *config)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(strings); i++)
		free(*string_at(config, i));
	free_list(config->controls, config->n_controls);
	free_list(config->recovery, config->n_recovery);
	memset(config, 0, sizeof(*config));
}
