// SPDX-License-Identifier: Apache-2.0
// picketctl push: copies an artifact and its signatures from an OCI layout to a registry.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/cmd.h"
#include "cli/meter.h"
#include "cli/options.h"
#include "cli/transfer.h"
#include "registry/push.h"

static const char usage[] =
	"usage: picketctl push oci:FOLDER:TAG HOST[:PORT]/NAME:TAG [OPTIONS]\n"
	"\n"
	"Copies the artifact, and the signatures that lie beside it in the layout, to a registry.\n"
	"What is there already is not sent again; the tag moves last.\n"
	"\n" PK_TRANSFER_OPTIONS_HELP;

struct push {
	struct pk_meter meter;
	bool json;
	int64_t sent_bytes;
	int n_sent, n_present;
};

static int on_update(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
	struct push *push = ctx;
	pk_meter_update(&push->meter, done_bytes, total_bytes);
	return 0;
}

static void on_blob(void *ctx, const char *name, const struct pk_descriptor *blob, bool sent)
{
	struct push *push = ctx;
	char size[PK_METER_SIZE];
	*(sent ? &push->n_sent : &push->n_present) += 1;
	push->sent_bytes += sent ? blob->size : 0;
	if (push->json)
		return;
	pk_meter_clear(&push->meter);
	pk_meter_format_size(blob->size, size);
	printf("  %-24s %10s  %s\n", name ? name : "(no name)", size,
		sent ? "sent" : "already there");
	fflush(stdout);
}

static void print_done(const struct push *push, const struct pk_digest *digest)
{
	char text[PK_DIGEST_TEXT], size[PK_METER_SIZE];
	pk_digest_format(digest, text);
	pk_meter_format_size(push->sent_bytes, size);
	if (push->json)
		printf("{\"digest\":\"%s\",\"present_blobs\":%d,\"sent_blobs\":%d,\"sent_bytes\":"
		       "%" PRId64 "}\n",
			text, push->n_present, push->n_sent, push->sent_bytes);
	else
		printf("%s\n%s sent in %d blobs, %d already there\n", text, size, push->n_sent,
			push->n_present);
}

static int run(struct pk_transfer *transfer, const struct pk_ref *target)
{
	struct pk_err err = {0};
	struct push push = {.json = transfer->json};
	const struct pk_pull_progress progress = {
		.update = on_update, .ctx = &push, .blob = on_blob};
	struct pk_digest digest;
	int code = pk_transfer_prepare(transfer, target);
	if (code != PK_EXIT_OK)
		return code;
	pk_meter_begin(&push.meter, transfer->json);
	int rc = pk_push(transfer->words.at[0], transfer->words.at[1], &transfer->options,
		&progress, &digest, &err);
	pk_meter_clear(&push.meter);
	if (rc == -EINVAL) {
		fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, rc));
		return PK_EXIT_USAGE;
	}
	if (rc < 0)
		return pk_transfer_fail(transfer, &err, rc);
	print_done(&push, &digest);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_cmd_push(int argc, char **argv)
{
	const struct pk_verb_line line = {.verb = "push",
		.usage = usage,
		.min_args = 2,
		.max_args = 2,
		.wants = "a layout and a target"};
	return pk_transfer_main(line, argc, argv, run);
}
