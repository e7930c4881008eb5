// SPDX-License-Identifier: Apache-2.0
// From the config's snapshot to hosts of the registry library.
#include "daemon/registries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREDENTIAL "credential:"

static void free_list(char **items, size_t n)
{
	for (size_t i = 0; items && i < n; i++)
		free(items[i]);
	free(items);
}

static void finish_host(struct pk_registry_host *host)
{
	char **const texts[] = {&host->host, &host->ca_path, &host->cert_path, &host->key_path,
		&host->auth_path, &host->user, &host->password_path};
	for (size_t i = 0; i < PK_ARRAY_LEN(texts); i++)
		free(*texts[i]);
	free_list(host->mirrors, host->n_mirrors);
	free_list(host->token_hosts, host->n_token_hosts);
}

void pk_registries_finish(struct pk_registries *registries)
{
	for (size_t i = 0; i < registries->n; i++)
		finish_host(&registries->hosts[i]);
	free(registries->hosts);
	*registries = (struct pk_registries){0};
}

// NULL for what is not given; *failed when there is no memory.
static char *copy_text(const char *text, bool *failed)
{
	char *copy = NULL;
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t n = strlen(CREDENTIAL);
	if (!text || !*text)
		return NULL;
	if (strncmp(text, CREDENTIAL, n) != 0)
		copy = strdup(text);
	else if (asprintf(&copy, "%s/%s", folder ? folder : "/run/credentials", text + n) < 0)
		copy = NULL;
	*failed |= !copy;
	return copy;
}

static char **copy_list(char *const *items, size_t n, size_t *n_out, bool *failed)
{
	char **copy = calloc(n + 1, sizeof(*copy));
	*failed |= !copy;
	for (size_t i = 0; copy && i < n; i++) {
		char *item = copy_text(items[i], failed);
		if (item)
			copy[(*n_out)++] = item;
	}
	return copy;
}

static void copy_host(
	const struct pk_registry_config *from, struct pk_registry_host *to, bool *failed)
{
	to->host = copy_text(from->host, failed);
	to->ca_path = copy_text(from->ca, failed);
	to->cert_path = copy_text(from->cert, failed);
	to->key_path = copy_text(from->key, failed);
	to->auth_path = copy_text(from->auth, failed);
	to->user = copy_text(from->user, failed);
	to->password_path = copy_text(from->password_file, failed);
	to->insecure = from->insecure;
	to->mirrors = copy_list(from->mirrors, from->n_mirrors, &to->n_mirrors, failed);
	to->token_hosts =
		copy_list(from->token_hosts, from->n_token_hosts, &to->n_token_hosts, failed);
}

int pk_registries_copy(const struct pk_config *config, struct pk_registries *out)
{
	bool failed = false;
	*out = (struct pk_registries){
		.hosts = calloc(config->n_registries + 1, sizeof(*out->hosts))};
	if (!out->hosts)
		return -ENOMEM;
	for (; out->n < config->n_registries; out->n++)
		copy_host(&config->registries[out->n], &out->hosts[out->n], &failed);
	if (failed)
		pk_registries_finish(out);
	return failed ? -ENOMEM : 0;
}
