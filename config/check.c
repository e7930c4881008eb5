// SPDX-License-Identifier: Apache-2.0
// What no single key can tell: names that must exist, values that must agree.
#include "config/check.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "config/schema.h"
#include "config/words.h"

// The runtimes that this product has, whatever this node can run.
static const char *const runtimes[] = {"cuda", "cpu"};

struct check {
	const struct pk_config *config;
	const struct pk_yaml_node *root;
	struct pk_problems *problems;
	size_t n_found;
};

#define FOUND(c, node, ...)                                                                        \
	do {                                                                                       \
		(c)->n_found++;                                                                    \
		pk_yaml_problem((c)->problems, node, __VA_ARGS__);                                 \
	} while (0)

static bool usable(const struct pk_yaml_node *node)
{
	return node && node->kind == PK_YAML_SCALAR && !pk_yaml_is_null(node);
}

// A key that names an entry of models or sinks.
static void check_reference(struct check *c, const struct pk_yaml_node *node, const char *section)
{
	const struct pk_yaml_node *table = pk_yaml_get(c->root, section);
	struct pk_words_best best;

	if (!usable(node) || !pk_schema_is_name(node->text) || pk_yaml_get(table, node->text))
		return;
	if (table && table->kind != PK_YAML_MAP && !pk_yaml_is_null(table))
		return; // what it should hold cannot be known
	pk_words_best_init(&best, node->text);
	for (struct pk_yaml_node *entry = table ? table->first : NULL; entry; entry = entry->next)
		pk_words_best_try(&best, entry->key);
	if (best.best)
		FOUND(c, node, "`%s` is not among %s; did you mean `%s`?", node->text, section,
			pk_words_quote(best.best).text);
	else
		FOUND(c, node, "`%s` is not among %s", node->text, section);
}

static bool repeats(const struct pk_yaml_node *list, const struct pk_yaml_node *item)
{
	for (const struct pk_yaml_node *before = list->first; before != item; before = before->next)
		if (usable(before) && strcmp(before->text, item->text) == 0)
			return true;
	return false;
}

static void check_repeats(struct check *c, const struct pk_yaml_node *list)
{
	if (!list || list->kind != PK_YAML_LIST || list->n > 64)
		return; // the table bounds it, and said so
	for (const struct pk_yaml_node *item = list->first; item; item = item->next)
		if (usable(item) && repeats(list, item))
			FOUND(c, item, "`%s` is in this list twice",
				pk_words_quote(item->text).text);
}

static void check_runtime(struct check *c, const struct pk_yaml_node *item)
{
	struct pk_words_best best;
	char known[128] = "";
	size_t n = 0;

	if (!usable(item) || !pk_schema_is_name(item->text))
		return;
	pk_words_best_init(&best, item->text);
	for (size_t i = 0; i < PK_ARRAY_LEN(runtimes); i++) {
		if (strcmp(item->text, runtimes[i]) == 0)
			return;
		pk_words_best_try(&best, runtimes[i]);
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, "%s%s", n ? ", " : "", runtimes[i]);
	}
	if (best.best)
		FOUND(c, item, "`%s` is no runtime; did you mean `%s`? Known: %s", item->text,
			best.best, known);
	else
		FOUND(c, item, "`%s` is no runtime; known: %s", item->text, known);
}

static void check_chain(struct check *c, const struct pk_yaml_node *owner)
{
	const struct pk_yaml_node *chain = pk_yaml_get(owner, "chain");

	if (!chain || chain->kind != PK_YAML_LIST)
		return;
	for (const struct pk_yaml_node *item = chain->first; item; item = item->next)
		check_runtime(c, item);
	check_repeats(c, chain);
}

static void check_camera(struct check *c, const struct pk_yaml_node *camera)
{
	const struct pk_yaml_node *sinks = pk_yaml_get(camera, "sinks");

	check_reference(c, pk_yaml_get(camera, "model"), "models");
	if (!sinks || sinks->kind != PK_YAML_LIST)
		return;
	for (const struct pk_yaml_node *item = sinks->first; item; item = item->next)
		check_reference(c, item, "sinks");
	check_repeats(c, sinks);
}

// Rounding of decimal fractions is no mistake.
#define ROI_SLACK 1e-9

static bool is_roi(const struct pk_yaml_node *node)
{
	bool ok = node && node->kind == PK_YAML_LIST && node->n == 4;
	for (const struct pk_yaml_node *item = ok ? node->first : NULL; item; item = item->next)
		ok = ok && usable(item);
	return ok;
}

static void check_rois(struct check *c)
{
	const struct pk_yaml_node *table = pk_yaml_get(c->root, "cameras");

	for (size_t i = 0; i < c->config->n_cameras; i++) {
		const struct pk_camera_config *camera = &c->config->cameras[i];
		const double *roi = camera->roi;
		const struct pk_yaml_node *node =
			pk_yaml_get(pk_yaml_get(table, camera->name), "roi");
		if (!is_roi(node)) // absent, or the table said what is wrong
			continue;
		if (roi[2] <= 0 || roi[3] <= 0)
			FOUND(c, node, "roi: width and height must be above 0");
		else if (roi[0] + roi[2] > 1 + ROI_SLACK || roi[1] + roi[3] > 1 + ROI_SLACK)
			FOUND(c, node,
				"roi must lie in the picture: x + width and y + height "
				"at most 1");
	}
}

static void each(struct check *c, const char *section,
	void (*fn)(struct check *c, const struct pk_yaml_node *entry))
{
	const struct pk_yaml_node *table = pk_yaml_get(c->root, section);

	if (!table || table->kind != PK_YAML_MAP)
		return;
	for (const struct pk_yaml_node *entry = table->first; entry; entry = entry->next)
		fn(c, entry);
}

// Two writers of one file would tear each other's lines.
static void check_sink_paths(struct check *c)
{
	const struct pk_config *config = c->config;
	const struct pk_yaml_node *table = pk_yaml_get(c->root, "sinks");

	for (size_t i = 1; i < config->n_sinks; i++)
		for (size_t j = 0; j < i; j++) {
			const struct pk_sink_config *a = &config->sinks[j], *b = &config->sinks[i];
			const struct pk_yaml_node *node =
				pk_yaml_get(pk_yaml_get(table, b->name), "path");
			if (*b->path == '\0' || !node || strcmp(a->path, b->path) != 0)
				continue;
			FOUND(c, node, "sinks `%s` and `%s` have the same path", a->name, b->name);
			break;
		}
}

// Of two keys that only mean something together.
struct pair {
	const char *key, *needs;
};

static void check_sink(struct check *c, const struct pk_yaml_node *sink)
{
	static const struct pair pairs[] = {
		{"cert", "key"}, {"key", "cert"}, {"cert", "ca"}, {"password_file", "user"}};
	const struct pk_yaml_node *kind = pk_yaml_get(sink, "kind");
	const struct pk_yaml_node *user = pk_yaml_get(sink, "user");

	for (size_t i = 0; i < PK_ARRAY_LEN(pairs); i++) {
		const struct pk_yaml_node *node = pk_yaml_get(sink, pairs[i].key);
		if (usable(node) && !usable(pk_yaml_get(sink, pairs[i].needs)))
			FOUND(c, node, "%s needs `%s` beside it", pairs[i].key, pairs[i].needs);
	}
	if (usable(kind) && strcmp(kind->text, "restream") == 0 && usable(user) &&
		!usable(pk_yaml_get(sink, "password_file")))
		FOUND(c, user, "user needs `password_file` beside it");
}

static bool same_listener(const struct pk_sink_config *a, const struct pk_sink_config *b)
{
	return a->kind == PK_SINK_RESTREAM && b->kind == PK_SINK_RESTREAM && a->port == b->port;
}

// The second server could not listen.
static void check_sink_ports(struct check *c)
{
	const struct pk_config *config = c->config;
	const struct pk_yaml_node *table = pk_yaml_get(c->root, "sinks");

	for (size_t i = 1; i < config->n_sinks; i++)
		for (size_t j = 0; j < i; j++) {
			const struct pk_sink_config *a = &config->sinks[j], *b = &config->sinks[i];
			if (!same_listener(a, b))
				continue;
			FOUND(c, pk_yaml_get(table, b->name),
				"sinks `%s` and `%s` have the same port", a->name, b->name);
			break;
		}
}

static void check_retries(struct check *c)
{
	const struct pk_yaml_node *build = pk_yaml_get(c->root, "build");
	const struct pk_yaml_node *node = pk_yaml_get(build, "retry_max");

	if (!node)
		node = pk_yaml_get(build, "retry_min");
	if (node && c->config->build.retry_min_ns > c->config->build.retry_max_ns)
		FOUND(c, node, "retry_min must not be above retry_max");
}

static bool comes_over_network(const char *reference)
{
	return strncmp(reference, "oci:", 4) != 0 && strncmp(reference, "file:", 5) != 0 &&
	       !strstr(reference, "sha256:");
}

// Whoever can write to the registry runs code here, unless models are signed.
static void check_signature(struct check *c, const struct pk_model_config *model)
{
	const struct pk_signature_config *signature = &model->signature;
	const struct pk_yaml_node *entry = pk_yaml_get(pk_yaml_get(c->root, "models"), model->name);
	const struct pk_yaml_node *reference = pk_yaml_get(entry, "artifact");
	if (!usable(reference) || !model->artifact[0])
		return;
	bool open = comes_over_network(model->artifact);
	bool required = signature->required == PK_TRUE || (signature->required == PK_AUTO && open);
	if (required && signature->n_keys == 0)
		FOUND(c, reference,
			"models from there must be signed: name their public keys under "
			"`signature: {keys: […]}`");
	if (required && signature->n_keys > 0 && (size_t)signature->threshold > signature->n_keys)
		FOUND(c, reference, "signature: threshold is above the number of keys");
	if (!required && open && !signature->insecure)
		FOUND(c, reference,
			"unsigned models from a registry: whoever can write there runs code on "
			"this "
			"node; `signature: {required: false, insecure: true}` says that this is "
			"meant");
}

static void check_key_rules(struct check *c, const struct pk_model_config *model)
{
	const struct pk_yaml_node *entry = pk_yaml_get(pk_yaml_get(c->root, "models"), model->name);
	const struct pk_yaml_node *rules =
		pk_yaml_get(pk_yaml_get(entry, "signature"), "key_rules");
	for (size_t i = 0; i < model->signature.n_key_rules; i++) {
		const struct pk_key_rule_config *rule = &model->signature.key_rules[i];
		const struct pk_yaml_node *node = pk_yaml_get(rules, rule->id);
		int64_t from_s = INT64_MIN, to_s = INT64_MAX;
		(void)pk_parse_utc(rule->not_before, &from_s);
		(void)pk_parse_utc(rule->not_after, &to_s);
		if (node && from_s >= to_s)
			FOUND(c, node, "not_before must be earlier than not_after");
		if (node && rule->seq_max && rule->seq_min > rule->seq_max)
			FOUND(c, node, "seq_min must not be above seq_max");
	}
}

// A window needs both its ends.
static void check_window(struct check *c, const struct pk_model_config *model)
{
	const struct pk_yaml_node *entry = pk_yaml_get(pk_yaml_get(c->root, "models"), model->name);
	const struct pk_yaml_node *window = pk_yaml_get(entry, "window");
	if (window && !model->window.from[0] && model->window.to[0])
		FOUND(c, window, "window: `to` without `from`");
}

int pk_config_check(const struct pk_config *config, const struct pk_yaml_node *root,
	struct pk_problems *problems)
{
	struct check c = {.config = config, .root = root, .problems = problems};

	check_chain(&c, pk_yaml_get(root, "runtime"));
	check_retries(&c);
	each(&c, "models", check_chain);
	each(&c, "cameras", check_camera);
	each(&c, "sinks", check_sink);
	for (size_t i = 0; i < config->n_models; i++) {
		check_signature(&c, &config->models[i]);
		check_key_rules(&c, &config->models[i]);
		check_window(&c, &config->models[i]);
	}
	check_rois(&c);
	check_sink_paths(&c);
	check_sink_ports(&c);
	return c.n_found > 0 ? -EINVAL : 0;
}
