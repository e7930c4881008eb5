// SPDX-License-Identifier: Apache-2.0
// Which cameras are set aside, and when they are tried again.
#include "daemon/faulty.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "daemon/text.h"

#define MEMORY_NS   (600 * PK_NS_PER_S)
#define WAIT_NS     (60 * PK_NS_PER_S)
#define WAIT_MAX_NS (3600 * PK_NS_PER_S)

void pk_faulty_finish(struct pk_faulty *faulty)
{
	pk_array_finish(&faulty->items);
}

static struct pk_faulty_camera *find(const struct pk_faulty *faulty, const char *camera)
{
	for (size_t i = 0; i < faulty->items.n; i++) {
		if (strcmp(faulty->items.items[i].name, camera) == 0)
			return &faulty->items.items[i];
	}
	return NULL;
}

static struct pk_faulty_camera *find_or_add(struct pk_faulty *faulty, const char *camera)
{
	struct pk_faulty_camera *item = find(faulty, camera);
	if (item)
		return item;
	item = pk_array_push(&faulty->items);
	if (item)
		pk_text_format(item->name, sizeof(item->name), "%s", camera);
	return item;
}

const struct pk_faulty_camera *pk_faulty_crashed(
	struct pk_faulty *faulty, const char *camera, int64_t now_ns)
{
	struct pk_faulty_camera *item = find_or_add(faulty, camera);
	if (!item)
		return NULL;
	if (item->n > 0 && now_ns - item->last_ns > MEMORY_NS + item->wait_ns)
		item->n = 0;
	if (item->n == 0)
		item->wait_ns = WAIT_NS;
	item->n++;
	item->last_ns = now_ns;
	if (item->n < PK_FAULTY_FROM)
		return NULL;
	item->until_ns = now_ns + item->wait_ns;
	item->wait_ns = PK_MIN(item->wait_ns * 2, WAIT_MAX_NS);
	return item;
}

bool pk_faulty_is_aside(const struct pk_faulty *faulty, const char *camera)
{
	const struct pk_faulty_camera *item = find(faulty, camera);
	return item && item->until_ns > 0;
}

int64_t pk_faulty_next_ns(const struct pk_faulty *faulty)
{
	int64_t next_ns = INT64_MAX;
	for (size_t i = 0; i < faulty->items.n; i++) {
		const struct pk_faulty_camera *item = &faulty->items.items[i];
		if (item->until_ns > 0)
			next_ns = PK_MIN(next_ns, item->until_ns);
	}
	return next_ns;
}

const struct pk_faulty_camera *pk_faulty_release(struct pk_faulty *faulty, int64_t now_ns)
{
	pk_array_each (item, &faulty->items) {
		if (item->until_ns == 0 || item->until_ns > now_ns)
			continue;
		item->until_ns = 0;
		return item;
	}
	return NULL;
}

void pk_faulty_forget(struct pk_faulty *faulty, const char *camera)
{
	struct pk_faulty_camera *item = find(faulty, camera);
	if (item)
		*item = faulty->items.items[--faulty->items.n];
}

char *pk_faulty_dump(const struct pk_faulty *faulty, const struct pk_config *config)
{
	struct pk_config rest = *config;
	rest.cameras = calloc(config->n_cameras + 1, sizeof(rest.cameras[0]));
	if (!rest.cameras)
		return NULL;
	rest.n_cameras = 0;
	for (size_t i = 0; i < config->n_cameras; i++)
		if (!pk_faulty_is_aside(faulty, config->cameras[i].name))
			rest.cameras[rest.n_cameras++] = config->cameras[i];
	char *text = pk_config_dump(&rest);
	free(rest.cameras);
	return text;
}
