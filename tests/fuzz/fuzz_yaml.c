// SPDX-License-Identifier: Apache-2.0
// picket.yaml from hostile bytes: refused with a place, or accepted and able to go to the worker.
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct pk_config *config)
{
	struct pk_problems problems = {0};
	struct pk_config_diff diff = {0};
	struct pk_config *again = NULL;
	char *dump = pk_config_dump(config);

	assert(dump);
	int rc = pk_config_parse(dump, strlen(dump), "dump", "/", &again, &problems);
	assert(rc == 0 && problems.n == 0);
	rc = pk_config_diff(config, again, &diff);
	assert(rc == 0 && !diff.any);
	pk_config_diff_finish(&diff);
	pk_config_destroy(again);
	free(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_problems problems = {0};
	struct pk_config *config = NULL;
	int rc = pk_config_parse((const char *)data, size, "fuzz", "/base", &config, &problems);

	assert(rc == 0 || rc == -EINVAL);
	assert((rc == 0) == (problems.n == 0));
	assert((rc == 0) == (config != NULL));
	if (rc == 0)
		check_accepted(config);
	pk_config_destroy(config);
	pk_problems_finish(&problems);
	return 0;
}
