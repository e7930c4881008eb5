// SPDX-License-Identifier: Apache-2.0
// What the verbs that talk to registries share: their options, the config's registries, cancelling
// by Ctrl-C, the form of an error.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/options.h"
#include "daemon/registries.h"
#include "registry/policy.h"
#include "registry/registry.h"

#define PK_TRANSFER_MAX_HOSTS 8

struct pk_transfer {
	bool json;
	const char *config;           // NULL: the node's own, when there is one
	const char *store;            // NULL: below the root
	struct pk_words words;        // what stands besides the options
	struct pk_registry_host host; // what the options say of the reference's host
	char *mirrors[PK_TRANSFER_MAX_HOSTS], *token_hosts[PK_TRANSFER_MAX_HOSTS];
	int64_t budget_bytes;

	struct pk_registries registries; // of the config
	struct pk_registry_host *hosts;  // all of them, the options' first
	struct pk_byte_budget budget;
	struct pk_registry_report report;
	struct pk_registry_options options;
};

#define PK_TRANSFER_OPTIONS_HELP                                                                   \
	"  --config FILE         take `registries` from there (default: the node's picket.yaml)\n" \
	"  --ca FILE             PEM: the authorities trusted for the registry\n"                  \
	"  --cert FILE --key FILE  PEM: our certificate for it\n"                                  \
	"  --auth FILE           docker config.json with credentials\n"                            \
	"  --user NAME --password-file FILE\n"                                                     \
	"  --insecure            plain http\n"                                                     \
	"  --mirror HOST         asked first for what is named by digest; may be repeated\n"       \
	"  --token-host HOST     further host that may get the credentials; may be repeated\n"     \
	"  --rate BYTES          at most so many bytes per second (2MiB)\n"                        \
	"  --budget BYTES        receive no more than this\n"                                      \
	"  --max-size BYTES      refuse greater artifacts\n"                                       \
	"  --deadline TIME       end after this time in any case\n"                                \
	"  --connect-timeout TIME, --stall TIME, --retries N, --retry-min TIME, --retry-wait "     \
	"TIME\n"                                                                                   \
	"                        patience with slow and broken links (10s, 30s, 3, 500ms, 20s)\n"  \
	"  --store DIR           the store (default: ROOT/var/lib/picket)\n"                       \
	"  --json                one JSON object instead of text\n"

// Parses line, which comes without options, and runs; ref is what its last word names. The exit
// code.
int pk_transfer_main(struct pk_verb_line line, int argc, char **argv,
	int (*run)(struct pk_transfer *transfer, const struct pk_ref *ref));
// Loads the config's registries and makes out->options for references to ref's host. Exit code, 0:
// go on. From here on Ctrl-C cancels.
int pk_transfer_prepare(struct pk_transfer *transfer, const struct pk_ref *ref) pk_must_check;
void pk_transfer_finish(struct pk_transfer *transfer);

// Tells a failure (--json: on stdout) and returns the exit code that it means.
int pk_transfer_fail(const struct pk_transfer *transfer, const struct pk_err *err, int rc);
