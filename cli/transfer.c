// SPDX-License-Identifier: Apache-2.0
// Options of pull and push.
#include "cli/transfer.h"

#include <errno.h>
#include <getopt.h>
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

enum option_kind { TEXT, HOST_TEXT, HOST_FLAG, FLAG, DURATION, BYTES, COUNT, LIST };

struct row {
	const char *name;
	enum option_kind kind;
	size_t offset;
};

#define AT(member) offsetof(struct pk_transfer, member)

static const struct row rows[] = {
	{"config", TEXT, AT(config)},
	{"store", TEXT, AT(store)},
	{"json", FLAG, AT(json)},
	{"help", FLAG, AT(help)},
	{"ca", HOST_TEXT, AT(host.ca_path)},
	{"cert", HOST_TEXT, AT(host.cert_path)},
	{"key", HOST_TEXT, AT(host.key_path)},
	{"auth", HOST_TEXT, AT(host.auth_path)},
	{"user", HOST_TEXT, AT(host.user)},
	{"password-file", HOST_TEXT, AT(host.password_path)},
	{"insecure", HOST_FLAG, AT(host.insecure)},
	{"mirror", LIST, AT(host.n_mirrors)},
	{"token-host", LIST, AT(host.n_token_hosts)},
	{"rate", BYTES, AT(options.bandwidth_bytes_per_s)},
	{"budget", BYTES, AT(budget_bytes)},
	{"max-size", BYTES, AT(options.artifact_max_bytes)},
	{"deadline", DURATION, AT(options.deadline_ns)},
	{"connect-timeout", DURATION, AT(options.connect_timeout_ns)},
	{"stall", DURATION, AT(options.stall_ns)},
	{"retry-min", DURATION, AT(options.retry_min_ns)},
	{"retry-wait", DURATION, AT(options.retry_wait_max_ns)},
	{"retries", COUNT, AT(options.n_retries)},
};

static int take_list(struct pk_transfer *t, const struct row *row, char *value)
{
	bool is_mirror = row->offset == AT(host.n_mirrors);
	char **list = is_mirror ? t->mirrors : t->token_hosts;
	size_t *n = is_mirror ? &t->host.n_mirrors : &t->host.n_token_hosts;
	if (*n == PK_TRANSFER_MAX_HOSTS) {
		fprintf(stderr, "picketctl: --%s: at most %d\n", row->name, PK_TRANSFER_MAX_HOSTS);
		return -EINVAL;
	}
	list[(*n)++] = value;
	return 0;
}

static int take_number(struct pk_transfer *t, const struct row *row, const char *value)
{
	struct pk_err err = {0};
	void *at = (char *)t + row->offset;
	int64_t n = 0;
	int rc = row->kind == DURATION ? pk_quantity_duration(value, &n, &err)
		 : row->kind == BYTES  ? pk_quantity_bytes(value, &n, &err)
				       : pk_quantity_int(value, &n, &err);
	if (rc == 0 && row->kind == COUNT && (n < 1 || n > 100))
		rc = pk_fail(&err, -EINVAL, "must be 1 to 100");
	if (rc < 0) {
		fprintf(stderr, "picketctl: --%s: %s\n", row->name, pk_err_text(&err, rc));
		return -EINVAL;
	}
	if (row->kind == COUNT)
		*(unsigned *)at = (unsigned)n;
	else
		*(int64_t *)at = n;
	return 0;
}

static int take(struct pk_transfer *t, const struct row *row, char *value)
{
	void *at = (char *)t + row->offset;
	t->has_host_options |=
		row->kind == HOST_TEXT || row->kind == HOST_FLAG || row->kind == LIST;
	switch (row->kind) {
	case TEXT:
	case HOST_TEXT:
		*(char **)at = value;
		return 0;
	case FLAG:
	case HOST_FLAG:
		*(bool *)at = true;
		return 0;
	case LIST:
		return take_list(t, row, value);
	default:
		return take_number(t, row, value);
	}
}

int pk_transfer_parse(int argc, char **argv, struct pk_transfer *out)
{
	struct option longs[PK_ARRAY_LEN(rows) + 1] = {0};
	*out = (struct pk_transfer){0};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		bool is_flag = rows[i].kind == FLAG || rows[i].kind == HOST_FLAG;
		longs[i] = (struct option){
			rows[i].name, is_flag ? no_argument : required_argument, NULL, (int)i + 1};
	}
	optind = 0; // main has used getopt before
	for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
		if (c == '?')
			return -EINVAL;
		if (c == 'h')
			out->help = true;
		else if (take(out, &rows[c - 1], optarg) < 0)
			return -EINVAL;
	}
	for (; optind < argc; optind++) {
		if (out->n_args == PK_ARRAY_LEN(out->args))
			return -EINVAL;
		out->args[out->n_args++] = argv[optind];
	}
	return 0;
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
