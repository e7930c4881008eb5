// SPDX-License-Identifier: Apache-2.0
// The checks of `picketctl doctor`, in the order of a start: programs, config, machine, models,
// cameras.
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "config/config.h"
#include "daemon/control_api.h"
#include "engine/engine.h"

#define MAX_RUNTIMES 8
#define LOW_LIFE     20
#define MIB          (1024.0 * 1024)

void pk_doctor_add(struct pk_doctor *doctor, const char *check, enum pk_verdict verdict,
	const char *remedy, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "skipped", "warning", "bad"};
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_t *row = json_pack("{s:s, s:s, s:s+, s:s}", "check", check, "verdict", words[verdict],
		"text", text, "", "remedy", remedy);
	if (!row) // bytes that are no UTF-8
		row = json_pack("{s:s, s:s, s:s, s:s}", "check", check, "verdict", words[verdict],
			"text", "?", "remedy", remedy);
	json_array_append_new(doctor->rows, row);
	if (verdict > doctor->worst)
		doctor->worst = verdict;
}

static void check_daemon(struct pk_doctor *doctor)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	int r = pk_client_get(PK_API_STATUS, &answer, &err);
	if (r < 0) {
		pk_doctor_add(doctor, "picketd", PK_VERDICT_BAD, "systemctl start picketd", "%s",
			pk_err_text(&err, r));
		return;
	}
	doctor->status = json_incref(answer.json);
	pk_answer_finish(&answer);
	const char *version = pk_json_text(doctor->status, "version");
	bool same = strcmp(version, PICKET_VERSION) == 0;
	pk_doctor_add(doctor, "picketd", same ? PK_VERDICT_OK : PK_VERDICT_WARNING,
		same ? "" : "systemctl restart picketd", "answers; version %s%s", version,
		same ? "" : ", unlike picketctl " PICKET_VERSION);
}

// The config; NULL: there is none, or it has mistakes.
static struct pk_config *check_config(struct pk_doctor *doctor)
{
	struct pk_problems problems = {0};
	struct pk_config *config = NULL;
	pk_auto_free char *path =
		pk_fs_join(pk_cli_root()[0] ? pk_cli_root() : "/", "etc/picket/picket.yaml");
	pk_auto_free char *drop_ins =
		pk_fs_join(pk_cli_root()[0] ? pk_cli_root() : "/", "etc/picket/picket.d");
	int r = path && drop_ins ? pk_config_load(path, drop_ins, &config, &problems) : -ENOMEM;
	if (r == 0)
		pk_doctor_add(doctor, "config", PK_VERDICT_OK, "", "%s: %zu cameras, %zu models",
			path, config->n_cameras, config->n_models);
	else if (problems.n > 0)
		pk_doctor_add(doctor, "config", PK_VERDICT_BAD, "picketctl config check",
			"%zu mistakes, the first at %s:%d:%d: %s", problems.n,
			problems.items[0].file, problems.items[0].line, problems.items[0].column,
			problems.items[0].text);
	else
		pk_doctor_add(doctor, "config", PK_VERDICT_BAD, "write it; docs/CONFIG.md",
			"%s: %s", path ? path : "", strerror(-r));
	pk_problems_finish(&problems);
	return config;
}

static bool is_in_chain(const struct pk_config *config, const char *runtime)
{
	for (size_t i = 0; config && i < config->n_models; i++) {
		const struct pk_model_config *model = &config->models[i];
		for (size_t k = 0; k < model->n_chain; k++)
			if (strcmp(model->chain[k], runtime) == 0)
				return true;
	}
	return false;
}

static void check_runtimes(struct pk_doctor *doctor, const struct pk_config *config)
{
	struct pk_runtime_status statuses[MAX_RUNTIMES];
	size_t n = pk_engine_runtimes(statuses, MAX_RUNTIMES);
	for (size_t i = 0; i < n && i < MAX_RUNTIMES; i++) {
		char check[64];
		bool usable = statuses[i].error == 0;
		bool missed = !usable && is_in_chain(config, statuses[i].name);
		snprintf(check, sizeof(check), "runtime %.40s", statuses[i].name);
		pk_doctor_add(doctor, check,
			usable   ? PK_VERDICT_OK
			: missed ? PK_VERDICT_WARNING
				 : PK_VERDICT_SKIPPED,
			missed ? "install its libraries, or leave it out of runtime.chain" : "",
			"%s%s",
			statuses[i].text[0] ? statuses[i].text : strerror(-statuses[i].error),
			usable || missed ? "" : "; no model asks for it");
	}
}

// The folder of the running picketd's programs: beside it, or the installed one.
static char *find_builder(const struct pk_doctor *doctor)
{
	char link[64], self[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pk_json_number(doctor->status, "pid"));
	ssize_t n = readlink(link, self, sizeof(self) - 1);
	const char *env = getenv("PICKET_LIBEXEC");
	char *found = env ? pk_fs_join(env, "picket-build") : NULL;
	if (!found && n > 0) {
		self[n] = '\0';
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		found = pk_fs_join(self, "picket-build");
	}
	if (found && access(found, X_OK) == 0)
		return found;
	free(found);
	return strdup(PICKET_LIBEXECDIR "/picket-build");
}

static void check_sandbox(struct pk_doctor *doctor)
{
	pk_auto_free char *program = find_builder(doctor);
	if (!program || access(program, X_OK) != 0) {
		pk_doctor_add(doctor, "builder", PK_VERDICT_BAD,
			"install picket-build with picketd", "%s cannot be run",
			program ? program : "picket-build");
		return;
	}
	const char *const argv[] = {program, "--try-sandbox", NULL};
	struct pk_subprocess process;
	struct pk_exit_status status = {0};
	struct pk_err err = {0};
	pk_auto_close int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct pk_subprocess_fd fds[] = {{.parent_fd = nowhere, .child_fd = STDOUT_FILENO}};
	const struct pk_subprocess_options options = {
		.argv = argv, .fds = fds, .n_fds = nowhere >= 0, .die_with_parent = true};
	int r = pk_subprocess_start(&process, &options, &err);
	if (r == 0 && pk_subprocess_wait(&process, 5000, &status) != 1) {
		(void)pk_subprocess_signal(&process, SIGKILL);
		(void)pk_subprocess_wait(&process, -1, &status);
	}
	bool good = r == 0 && !status.signalled && status.code == 0;
	pk_doctor_add(doctor, "builder's sandbox", good ? PK_VERDICT_OK : PK_VERDICT_WARNING,
		good ? "" : "a kernel with seccomp and Landlock shuts it in", "%s",
		good    ? "network, exec, fork and foreign files are refused"
		: r < 0 ? pk_err_text(&err, r)
			: "this kernel lets some of it through");
}

static void check_machine(struct pk_doctor *doctor)
{
	const json_t *health = json_object_get(doctor->status, "health");
	double free_bytes = pk_json_number(health, "disk_free_bytes");
	double life = json_is_number(json_object_get(health, "disk_life_percent"))
			      ? pk_json_number(health, "disk_life_percent")
			      : 100;
	bool low = free_bytes < 64 * MIB;
	pk_doctor_add(doctor, "disk",
		low                ? PK_VERDICT_BAD
		: life <= LOW_LIFE ? PK_VERDICT_WARNING
				   : PK_VERDICT_OK,
		low                ? "make room, or lower store.quota"
		: life <= LOW_LIFE ? "replace the flash memory"
				   : "",
		"%.0f MiB free, %.0f %% of its writes left", free_bytes / MIB, life);
	const char *time = pk_json_text(health, "time");
	bool synced = strcmp(time, "synced") == 0;
	pk_doctor_add(doctor, "clock", synced ? PK_VERDICT_OK : PK_VERDICT_WARNING,
		synced ? "" : "timedatectl set-ntp true; certificates may seem invalid meanwhile",
		"%s", time);
	double level = pk_json_number(health, "shed_level");
	const char *slow = pk_json_text(health, "slow");
	bool calm = level <= 0 && !slow[0];
	pk_doctor_add(doctor, "heat and power", calm ? PK_VERDICT_OK : PK_VERDICT_WARNING,
		calm ? "" : "cooling, power supply, power mode (nvpmodel -q)", "%s%s%s",
		calm ? "no reason to step back" : pk_json_text(health, "shed_cause"),
		level > 0 && slow[0] ? "; " : "", slow);
	bool group = json_is_true(json_object_get(health, "cgroup"));
	pk_doctor_add(doctor, "builder's memory limit", PK_VERDICT_OK, "",
		group ? "by its own control group"
		      : "by its address space (no control group was "
			"delegated)");
}

static void check_models(struct pk_doctor *doctor)
{
	size_t i;
	json_t *model;
	json_array_foreach (json_object_get(doctor->status, "models"), i, model) {
		char check[96];
		const char *rung = pk_json_text(model, "rung"),
			   *cause = pk_json_text(model, "cause");
		bool dark = strcmp(rung, "passthrough") == 0, best = strcmp(rung, "engine") == 0;
		snprintf(check, sizeof(check), "model %.64s", pk_json_text(model, "name"));
		pk_doctor_add(doctor, check,
			dark   ? PK_VERDICT_BAD
			: best ? PK_VERDICT_OK
			       : PK_VERDICT_WARNING,
			best ? "" : "picketctl models; picketctl logs --model NAME --explain",
			"%s%s%s", rung, cause[0] ? ": " : "", cause);
	}
}

// A registry folder can be looked at from here; one on the network is for `picketctl pull`.
static void check_registries(struct pk_doctor *doctor)
{
	size_t i;
	json_t *model;
	json_array_foreach (json_object_get(doctor->status, "models"), i, model) {
		char check[96], path[PATH_MAX];
		const char *ref = pk_json_text(model, "artifact");
		snprintf(check, sizeof(check), "registry of %.60s", pk_json_text(model, "name"));
		if (strncmp(ref, "oci:", 4) != 0) {
			pk_doctor_add(doctor, check, PK_VERDICT_SKIPPED,
				"picketctl pull REF tries it", "%s", ref);
			continue;
		}
		const char *end = strrchr(ref, '@') ? strrchr(ref, '@') : strrchr(ref, ':');
		snprintf(path, sizeof(path), "%.*s/index.json", (int)(end - ref - 4), ref + 4);
		bool there = access(path, R_OK) == 0;
		pk_doctor_add(doctor, check, there ? PK_VERDICT_OK : PK_VERDICT_WARNING,
			there ? ""
			      : "what is in the store goes on serving; mount it, or correct it",
			"%s%s", path, there ? "" : " cannot be read");
	}
}

// Of a camera that does not simply run.
static const char *camera_remedy(const char *state, const char *cause)
{
	if (strcmp(state, "degraded") == 0 && strstr(cause, "`late`"))
		return "take its smaller stream or a lower rate, or fewer cameras on this node";
	if (strcmp(state, "faulty") == 0)
		return "its stream breaks the decoder: other codec settings; `picketctl "
		       "support-bundle` for us";
	return "try its stream with another player; cable, address, password";
}

static void check_cameras(struct pk_doctor *doctor)
{
	size_t i;
	json_t *camera;
	json_array_foreach (json_object_get(doctor->status, "cameras"), i, camera) {
		char check[96];
		const char *state = pk_json_text(camera, "state"),
			   *cause = pk_json_text(camera, "cause");
		bool runs = strcmp(state, "running") == 0;
		snprintf(check, sizeof(check), "camera %.64s", pk_json_text(camera, "name"));
		pk_doctor_add(doctor, check, runs ? PK_VERDICT_OK : PK_VERDICT_WARNING,
			runs ? "" : camera_remedy(state, cause),
			"%s, %.1f fps, age p99 %.0f ms%s%s", state, pk_json_number(camera, "fps"),
			pk_json_number(camera, "age_p99_ms"), cause[0] ? ": " : "", cause);
	}
}

static void check_alarms(struct pk_doctor *doctor)
{
	size_t i;
	json_t *alarm;
	json_array_foreach (json_object_get(doctor->status, "alarms"), i, alarm) {
		if (!pk_json_text(alarm, "model")[0])
			pk_doctor_add(doctor, "alarm", PK_VERDICT_BAD, "docs/OPERATIONS.md, Alarms",
				"%s", pk_json_text(alarm, "cause"));
	}
}

void pk_doctor_look(struct pk_doctor *doctor, bool after_upgrade)
{
	*doctor = (struct pk_doctor){.rows = json_array()};
	check_daemon(doctor);
	pk_auto(pk_config) config = check_config(doctor);
	check_runtimes(doctor, config);
	check_sandbox(doctor);
	if (!doctor->status)
		return;
	check_machine(doctor);
	check_registries(doctor);
	check_models(doctor);
	check_cameras(doctor);
	check_alarms(doctor);
	if (after_upgrade)
		pk_doctor_engines(doctor);
}

void pk_doctor_finish(struct pk_doctor *doctor)
{
	json_decref(doctor->rows);
	json_decref(doctor->status);
	*doctor = (struct pk_doctor){0};
}
