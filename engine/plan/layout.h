// SPDX-License-Identifier: Apache-2.0
// The bytes of an engine file, shared by reader and writer. Little-endian, packed by construction.
#pragma once

#include <stdint.h>

#include "base/digest.h"

#define PK_PLAN_MAGIC        "PICKETEN"
#define PK_PLAN_MAX_SECTIONS 32

struct pk_plan_header {
	char magic[8];
	uint32_t version; // PK_PLAN_VERSION
	uint32_t n_sections;
	uint64_t file_bytes;
	uint64_t reserved;                     // 0
	uint8_t table_sha256[PK_SHA256_BYTES]; // of the section table
};

struct pk_plan_entry {
	uint32_t type;     // enum pk_section; unknown ones are skipped
	uint32_t reserved; // 0
	uint64_t offset;
	uint64_t size;
	uint8_t sha256[PK_SHA256_BYTES];
};

_Static_assert(sizeof(struct pk_plan_header) == 64, "header layout");
_Static_assert(sizeof(struct pk_plan_entry) == 56, "entry layout");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "engine files are used in place");
