// SPDX-License-Identifier: Apache-2.0
// Looking up hosts, counting bytes, telling errors that pass from those that stay.
#include "registry/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

#define DAY_NS (24 * 3600 * PK_NS_PER_S)

int pk_byte_budget_take(
	struct pk_byte_budget *budget, int64_t n, int64_t now_ns, struct pk_err *err)
{
	char wait[PK_DURATION_MAX];
	int64_t window_ns = budget->window_ns > 0 ? budget->window_ns : DAY_NS;
	if (budget->limit_bytes <= 0)
		return 0;
	// An end further away than one window comes from another boot's clock.
	if (now_ns >= budget->window_end_ns || budget->window_end_ns - now_ns > window_ns) {
		bool is_new = now_ns >= budget->window_end_ns;
		budget->window_end_ns = now_ns + window_ns;
		budget->used_bytes = is_new ? 0 : budget->used_bytes;
	}
	budget->used_bytes += n;
	if (budget->used_bytes <= budget->limit_bytes)
		return 0;
	pk_format_duration(budget->window_end_ns - now_ns, wait);
	return pk_fail(err, -EDQUOT,
		"the budget of %" PRId64 " bytes per day is used up; it starts anew in %s",
		budget->limit_bytes, wait);
}

const struct pk_registry_host *pk_registry_host_find(
	const struct pk_registry_options *options, const char *host)
{
	for (size_t i = 0; options && i < options->n_hosts; i++)
		if (strcasecmp(options->hosts[i].host, host) == 0)
			return &options->hosts[i];
	return NULL;
}

bool pk_registry_error_is_transient(int rc)
{
	static const int transient[] = {
		EAGAIN,
		ETIMEDOUT,
		ECONNREFUSED,
		ECONNRESET,
		EHOSTUNREACH,
		ENETDOWN,
		ENETUNREACH,
		EDQUOT,
		EBUSY,
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(transient); i++)
		if (rc == -transient[i])
			return true;
	return false;
}
