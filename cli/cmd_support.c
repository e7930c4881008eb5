// SPDX-License-Identifier: Apache-2.0
// picketctl support-bundle: one tar file with what a developer asks for, without secrets.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/doctor.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/tar_writer.h"
#include "config/config.h"
#include "config/secrets.h"
#include "daemon/control_api.h"

#define MAX_BYTES (16u << 20) // of one member

static const char usage[] =
	"usage: picketctl support-bundle [FILE]\n"
	"\n"
	"Writes FILE (default: picket-NODE-TIME.tar) with status, events, figures, verdicts of\n"
	"the doctor, the config and the journal's last 2000 records of Picket, for the "
	"developers.\n"
	"Passwords, tokens and users in addresses are taken out; models and pictures are not in "
	"it.\n"
	"Read it before you send it: names of cameras, addresses and paths are in it.\n"
	"\n"
	"  --directory DIR   a journal folder instead of this machine's\n";

struct bundle {
	FILE *out;
	const char *journal;
	int error;
};

static void put(struct bundle *bundle, const char *name, const char *text)
{
	pk_auto_buf struct pk_buf clean;
	char path[96];
	pk_buf_init(&clean, MAX_BYTES);
	pk_secrets_mask(&clean, text);
	snprintf(path, sizeof(path), "picket/%s", name);
	int r = pk_buf_error(&clean);
	if (r == 0)
		r = pk_tar_put(bundle->out, path, pk_buf_cstr(&clean), clean.len);
	if (r < 0 && bundle->error == 0)
		bundle->error = r;
}

static void put_answer(struct bundle *bundle, const char *name, const char *path)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	int r = pk_client_get(path, &answer, &err);
	put(bundle, name, r < 0 ? pk_err_text(&err, r) : answer.text);
	if (r == 0)
		pk_answer_finish(&answer);
}

static void put_file(struct bundle *bundle, const char *name, const char *path)
{
	pk_auto_buf struct pk_buf text;
	struct pk_err err = {0};
	pk_buf_init(&text, MAX_BYTES);
	int r = pk_fs_read(path, MAX_BYTES, &text, &err);
	put(bundle, name, r < 0 ? pk_err_text(&err, r) : pk_buf_cstr(&text));
}

static void put_config(struct bundle *bundle)
{
	struct pk_problems problems = {0};
	pk_auto(pk_config) config = NULL;
	const char *root = pk_cli_root()[0] ? pk_cli_root() : "/";
	pk_auto_free char *path = pk_fs_join(root, "etc/picket/picket.yaml");
	pk_auto_free char *drop_ins = pk_fs_join(root, "etc/picket/picket.d");
	if (!path || !drop_ins)
		return;
	int r = pk_config_load(path, drop_ins, &config, &problems);
	pk_problems_finish(&problems);
	if (r == 0)
		pk_config_redact(config); // from here on nowhere else either
	pk_auto_free char *merged = r == 0 ? pk_config_dump(config) : NULL;
	put_file(bundle, "picket.yaml", path);
	if (merged)
		put(bundle, "config-in-force.yaml", merged);
}

static void put_doctor(struct bundle *bundle)
{
	struct pk_doctor doctor;
	pk_doctor_look(&doctor, true);
	char *text = json_dumps(doctor.rows, JSON_INDENT(1));
	put(bundle, "doctor.json", text ? text : "");
	free(text);
	pk_doctor_finish(&doctor);
}

// journalctl's own output, bounded.
static void put_journal(struct bundle *bundle)
{
	int ends[2];
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_BYTES - 4096);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execlp("journalctl", "journalctl", "--no-pager", "-q", "-n", "2000", "-t",
			"picketd", "-t", "picket-worker", "-t", "picket-build", "-o", "short-iso",
			bundle->journal ? "--directory" : NULL, bundle->journal, NULL);
		_exit(127);
	}
	close(ends[1]);
	char chunk[4096];
	for (ssize_t n; (n = read(ends[0], chunk, sizeof(chunk))) > 0;)
		if (pk_buf_append(&text, chunk, (size_t)n) < 0)
			break;
	close(ends[0]);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	text.error = 0; // what did not fit is left out
	put(bundle, "journal.txt", pk_buf_cstr(&text));
}

static int write_bundle(struct bundle *bundle)
{
	static const struct {
		const char *name, *path;
	} files[] = {{"meminfo.txt", "/proc/meminfo"}, {"cpuinfo.txt", "/proc/cpuinfo"},
		{"os-release.txt", "/etc/os-release"},
		{"nv_tegra_release.txt", "/etc/nv_tegra_release"}};
	put(bundle, "version.txt", "picketctl " PICKET_VERSION "\n");
	put_config(bundle);
	put_answer(bundle, "status.json", PK_API_STATUS);
	put_answer(bundle, "events.json", PK_API_EVENTS "?after=0");
	put_doctor(bundle);
	for (size_t i = 0; i < PK_ARRAY_LEN(files); i++)
		put_file(bundle, files[i].name, files[i].path);
	put_journal(bundle);
	int r = pk_tar_end(bundle->out);
	return bundle->error < 0 ? bundle->error : r;
}

static void default_name(char *out, size_t size)
{
	char node[64] = "node", stamp[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	(void)gethostname(node, sizeof(node) - 1);
	if (gmtime_r(&now, &tm))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(out, size, "picket-%s-%s.tar", node, stamp);
}

int pk_cmd_support(int argc, char **argv)
{
	struct bundle bundle = {0};
	struct pk_words words;
	char name[160];
	const struct pk_option rows[] = {PK_TEXT("directory", &bundle.journal)};
	const struct pk_verb_line line = {
		"support-bundle", usage, rows, PK_ARRAY_LEN(rows), 0, 1, "one file name"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	default_name(name, sizeof(name));
	const char *path = words.n ? words.at[0] : name;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bundle.out = fd >= 0 ? fdopen(fd, "wb") : NULL;
	int r = bundle.out ? write_bundle(&bundle) : -errno;
	if (bundle.out && fclose(bundle.out) != 0 && r == 0)
		r = -errno;
	if (r < 0) {
		fprintf(stderr, "picketctl: %s: %s\n", path, strerror(-r));
		return PK_EXIT_FAIL;
	}
	printf("%s: read it before you send it\n", path);
	return PK_EXIT_OK;
}
