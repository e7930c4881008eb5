// SPDX-License-Identifier: Apache-2.0
// A double of picket-worker for tests: speaks worker_proto.h, serves nothing, fails as told.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/blackbox.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "config/config.h"
#include "daemon/worker_proto.h"
#include "tests/unit/daemon/double_mode.h"

#define BEAT_NS (100 * PK_NS_PER_MS)

static struct pk_channel channel;
static struct pk_config *config;
static bool stopping;

static bool mode_is(const char *mode)
{
	return double_is(DOUBLE_WORKER_MODE, mode);
}

static void put(json_t *message)
{
	if (pk_channel_send(&channel, message) < 0)
		stopping = true;
}

static void on_config(const json_t *message)
{
	struct pk_problems problems = {0};
	const char *yaml = json_string_value(json_object_get(message, "yaml"));
	struct pk_config *taken = NULL;
	int r = pk_config_parse(yaml, strlen(yaml), "config", "/", &taken, &problems);
	pk_problems_finish(&problems);
	if (r == 0) {
		pk_config_destroy(config);
		config = taken;
	}
	bool refuse = r < 0 || mode_is("refuse");
	put(json_pack("{s:s, s:s?}", "type", "config_done", "error", refuse ? "told to" : NULL));
	if (mode_is("exit3"))
		_exit(3);
	if (mode_is("crash"))
		raise(SIGABRT);
	if (mode_is("garbage") && write(PK_PROTO_WORKER_FD, "this is not JSON\n", 17) < 0)
		stopping = true;
}

// An engine file that begins with "bad" is one that does not fit here.
static int load(const char *path)
{
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, 1024);
	int r = pk_fs_read(path, 1024, &file, NULL);
	if (r < 0)
		return r;
	return strncmp(pk_buf_cstr(&file), "bad", 3) == 0 ? -EBADMSG : 0;
}

static void on_assign(const json_t *message)
{
	const char *engine = json_string_value(json_object_get(message, "engine"));
	if (engine && mode_is("load-crash"))
		raise(SIGABRT);
	put(json_pack("{s:s}", "type", "busy"));
	if (engine && mode_is("hang-load")) {
		put(json_pack("{s:s, s:s, s:s}", "type", "busy", "model", "m", "phase", "prepare"));
		usleep(20 * 1000 * 1000);
	}
	if (engine && mode_is("slow-load"))
		usleep(1200 * 1000);
	int code = engine ? load(engine) : 0;
	put(json_pack("{s:s, s:O, s:O, s:s?, s:i, s:s}", "type", "assign_done", "model",
		json_object_get(message, "model"), "serial", json_object_get(message, "serial"),
		"error", code < 0 ? "it does not hold together" : NULL, "code", code, "mismatch",
		code == -EBADMSG ? "corrupt" : "match"));
	if (engine && code == 0 && mode_is("fault"))
		put(json_pack("{s:s, s:O, s:i, s:s}", "type", "fault", "model",
			json_object_get(message, "model"), "code", -EIO, "cause", "told to"));
}

static void on_message(void *ctx, const char *type, const json_t *message)
{
	(void)ctx;
	if (strcmp(type, "config") == 0)
		on_config(message);
	else if (strcmp(type, "assign") == 0)
		on_assign(message);
	else if (strcmp(type, "stop") == 0)
		stopping = !mode_is("deaf");
}

static void beat(void)
{
	json_t *cameras = json_array();
	for (size_t i = 0; config && i < config->n_cameras; i++)
		json_array_append_new(
			cameras, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:i}", "name",
					 config->cameras[i].name, "model", config->cameras[i].model,
					 "state", "running", "cause", "", "fps", 15.0, "age_p99_ms",
					 42.0, "dropped", 7));
	put(json_pack("{s:s, s:i, s:i, s:o}", "type", "heartbeat", "progress_age_ms",
		mode_is("stuck") ? 60000 : 5, "rss_bytes", 1 << 20, "cameras", cameras));
}

static void turn(void)
{
	struct pollfd fd = {.fd = channel.fd, .events = POLLIN};
	if (poll(&fd, 1, (int)(BEAT_NS / PK_NS_PER_MS)) <= 0)
		return;
	if (pk_channel_receive(&channel, on_message, NULL, NULL) < 0)
		stopping = true;
}

int main(void)
{
	if (mode_is("deaf"))
		signal(SIGTERM, SIG_IGN);
	(void)pk_blackbox_open(PK_PROTO_BLACKBOX_FD);
	if (mode_is("blame-camera")) {
		pk_blackbox_enter(PK_BLACKBOX_CAMERA, NULL, "belt", NULL);
		raise(SIGSEGV);
	}
	if (mode_is("blame")) {
		pk_blackbox_enter(PK_BLACKBOX_INFER, "parts", "belt", "cpu");
		raise(SIGSEGV);
	}
	pk_channel_init(&channel, PK_PROTO_WORKER_FD);
	while (mode_is("silent-start"))
		usleep(20 * 1000);
	put(json_pack("{s:s, s:i}", "type", "hello", "pid", (int)getpid()));
	int64_t next_ns = 0;
	while (!stopping) {
		turn();
		if (config && pk_now_ns() >= next_ns && !mode_is("mute")) {
			beat();
			next_ns = pk_now_ns() + BEAT_NS;
		}
	}
	pk_config_destroy(config);
	pk_channel_finish(&channel);
	return 0;
}
