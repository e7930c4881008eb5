// SPDX-License-Identifier: Apache-2.0
// Opens a vendor's shared library and fills its table.
#include "engine/cuda/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static void *open_any(const struct pk_library *library)
{
	for (const char *const *name = library->names; *name; name++) {
		void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (handle)
			return handle;
	}
	return NULL;
}

int pk_library_open(const struct pk_library *library, void *table, struct pk_err *err)
{
	void *handle = open_any(library);
	if (!handle)
		return pk_fail(err, -ENODEV, "%s (%s cannot be opened)", library->missing,
			library->names[0]);
	int r = 0;
	for (size_t i = 0; r == 0 && i < library->n_symbols; i++) {
		const struct pk_library_symbol *symbol = &library->symbols[i];
		void *address = dlsym(handle, symbol->name);
		memcpy((char *)table + symbol->offset, &address, sizeof(address));
		if (!address && symbol->required)
			r = pk_fail(
				err, -ENODEV, "%s: it lacks %s", library->too_old, symbol->name);
	}
	dlclose(handle); // counts down; NODELETE keeps it
	return r;
}
