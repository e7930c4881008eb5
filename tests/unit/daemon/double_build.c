// SPDX-License-Identifier: Apache-2.0
// A double of picket-build for tests: takes a job as build_proto.h says, writes a file in place of
// an engine, fails as told. Appends a line "RUNTIME OPT_LEVEL" to MODE_FILE.log for each job.
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "daemon/build_proto.h"
#include "tests/unit/daemon/double_mode.h"

static const char *job_mode; // "mode" of the job stands above the file

static int mode_is(const char *mode)
{
	return job_mode ? strcmp(job_mode, mode) == 0 : double_is(DOUBLE_BUILD_MODE, mode);
}

static void put(json_t *message)
{
	json_object_set_new(message, "v", json_integer(PK_BUILD_PROTO_VERSION));
	json_dumpf(message, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(message);
}

static void note(const json_t *job)
{
	const char *path = getenv(DOUBLE_BUILD_MODE);
	char log[512];
	snprintf(log, sizeof(log), "%s.log", path ? path : "/dev/null");
	FILE *file = path ? fopen(log, "ae") : NULL;
	if (!file)
		return;
	fprintf(file, "%s %lld\n", json_string_value(json_object_get(job, "runtime")),
		(long long)json_integer_value(json_object_get(job, "opt_level")));
	fclose(file);
}

static int finish(int code, const char *error, int permanent)
{
	put(json_pack("{s:s, s:i, s:s?, s:b, s:i}", "type", "result", "code", code, "error", error,
		"permanent", permanent, "n_measured", 3));
	return code < 0;
}

// What does not end with a result.
static void misbehave(void)
{
	if (mode_is("crash"))
		raise(SIGABRT);
	if (mode_is("noresult"))
		_exit(0);
	while (mode_is("silent"))
		usleep(10 * 1000);
	while (mode_is("endless")) {
		put(json_pack("{s:s, s:s, s:i, s:i, s:s}", "type", "progress", "phase", "tune",
			"done", 1, "total", 4, "what", ""));
		usleep(10 * 1000);
	}
	while (mode_is("babble"))
		fputs("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", stdout);
}

static int eat_memory(void)
{
	for (int i = 0; i < 64; i++) {
		void *p = mmap(NULL, 256u << 20, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return finish(-ENOMEM, "out of memory", 0);
	}
	return finish(-EIO, "there is no limit", 1);
}

static int build(const json_t *job)
{
	if (mode_is("memory"))
		return eat_memory();
	if (mode_is("fail"))
		return finish(-EAGAIN, "told to fail", 0);
	if (mode_is("permanent"))
		return finish(-ENOTSUP, "told to fail for ever", 1);
	if (mode_is("slow"))
		usleep(400 * 1000);
	const char *engine = json_string_value(json_object_get(job, "engine"));
	int64_t opt_level = json_integer_value(json_object_get(job, "opt_level"));
	const char *content = opt_level ? "tuned" : "quick";
	int r = pk_fs_write_atomic(engine, content, strlen(content), 0644, NULL);
	return finish(r, r < 0 ? "cannot write" : NULL, 0);
}

int main(void)
{
	char line[PK_BUILD_MAX_LINE];
	json_t *job = fgets(line, sizeof(line), stdin) ? json_loads(line, 0, NULL) : NULL;
	if (!job)
		return finish(-EINVAL, "no job", 1);
	job_mode = json_string_value(json_object_get(job, "mode"));
	if (json_is_true(json_object_get(job, "admit"))) {
		int unfit = mode_is("unfit");
		json_decref(job);
		return finish(unfit ? -EINVAL : 0, unfit ? "told not to fit" : NULL, unfit);
	}
	note(job);
	put(json_pack("{s:s, s:s, s:i, s:i, s:s}", "type", "progress", "phase", "tune", "done", 1,
		"total", 4, "what", "conv"));
	misbehave();
	int code = build(job);
	json_decref(job);
	return code;
}
