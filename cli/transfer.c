// SPDX-License-Identifier: Apache-2.0
// Options of pull and push.
#include "cli/transfer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "config/quantity.h"

static atomic_bool cancelled;

static void on_signal(pk_unused int number)
{
	atomic_store(&cancelled, true);
}

static const char *add_host(char **list, size_t *n, const char *name)
{
	if (*n == PK_TRANSFER_MAX_HOSTS)
		return "there are too many of them";
	list[(*n)++] = (char *)(uintptr_t)name; // of argv
	return NULL;
}

static const char *add_mirror(void *to, const char *name)
{
	struct pk_transfer *t = to;
	return add_host(t->mirrors, &t->host.n_mirrors, name);
}

static const char *add_token_host(void *to, const char *name)
{
	struct pk_transfer *t = to;
	return add_host(t->token_hosts, &t->host.n_token_hosts, name);
}

static const char *take_retries(void *to, const char *text)
{
	int64_t n = 0;
	if (pk_quantity_int(text, &n, NULL) < 0 || n < 1 || n > 100)
		return "a number from 1 to 100 is wanted";
	*(unsigned *)to = (unsigned)n;
	return NULL;
}

static int parse(struct pk_verb_line line, int argc, char **argv, struct pk_transfer *out)
{
	struct pk_registry_host *host = &out->host;
	struct pk_registry_options *options = &out->options;
	*out = (struct pk_transfer){0};
	const struct pk_option rows[] = {
		PK_TEXT("config", &out->config),
		PK_TEXT("store", &out->store),
		PK_FLAG("json", &out->json),
		PK_TEXT("ca", &host->ca_path),
		PK_TEXT("cert", &host->cert_path),
		PK_TEXT("key", &host->key_path),
		PK_TEXT("auth", &host->auth_path),
		PK_TEXT("user", &host->user),
		PK_TEXT("password-file", &host->password_path),
		PK_FLAG("insecure", &host->insecure),
		PK_CALL("mirror", add_mirror, out),
		PK_CALL("token-host", add_token_host, out),
		PK_BYTES("rate", &options->bandwidth_bytes_per_s),
		PK_BYTES("budget", &out->budget_bytes),
		PK_BYTES("max-size", &options->artifact_max_bytes),
		PK_DURATION("deadline", &options->deadline_ns),
		PK_DURATION("connect-timeout", &options->connect_timeout_ns),
		PK_DURATION("stall", &options->stall_ns),
		PK_DURATION("retry-min", &options->retry_min_ns),
		PK_DURATION("retry-wait", &options->retry_wait_max_ns),
		PK_CALL("retries", take_retries, &options->n_retries),
	};
	line.options = rows;
	line.n_options = PK_ARRAY_LEN(rows);
	return pk_options_parse(&line, argc, argv, &out->words);
}

static int load_config(struct pk_transfer *t, const char *path, const char *drop_ins)
{
	struct pk_problems problems = {0};
	pk_auto(pk_config) config = NULL;
	int rc = pk_config_load(path, drop_ins, &config, &problems);
	pk_problems_print(&problems, stderr);
	pk_problems_finish(&problems);
	if (rc == 0)
		rc = pk_registries_copy(config, &t->registries);
	return rc == 0 ? PK_EXIT_OK : rc == -EINVAL ? PK_EXIT_USAGE : PK_EXIT_FAIL;
}

static int load_registries(struct pk_transfer *t)
{
	pk_auto_free char *path = NULL;
	pk_auto_free char *drop_ins = NULL;
	if (t->config)
		return load_config(t, t->config, NULL);
	if (asprintf(&path, "%s/etc/picket/picket.yaml", pk_cli_root()) < 0 ||
		asprintf(&drop_ins, "%s/etc/picket/picket.d", pk_cli_root()) < 0)
		return PK_EXIT_FAIL;
	return pk_fs_exists(path) ? load_config(t, path, drop_ins) : PK_EXIT_OK;
}

// What the options say of the host, over what the config says of it.
static void overlay(struct pk_registry_host *to, const struct pk_registry_host *over)
{
	const struct {
		char **to;
		char *over;
	} texts[] = {
		{&to->ca_path, over->ca_path},
		{&to->cert_path, over->cert_path},
		{&to->key_path, over->key_path},
		{&to->auth_path, over->auth_path},
		{&to->user, over->user},
		{&to->password_path, over->password_path},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(texts); i++)
		if (texts[i].over)
			*texts[i].to = texts[i].over;
	to->insecure |= over->insecure;
	if (over->n_mirrors) {
		to->mirrors = over->mirrors;
		to->n_mirrors = over->n_mirrors;
	}
	if (over->n_token_hosts) {
		to->token_hosts = over->token_hosts;
		to->n_token_hosts = over->n_token_hosts;
	}
}

// The host that a reference talks to: of an address, the part before its path.
static char *host_name(const struct pk_ref *ref)
{
	if (strcmp(ref->scheme, "https") != 0)
		return strdup(ref->location);
	const char *host = ref->location + strlen("https://");
	return strndup(host, strcspn(host, "/"));
}

// The mirrors of an option get what the options say, too: they are one site's.
static int make_hosts(struct pk_transfer *t, const struct pk_ref *ref)
{
	size_t n = 0;
	t->hosts = calloc(t->registries.n + 2 + PK_TRANSFER_MAX_HOSTS, sizeof(*t->hosts));
	char *name = host_name(ref);
	if (!t->hosts || !name) {
		free(name);
		return -ENOMEM;
	}
	t->host.mirrors = t->mirrors;
	t->host.token_hosts = t->token_hosts;
	const struct pk_registry_options of_config = {
		.hosts = t->registries.hosts, .n_hosts = t->registries.n};
	const struct pk_registry_host *known = pk_registry_host_find(&of_config, name);
	if (known)
		t->hosts[0] = *known;
	overlay(&t->hosts[0], &t->host);
	t->hosts[0].host = name; // freed by finish
	n = 1;
	for (size_t i = 0; i < t->registries.n; i++)
		t->hosts[n++] = t->registries.hosts[i];
	for (size_t i = 0; i < t->host.n_mirrors; i++)
		t->hosts[n++] = (struct pk_registry_host){.host = t->mirrors[i],
			.ca_path = t->host.ca_path,
			.insecure = t->host.insecure};
	t->options.hosts = t->hosts;
	t->options.n_hosts = n;
	return 0;
}

static bool is_local(const struct pk_ref *ref)
{
	return strcmp(ref->scheme, "oci") == 0 || strcmp(ref->scheme, "file") == 0;
}

int pk_transfer_prepare(struct pk_transfer *transfer, const struct pk_ref *ref)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	int code = is_local(ref) && !transfer->config ? PK_EXIT_OK : load_registries(transfer);
	if (code != PK_EXIT_OK)
		return code;
	if (make_hosts(transfer, ref) < 0)
		return pk_transfer_fail(transfer, NULL, -ENOMEM);
	transfer->budget.limit_bytes = transfer->budget_bytes;
	transfer->options.budget = transfer->budget_bytes > 0 ? &transfer->budget : NULL;
	transfer->options.report = &transfer->report;
	transfer->options.cancel = &cancelled;
	if (transfer->hosts[0].insecure && !is_local(ref))
		fprintf(stderr,
			"picketctl: warning: %s is asked over plain http; nobody proves that it is "
			"the one\n",
			transfer->hosts[0].host);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return PK_EXIT_OK;
}

void pk_transfer_finish(struct pk_transfer *transfer)
{
	if (transfer->hosts)
		free(transfer->hosts[0].host);
	free(transfer->hosts);
	pk_registries_finish(&transfer->registries);
}

static int exit_code(int rc)
{
	if (pk_registry_error_is_transient(rc))
		return PK_EXIT_UNREACHABLE;
	return rc == -EBADMSG || rc == -EKEYREJECTED ? PK_EXIT_UNVERIFIED : PK_EXIT_FAIL;
}

int pk_transfer_fail(const struct pk_transfer *transfer, const struct pk_err *err, int rc)
{
	const struct pk_registry_report *report = &transfer->report;
	fprintf(stderr, "picketctl: %s\n", pk_err_text(err, rc));
	if (pk_registry_error_is_transient(rc) && report->received_bytes > 0)
		fputs("picketctl: what came is kept; the same command continues\n", stderr);
	if (!transfer->json)
		return exit_code(rc);
	const char *name = strerrorname_np(-rc);
	pk_auto_json json =
		json_pack("{s:s, s:s, s:b, s:f, s:I, s:i, s:i}", "error", pk_err_text(err, rc),
			"code", name ? name : "?", "transient", pk_registry_error_is_transient(rc),
			"retry_after_s", (double)report->retry_after_ns / (double)PK_NS_PER_S,
			"received_bytes", (json_int_t)report->received_bytes, "requests",
			(int)report->n_requests, "retries", (int)report->n_retries);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
	return exit_code(rc);
}

int pk_transfer_main(struct pk_verb_line line, int argc, char **argv,
	int (*run)(struct pk_transfer *transfer, const struct pk_ref *ref))
{
	struct pk_transfer transfer;
	struct pk_ref ref;
	struct pk_err err = {0};
	int code = parse(line, argc, argv, &transfer);
	if (code != PK_GO_ON)
		return code;
	// A reference that cannot be one is a mistake on the command line, not a failed transfer.
	if (pk_ref_parse(transfer.words.at[transfer.words.n - 1], &ref, &err) < 0)
		return pk_usage_mistake(line.verb, err.text);
	code = run(&transfer, &ref);
	pk_ref_finish(&ref);
	pk_transfer_finish(&transfer);
	return code;
}
