// SPDX-License-Identifier: Apache-2.0
// Opens a vendor's shared library by one of several names and fills a table of its functions.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_library_symbol {
	const char *name;
	size_t offset; // of the function pointer in the table
	bool required;
};

struct pk_library {
	const char *const *names; // sonames, newest first; NULL-ended
	const char *missing;      // verdict when none opens: "no driver", "cuDNN missing: …"
	const char *too_old;      // verdict when a required symbol is not there
	const struct pk_library_symbol *symbols;
	size_t n_symbols;
};

// A symbol that is not required and not there becomes NULL. The library stays loaded to the end of
// the process: vendors' libraries do not bear being unloaded. -ENODEV with the verdict.
int pk_library_open(const struct pk_library *library, void *table, struct pk_err *err)
	pk_must_check;
