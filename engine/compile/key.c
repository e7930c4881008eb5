// SPDX-License-Identifier: Apache-2.0
// Writing and comparing engine keys.
#include "engine/compile/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static json_t *shapes_json(const struct pk_build_options *options)
{
	json_t *shapes = json_object();
	for (size_t i = 0; i < options->n_shapes; i++) {
		char text[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&options->shapes[i].shape, text);
		json_object_set_new(shapes, options->shapes[i].name, json_string(text));
	}
	return shapes;
}

static json_t *passes_json(const struct pk_build_options *options)
{
	json_t *names = json_array();
	for (size_t i = 0; i < options->n_disabled_passes; i++)
		json_array_append_new(names, json_string(options->disabled_passes[i]));
	return names;
}

// "" when there are no bytes.
static void digest_json(const void *bytes, size_t n, char out[PK_DIGEST_TEXT])
{
	struct pk_digest digest = {0};
	if (!bytes)
		return;
	(void)pk_digest_bytes(bytes, n, &digest);
	pk_digest_format(&digest, out);
}

const char *pk_precision_name(enum pk_precision precision)
{
	static const char *const names[] = {
		[PK_PRECISION_FP32] = "fp32",
		[PK_PRECISION_FP16] = "fp16",
		[PK_PRECISION_INT8] = "int8",
	};
	return names[precision];
}

static json_t *options_json(const struct pk_build_options *options)
{
	char card[PK_DIGEST_TEXT] = "", calibration[PK_DIGEST_TEXT] = "";
	digest_json(options->card, options->card_size, card);
	digest_json(options->calibration, options->calibration_size, calibration);
	return json_pack("{s:s, s:s, s:o, s:i, s:s, s:o}", "calibration", calibration, "card", card,
		"disabled_passes", passes_json(options), "opt_level", options->opt_level,
		"precision", pk_precision_name(options->precision), "shapes", shapes_json(options));
}

int pk_key_write(const struct pk_build_options *options, const struct pk_digest *model,
	const struct pk_target *target, struct pk_buf *text, struct pk_err *err)
{
	char digest[PK_DIGEST_TEXT];
	pk_digest_format(model, digest);
	json_t *identity = json_loads(target->identity, JSON_REJECT_DUPLICATES, NULL);
	pk_auto_json key = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o}", "format", PK_PLAN_VERSION,
		"builder", PICKET_VERSION, "runtime", options->runtime, "model", digest, "options",
		options_json(options), "target", identity ? identity : json_null());
	pk_auto_free char *canonical = key ? pk_json_canonical(key) : NULL;
	if (!canonical || pk_buf_str(text, canonical) < 0)
		return pk_fail(err, -ENOMEM, "engine key: out of memory");
	return 0;
}

// Top-level members in the order in which a difference is reported.
static const struct {
	const char *member;
	enum pk_mismatch mismatch;
} members[] = {
	{"format", PK_MISMATCH_FORMAT},
	{"builder", PK_MISMATCH_LIBRARY},
	{"runtime", PK_MISMATCH_TARGET},
	{"target", PK_MISMATCH_TARGET},
	{"model", PK_MISMATCH_MODEL},
	{"options", PK_MISMATCH_MODEL},
};

// Members of "target" that stand for something more precise than the device itself.
static const struct {
	const char *member;
	enum pk_mismatch mismatch;
} target_members[] = {
	{"libraries", PK_MISMATCH_LIBRARY},
	{"driver", PK_MISMATCH_DRIVER},
};

static void describe(struct pk_err *err, const char *what, const json_t *want, const json_t *have)
{
	pk_auto_free char *a = json_dumps(want, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT);
	pk_auto_free char *b = json_dumps(have, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT);
	(void)pk_fail(err, -ESTALE, "%s is %.160s, the engine was built for %.160s", what,
		a ? a : "absent", b ? b : "absent");
}

static enum pk_mismatch compare_targets(const json_t *want, const json_t *have, struct pk_err *err)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(target_members); i++) {
		const json_t *a = json_object_get(want, target_members[i].member);
		const json_t *b = json_object_get(have, target_members[i].member);
		if ((a || b) && !(a && b && json_equal(a, b))) {
			describe(err, target_members[i].member, a, b);
			return target_members[i].mismatch;
		}
	}
	if (json_equal(want, have))
		return PK_MATCH;
	describe(err, "target", want, have);
	return PK_MISMATCH_TARGET;
}

static enum pk_mismatch compare_members(
	const json_t *want, const json_t *have, bool only_machine, struct pk_err *err)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(members); i++) {
		if (only_machine && members[i].mismatch == PK_MISMATCH_MODEL)
			continue;
		const json_t *a = json_object_get(want, members[i].member);
		const json_t *b = json_object_get(have, members[i].member);
		if (strcmp(members[i].member, "target") == 0) {
			enum pk_mismatch mismatch = compare_targets(a, b, err);
			if (mismatch != PK_MATCH)
				return mismatch;
		} else if (!a || !b || !json_equal(a, b)) {
			describe(err, members[i].member, a, b);
			return members[i].mismatch;
		}
	}
	return PK_MATCH;
}

enum pk_mismatch pk_key_compare(const char *expect, const char *have, struct pk_err *err)
{
	pk_auto_json a = json_loads(expect, JSON_REJECT_DUPLICATES, NULL);
	pk_auto_json b = json_loads(have, JSON_REJECT_DUPLICATES, NULL);
	if (!a || !b) {
		(void)pk_fail(err, -EBADMSG, "the engine's key is not JSON");
		return PK_MISMATCH_CORRUPT;
	}
	enum pk_mismatch mismatch = compare_members(a, b, false, err);
	if (mismatch == PK_MATCH && !json_equal(a, b)) {
		(void)pk_fail(err, -ESTALE, "the engine's key has other members");
		return PK_MISMATCH_FORMAT;
	}
	return mismatch;
}

enum pk_mismatch pk_key_check_target(
	const char *have, const struct pk_target *target, struct pk_err *err)
{
	pk_auto_json b = json_loads(have, JSON_REJECT_DUPLICATES, NULL);
	json_t *identity = json_loads(target->identity, JSON_REJECT_DUPLICATES, NULL);
	const char *runtime = NULL;
	if (!b || pk_json_get_str(b, "runtime", &runtime, err) < 0) {
		json_decref(identity);
		(void)pk_fail(err, -EBADMSG, "the engine's key is not one");
		return PK_MISMATCH_CORRUPT;
	}
	pk_auto_json a = json_pack("{s:i, s:s, s:s, s:o}", "format", PK_PLAN_VERSION, "builder",
		PICKET_VERSION, "runtime", runtime, "target", identity ? identity : json_null());
	return compare_members(a, b, true, err);
}

char *pk_key_runtime(const char *key)
{
	pk_auto_json json = json_loads(key, JSON_REJECT_DUPLICATES, NULL);
	const char *runtime = NULL;
	if (!json || pk_json_get_str(json, "runtime", &runtime, NULL) < 0)
		return NULL;
	return strdup(runtime);
}
