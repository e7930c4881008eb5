// SPDX-License-Identifier: Apache-2.0
// picket.yaml and its drop-ins → one validated snapshot.
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/fs.h"
#include "config/check.h"
#include "config/config_table.h"
#include "config/path.h"
#include "config/words.h"
#include "config/yaml.h"

#define ARENA_MAX (256u * 1024u * 1024u)

// Files that are read and merged before anything is decoded.
struct reader {
	struct pk_arena *arena;
	struct pk_problems *problems;
	struct pk_yaml_node *root; // of all files so far
	bool bad;                  // problems were added; later files are read nevertheless
};

static int noted(const struct pk_problems *problems, size_t before)
{
	return problems->n + problems->n_dropped > before ? -EINVAL : 0;
}

static size_t count(const struct pk_problems *problems)
{
	return problems->n + problems->n_dropped;
}

static struct pk_yaml_source *make_source(struct reader *r, const char *name, const char *dir)
{
	struct pk_yaml_source *source = pk_arena_new(r->arena, struct pk_yaml_source);

	if (!source)
		return NULL;
	source->name = pk_arena_strdup(r->arena, name);
	source->dir = pk_arena_strdup(r->arena, dir);
	return source->name && source->dir ? source : NULL;
}

// dir: absolute.
static int add_text(struct reader *r, const char *text, size_t n, const char *name, const char *dir)
{
	struct pk_yaml_source *source = make_source(r, name, dir);
	struct pk_yaml_node *root;

	if (!source)
		return -ENOMEM;
	if (!pk_words_are_printable(dir)) {
		pk_problems_add(r->problems, name, 0, 0,
			"lies in a folder whose name is not plain UTF-8 text");
		r->bad = true;
		return 0;
	}
	int rc = pk_yaml_parse(r->arena, text, n, source, &root, r->problems);
	if (rc < 0 && rc != -EINVAL)
		return rc;
	r->bad |= rc < 0;
	if (!root)
		return 0;
	if (!r->root || r->root->kind != PK_YAML_MAP)
		r->root = root;
	else if (root->kind == PK_YAML_MAP)
		pk_yaml_merge(r->root, root);
	else if (!pk_yaml_is_null(root)) {
		pk_yaml_problem(r->problems, root,
			"expected a map (key: value) at the top, found %s",
			pk_yaml_kind_name(root));
		r->bad = true;
	}
	return 0;
}

static int add_file(struct reader *r, const char *path)
{
	pk_auto_buf struct pk_buf text;
	pk_auto_free char *dir = pk_path_folder(path);

	pk_buf_init(&text, PK_YAML_MAX_BYTES + 1);
	int rc = dir ? pk_fs_read(path, PK_YAML_MAX_BYTES, &text, NULL) : -errno;
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0) {
		pk_problems_add(r->problems, path, 0, 0, "cannot be read: %s",
			rc == -EFBIG ? "larger than 1 MiB" : pk_err_text(NULL, rc));
		return rc;
	}
	return add_text(r, pk_buf_cstr(&text), text.len, path, dir);
}

static int is_yaml(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');
	return entry->d_name[0] != '.' && dot && strcmp(dot, ".yaml") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(struct reader *r, const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_yaml, by_bytes), rc = 0;

	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0) {
		rc = -errno;
		pk_problems_add(
			r->problems, dir, 0, 0, "cannot be read: %s", pk_err_text(NULL, rc));
		return rc;
	}
	for (int i = 0; i < n; i++) {
		pk_auto_free char *path = pk_fs_join(dir, entries[i]->d_name);
		if (rc == 0)
			rc = path ? add_file(r, path) : -ENOMEM;
		free(entries[i]);
	}
	free(entries);
	return rc;
}

// Defaults that come from elsewhere than the table.

static int inherit_chain(struct pk_model_config *model, const struct pk_config *config)
{
	if (model->n_chain > 0)
		return 0;
	free(model->chain);
	model->chain = calloc(config->runtime.n_chain + 1, sizeof(char *));
	if (!model->chain)
		return -ENOMEM;
	for (; model->n_chain < config->runtime.n_chain; model->n_chain++) {
		char *name = config->runtime.chain[model->n_chain];
		model->chain[model->n_chain] = strdup(name ? name : "");
		if (!model->chain[model->n_chain])
			return -ENOMEM;
	}
	return 0;
}

static int fill(struct pk_config *config)
{
	char host[256] = "";

	if (*config->node_name == '\0') {
		if (gethostname(host, sizeof(host) - 1) < 0 || *host == '\0')
			memcpy(host, "localhost", sizeof("localhost"));
		free(config->node_name);
		config->node_name = strdup(host);
		if (!config->node_name)
			return -ENOMEM;
	}
	for (size_t i = 0; i < config->n_models; i++) {
		int rc = inherit_chain(&config->models[i], config);
		if (rc < 0)
			return rc;
	}
	return 0;
}

// All mistakes of the tables and of the cross checks in one go.
static int decode(struct reader *r, struct pk_config *config)
{
	size_t before = count(r->problems);
	int rc = pk_schema_decode(&pk_config_schema, r->root, config, r->problems);

	if (rc == -ENOMEM)
		return rc;
	rc = fill(config);
	if (rc < 0)
		return rc;
	rc = pk_config_check(config, r->root, r->problems);
	return rc < 0 ? rc : noted(r->problems, before);
}

static int finish(struct reader *r, struct pk_config **out)
{
	pk_auto(pk_config) config = calloc(1, sizeof(*config));

	if (!config)
		return -ENOMEM;
	int rc = r->root ? decode(r, config) : -EINVAL;
	if (rc < 0)
		return rc;
	if (r->bad)
		return -EINVAL;
	pk_auto_free char *dump = pk_config_dump(config);
	if (!dump) { // the worker gets it as one document, with the same bounds
		pk_problems_add(r->problems, r->root->source->name, 0, 0,
			"the configuration is larger than %u bytes when written out in full",
			PK_YAML_MAX_BYTES);
		return -EINVAL;
	}
	*out = pk_steal(config);
	return 0;
}

int pk_config_load(const char *main_path, const char *drop_in_dir, struct pk_config **out,
	struct pk_problems *problems)
{
	pk_auto(pk_arena) arena = pk_arena_create(ARENA_MAX);
	struct reader r = {.arena = arena, .problems = problems};

	if (!arena)
		return -ENOMEM;
	int rc = add_file(&r, main_path);
	if (rc == 0 && drop_in_dir)
		rc = add_folder(&r, drop_in_dir);
	return rc < 0 ? rc : finish(&r, out);
}

int pk_config_parse(const char *text, size_t n, const char *name, const char *base_dir,
	struct pk_config **out, struct pk_problems *problems)
{
	pk_auto(pk_arena) arena = pk_arena_create(ARENA_MAX);
	struct reader r = {.arena = arena, .problems = problems};
	pk_auto_free char *dir = pk_path_absolute(base_dir);

	if (!arena || !dir)
		return -ENOMEM;
	int rc = add_text(&r, text, n, name, dir);
	return rc < 0 ? rc : finish(&r, out);
}

void pk_config_destroy(struct pk_config *config)
{
	if (!config)
		return;
	pk_schema_free(&pk_config_schema, config);
	free(config);
}

const struct pk_camera_config *pk_config_camera(const struct pk_config *config, const char *name)
{
	for (size_t i = 0; i < config->n_cameras; i++)
		if (strcmp(config->cameras[i].name, name) == 0)
			return &config->cameras[i];
	return NULL;
}

const struct pk_model_config *pk_config_model(const struct pk_config *config, const char *name)
{
	for (size_t i = 0; i < config->n_models; i++)
		if (strcmp(config->models[i].name, name) == 0)
			return &config->models[i];
	return NULL;
}

const struct pk_sink_config *pk_config_sink(const struct pk_config *config, const char *name)
{
	for (size_t i = 0; i < config->n_sinks; i++)
		if (strcmp(config->sinks[i].name, name) == 0)
			return &config->sinks[i];
	return NULL;
}

char *pk_config_dump(const struct pk_config *config)
{
	struct pk_buf out;

	pk_buf_init(&out, PK_YAML_MAX_BYTES);
	pk_schema_dump(&pk_config_schema, config, &out);
	if (pk_buf_error(&out) < 0) {
		pk_buf_finish(&out);
		return NULL;
	}
	return out.data; // the caller's
}
