// SPDX-License-Identifier: Apache-2.0
// The engine file: header, section table, sections; written once, mapped read-only, every section
// with its own SHA-256. docs/ENGINE-FORMAT.md describes the bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

#define PK_PLAN_VERSION      2
#define PK_PLAN_WEIGHT_ALIGN 65536 // WEIGHTS and KERNELS start at a multiple of this

enum pk_section {
	PK_SECTION_KEY = 1,     // canonical JSON: everything the engine depends on
	PK_SECTION_GRAPH = 2,   // IR text with kernels; '@' points into WEIGHTS
	PK_SECTION_WEIGHTS = 3, // constants and packed weights
	PK_SECTION_MEMPLAN = 4, // where each value lives; the runtime's own layout
	PK_SECTION_LAYERS = 5,  // JSON: names, shapes, tactics, times; for people
	PK_SECTION_GATE = 6,    // JSON: verdict
	PK_SECTION_CARD = 7,    // the model card's bytes
	PK_SECTION_KERNELS = 8, // device code
};

// Why an engine file is not taken. Every one means: rebuild.
enum pk_mismatch {
	PK_MATCH = 0,
	PK_MISMATCH_FORMAT,  // not an engine file of this version
	PK_MISMATCH_TARGET,  // other device
	PK_MISMATCH_LIBRARY, // other library versions or another Picket
	PK_MISMATCH_DRIVER,
	PK_MISMATCH_MODEL,   // other model or build options
	PK_MISMATCH_CORRUPT, // a digest or a bound does not hold
};
const char *pk_mismatch_name(enum pk_mismatch mismatch); // "format", …, "match"

struct pk_plan_section {
	const uint8_t *data; // NULL when absent
	size_t size;
};

struct pk_plan;
// Maps and checks header, table bounds and every section's digest. On failure *mismatch says which
// kind and err why. The plan keeps the map.
int pk_plan_open(const char *path, struct pk_plan **out, enum pk_mismatch *mismatch,
	struct pk_err *err) pk_must_check;
// The same over bytes in memory, which must outlive the plan.
int pk_plan_from_bytes(const void *bytes, size_t n, struct pk_plan **out,
	enum pk_mismatch *mismatch, struct pk_err *err) pk_must_check;
void pk_plan_close(struct pk_plan *plan);
PK_DEFINE_AUTO(pk_plan, pk_plan_close);
struct pk_plan_section pk_plan_section(const struct pk_plan *plan, enum pk_section type);

struct pk_plan_writer;
struct pk_plan_writer *pk_plan_writer_create(void) pk_must_check; // NULL: no memory
void pk_plan_writer_destroy(struct pk_plan_writer *writer);
PK_DEFINE_AUTO(pk_plan_writer, pk_plan_writer_destroy);
// Copies the bytes. A second section of one type replaces the first.
int pk_plan_writer_add(struct pk_plan_writer *writer, enum pk_section type, const void *bytes,
	size_t n) pk_must_check;
// What was added, aligned to 64 bytes; the writer's, until the section is replaced.
struct pk_plan_section pk_plan_writer_section(
	const struct pk_plan_writer *writer, enum pk_section type);
// The engine file's bytes as they would be written, appended to out.
int pk_plan_writer_to_buf(const struct pk_plan_writer *writer, struct pk_buf *out) pk_must_check;
// Power-cut safe; returns the size in *size_bytes (nullable).
int pk_plan_writer_finish(struct pk_plan_writer *writer, const char *path, int64_t *size_bytes,
	struct pk_err *err) pk_must_check;
