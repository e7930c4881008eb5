// SPDX-License-Identifier: Apache-2.0
// A look at the machine each health.interval, and what is done about it.
#include "daemon/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/rss.h"
#include "daemon/text.h"

#define BUILD_GROUP  "build"
#define WORKER_GROUP "worker"
#define BUILD_WEIGHT 20
#define HELD_CAUSE                                                                                 \
	"builds are held: the machine went down during them; `picketctl model rebuild NAME` "      \
	"allows them again"

// What building an engine takes: the program and its libraries, and the model several times over
// (as read, as a graph, packed, and as the reference computes it).
#define BUILD_BASE_BYTES   (INT64_C(96) << 20)
#define BUILD_MODEL_FACTOR 6
#define RESERVE_DIVISOR    20 // of the memory that stays free for the cameras

#define DISK_LOW_BYTES   (INT64_C(64) << 20)
#define DISK_LOW_DIVISOR 100

#define LOOKS_OF_A_START 3 // then what only the start needed is given back

#define TIME_JUMP_NS PK_NS_PER_S
#define UNKNOWN_FPS  5.0
#define MIN_SHED_HZ  0.5

static void tell_changed(struct pk_monitor *monitor)
{
	monitor->env.changed(monitor->env.ctx);
}

// Which of the distinct priorities this is, lowest first, and how many there are.
static size_t class_of(const struct pk_config *config, int priority, size_t *n_classes)
{
	bool seen[101] = {false};
	size_t below = 0;
	*n_classes = 0;
	for (size_t i = 0; i < config->n_cameras; i++) {
		int p = PK_MIN(PK_MAX(config->cameras[i].priority, 0), 100);
		if (seen[p])
			continue;
		seen[p] = true;
		++*n_classes;
		below += p < priority;
	}
	return below;
}

static double shed_rate(const struct pk_monitor *monitor, const struct pk_camera_config *camera)
{
	size_t n_classes;
	size_t class_idx = class_of(monitor->config, camera->priority, &n_classes);
	double factor = pk_shed_factor(monitor->policy.level, class_idx, n_classes);
	if (factor >= 1)
		return 0;
	double full = pk_cameras_full_fps(monitor->env.cameras, camera->name);
	if (full <= 0)
		full = camera->max_rate_hz > 0 ? camera->max_rate_hz : UNKNOWN_FPS;
	return PK_MAX(full * factor, MIN_SHED_HZ);
}

static void send_shed(struct pk_monitor *monitor)
{
	monitor->env.cameras->shed = monitor->policy.level > 0;
	json_t *list = json_array();
	for (size_t i = 0; monitor->config && i < monitor->config->n_cameras; i++) {
		const struct pk_camera_config *camera = &monitor->config->cameras[i];
		double rate_hz = shed_rate(monitor, camera);
		if (rate_hz > 0)
			json_array_append_new(list, json_pack("{s:s, s:f}", "name", camera->name,
							    "max_rate_hz", rate_hz));
	}
	(void)pk_supervisor_send(monitor->env.supervisor,
		json_pack("{s:s, s:o}", "type", "shed", "cameras", list), false);
}

static void tell_level(struct pk_monitor *monitor)
{
	const struct pk_health_policy *policy = &monitor->policy;
	char level[8];
	snprintf(level, sizeof(level), "%d", policy->level);
	if (policy->level > 0)
		pk_events_post(monitor->env.events, PK_EVENT_LOAD_SHED,
			PK_FIELDS({"PICKET_LEVEL", level}, {"PICKET_CAUSE", policy->cause}),
			"inference steps back to level %s of %d: %s", level, PK_SHED_MAX_LEVEL,
			policy->cause);
	else
		pk_events_post(monitor->env.events, PK_EVENT_LOAD_RESTORED, NULL, 0,
			"all cameras have their full rate again");
	send_shed(monitor);
}

static void tell_slow(struct pk_monitor *monitor)
{
	const char *text = monitor->policy.slow_text;
	if (monitor->policy.slow)
		pk_events_post(monitor->env.events, PK_EVENT_SLOW,
			PK_FIELDS({"PICKET_CAUSE", text}), "inference is %s", text);
	else
		pk_events_post(monitor->env.events, PK_EVENT_SLOW_CLEARED, NULL, 0,
			"inference is as fast as before");
}

static void look_at_policy(struct pk_monitor *monitor)
{
	struct pk_health_policy *policy = &monitor->policy;
	const struct pk_health_settings settings = {
		.shed = monitor->config->health.shed,
		.pressure_limit = monitor->config->build.pressure,
	};
	const struct pk_health_input input = {
		.health = &monitor->health,
		.slowdown = pk_cameras_slowdown(monitor->env.cameras),
		.building = pk_builder_is_busy(monitor->env.builder),
		.now_ns = pk_now_ns(),
		.realtime_ns = pk_realtime_ns(),
	};
	int level = policy->level;
	bool slow = policy->slow;
	if (!pk_health_policy_step(policy, &settings, &input))
		return;
	if (policy->level != level)
		tell_level(monitor);
	if (policy->slow != slow)
		tell_slow(monitor);
	tell_changed(monitor);
}

static void look_at_disk(struct pk_monitor *monitor)
{
	const struct pk_health *health = &monitor->health;
	int64_t limit = PK_MIN(DISK_LOW_BYTES, health->disk_bytes / DISK_LOW_DIVISOR * 5);
	bool low = health->disk_bytes > 0 && health->disk_free_bytes < limit;
	char free_mib[32];
	if (low == monitor->disk_low)
		return;
	monitor->disk_low = low;
	snprintf(
		free_mib, sizeof(free_mib), "%lld MiB", (long long)(health->disk_free_bytes >> 20));
	pk_events_post(monitor->env.events, low ? PK_EVENT_DISK_LOW : PK_EVENT_DISK_LOW_CLEARED,
		PK_FIELDS({"PICKET_CAUSE", free_mib}), "the disk of %s has %s left",
		monitor->env.paths->lib, free_mib);
	tell_changed(monitor);
}

static void look_at_time(struct pk_monitor *monitor)
{
	int64_t offset_ns = pk_realtime_ns() - pk_boottime_ns();
	int64_t jump_ns = offset_ns - monitor->wall_offset_ns;
	bool first = monitor->wall_offset_ns == 0;
	if (!first && jump_ns < TIME_JUMP_NS && jump_ns > -TIME_JUMP_NS) {
		monitor->wall_offset_ns = offset_ns; // slewing is no jump
		return;
	}
	monitor->wall_offset_ns = offset_ns;
	if (first)
		return;
	char seconds[32];
	snprintf(seconds, sizeof(seconds), "%.1f", (double)jump_ns / (double)PK_NS_PER_S);
	pk_events_post(monitor->env.events, PK_EVENT_TIME_JUMPED,
		PK_FIELDS({"PICKET_SECONDS", seconds}), "the wall clock jumped by %s s", seconds);
}

static void look(struct pk_monitor *monitor)
{
	pk_health_read(monitor->root, monitor->env.paths->lib, &monitor->health);
	look_at_time(monitor);
	look_at_disk(monitor);
	look_at_policy(monitor);
}

static void on_timer(void *ctx)
{
	struct pk_monitor *monitor = ctx;
	pk_loop_start_timer(
		monitor->env.loop, &monitor->timer, monitor->config->health.interval_ns);
	look(monitor);
	if (++monitor->n_looks == LOOKS_OF_A_START)
		pk_rss_give_back();
}

static int64_t forecast_bytes(const struct pk_build_job *job)
{
	struct stat st;
	const char *onnx = json_string_value(json_object_get(job->request, "onnx"));
	int64_t model_bytes = onnx && stat(onnx, &st) == 0 ? (int64_t)st.st_size : 0;
	return BUILD_BASE_BYTES +
	       PK_MIN(model_bytes, INT64_MAX / (2 * BUILD_MODEL_FACTOR)) * BUILD_MODEL_FACTOR;
}

// While it does not run: one that does has its memory already.
static bool lacks_memory(
	struct pk_monitor *monitor, const struct pk_build_job *job, char cause[PK_BUILD_CAUSE_MAX])
{
	struct pk_health now;
	int64_t need = forecast_bytes(job);
	pk_health_read(monitor->root, NULL, &now);
	int64_t room = now.memory_free_bytes - now.memory_bytes / RESERVE_DIVISOR;
	if (now.memory_free_bytes < 0 || need <= room)
		return false;
	pk_text_format(cause, PK_BUILD_CAUSE_MAX,
		"needs about %lld MiB of memory, %lld MiB can be had", (long long)(need >> 20),
		(long long)(PK_MAX(room, INT64_C(0)) >> 20));
	return true;
}

// A quick engine is a matter of seconds: it is what a camera gets when nothing else may run.
static enum pk_build_verdict judge(
	void *ctx, const struct pk_build_job *job, char cause[PK_BUILD_CAUSE_MAX])
{
	struct pk_monitor *monitor = ctx;
	const struct pk_health_policy *policy = &monitor->policy;
	bool runs = pk_builder_runs(monitor->env.builder, job);
	if (runs && pk_builder_is_busy(monitor->env.builder) &&
		pk_step_back_check(&monitor->step, pk_now_ns()))
		pk_log_info("builder: the cores are always busy; it shares them by its niceness");
	if (!job->quick && pk_boot_mark_holds(&monitor->mark)) {
		pk_text_format(cause, PK_BUILD_CAUSE_MAX, HELD_CAUSE);
		return PK_BUILD_WAIT;
	}
	if (!runs && lacks_memory(monitor, job, cause))
		return PK_BUILD_WAIT;
	if (job->quick || !policy->hold_builds)
		return PK_BUILD_GO;
	pk_text_format(cause, PK_BUILD_CAUSE_MAX, "%s", policy->hold_cause);
	bool memory = strncmp(policy->hold_cause, "memory", 6) == 0;
	return runs && memory ? PK_BUILD_YIELD : PK_BUILD_WAIT;
}

static int begin(void *ctx, const struct pk_build_job *job, struct pk_err *err)
{
	struct pk_monitor *monitor = ctx;
	monitor->steps_back = !job->quick; // a quick one is what a camera waits for
	return job->quick ? 0 : pk_boot_mark_begin(&monitor->mark, err);
}

static void place_builder(struct pk_monitor *monitor, pid_t pid)
{
	struct pk_err err = {0};
	int r = pk_cgroup_place(monitor->cgroup, BUILD_GROUP, pid,
		monitor->config->build.memory_bytes, BUILD_WEIGHT, &err);
	if (r < 0)
		pk_log_warning("builder: %s", pk_err_text(&err, r));
	monitor->oom_kills = pk_cgroup_oom_kills(monitor->cgroup, BUILD_GROUP);
}

static void started(void *ctx, pid_t pid)
{
	struct pk_monitor *monitor = ctx;
	if (monitor->cgroup)
		place_builder(monitor, pid);
	if (monitor->steps_back)
		(void)pk_step_back_begin(&monitor->step, pid, monitor->cgroup, BUILD_GROUP);
}

static void ended(void *ctx, pk_unused const struct pk_build_job *job, bool good)
{
	struct pk_monitor *monitor = ctx;
	pk_step_back_end(&monitor->step);
	if (monitor->mark.building)
		pk_boot_mark_end(&monitor->mark, good);
}

static bool out_of_memory(void *ctx)
{
	struct pk_monitor *monitor = ctx;
	return monitor->cgroup &&
	       pk_cgroup_oom_kills(monitor->cgroup, BUILD_GROUP) > monitor->oom_kills;
}

static void told(void *ctx, const char *state, const char *cause)
{
	struct pk_monitor *monitor = ctx;
	bool cheaper = strcmp(state, "cheaper") == 0, goes_on = strcmp(state, "resumed") == 0;
	enum pk_event_type type = cheaper   ? PK_EVENT_BUILD_CHEAPER
				  : goes_on ? PK_EVENT_BUILD_GOES_ON
					    : PK_EVENT_BUILD_WAITS;
	pk_events_post(monitor->env.events, type,
		PK_FIELDS({"PICKET_STATE", state}, {"PICKET_CAUSE", cause}), "%s%s%s",
		cheaper   ? "a build is tried again with settings that spare memory"
		: goes_on ? "builds go on"
			  : "builds wait",
		cause[0] ? ": " : "", cause);
	tell_changed(monitor);
}

static void take_group(struct pk_monitor *monitor)
{
	struct pk_err err = {0};
	int r = pk_cgroup_open("", &monitor->cgroup, &err);
	if (r < 0)
		pk_log_debug("builder: %s", pk_err_text(&err, r));
}

int pk_monitor_init(
	struct pk_monitor *monitor, const struct pk_monitor_env *env, struct pk_err *err)
{
	const char *root = getenv("PICKET_SYSROOT");
	*monitor = (struct pk_monitor){.env = *env, .root = root ? root : ""};
	monitor->timer = (struct pk_timer){.fire = on_timer, .ctx = monitor};
	if (pk_boot_mark_init(&monitor->mark, env->paths->state, monitor->root) < 0 ||
		pk_builder_set_folder(env->builder, env->paths->build) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	take_group(monitor);
	pk_builder_set_governor(env->builder, &(struct pk_build_governor){
						      .judge = judge,
						      .begin = begin,
						      .started = started,
						      .ended = ended,
						      .out_of_memory = out_of_memory,
						      .told = told,
						      .ctx = monitor,
					      });
	monitor->held_ns = pk_boot_mark_holds(&monitor->mark) ? pk_realtime_ns() : 0;
	return 0;
}

void pk_monitor_finish(struct pk_monitor *monitor)
{
	pk_loop_stop_timer(&monitor->timer);
	pk_boot_mark_finish(&monitor->mark);
	pk_cgroup_close(monitor->cgroup);
	monitor->cgroup = NULL;
}

void pk_monitor_apply(struct pk_monitor *monitor, const struct pk_config *config)
{
	monitor->config = config;
	pk_loop_start_timer(monitor->env.loop, &monitor->timer, config->health.interval_ns);
	look(monitor);
	if (monitor->policy.level > 0)
		send_shed(monitor);
	if (monitor->begun)
		return;
	monitor->begun = true;
	if (monitor->held_ns)
		pk_events_post(monitor->env.events, PK_EVENT_BUILDS_HELD, NULL, 0,
			"the machine went down during builds %u times in a row: " HELD_CAUSE,
			monitor->mark.n_unclean);
}

void pk_monitor_worker_up(struct pk_monitor *monitor)
{
	struct pk_err err = {0};
	pid_t pid = pk_supervisor_pid(monitor->env.supervisor);
	if (monitor->cgroup && pid > 0 &&
		pk_cgroup_place(monitor->cgroup, WORKER_GROUP, pid, 0, 0, &err) < 0)
		pk_log_warning("worker: %s", err.text);
	if (monitor->policy.level > 0)
		send_shed(monitor);
}

void pk_monitor_allow_builds(struct pk_monitor *monitor)
{
	pk_boot_mark_forget(&monitor->mark);
	monitor->held_ns = 0;
}

json_t *pk_monitor_json(const struct pk_monitor *monitor)
{
	const struct pk_health_policy *policy = &monitor->policy;
	json_t *json = pk_health_json(&monitor->health);
	json_t *rest = json_pack("{s:i, s:s, s:b, s:s, s:s, s:i, s:b}", "shed_level", policy->level,
		"shed_cause", policy->cause, "builds_held",
		policy->hold_builds || monitor->held_ns != 0, "builds_held_cause",
		monitor->held_ns ? HELD_CAUSE : policy->hold_cause, "slow", policy->slow_text,
		"unclean_boots", (int)monitor->mark.n_unclean, "cgroup", monitor->cgroup != NULL);
	if (json && rest)
		json_object_update(json, rest);
	json_decref(rest);
	return json;
}

json_t *pk_monitor_alarm(const struct pk_monitor *monitor)
{
	char since[PK_ISO_TIME_MAX];
	if (!monitor->held_ns)
		return NULL;
	pk_format_iso_time(monitor->held_ns, since);
	return json_pack("{s:s, s:s}", "cause", HELD_CAUSE, "since", since);
}

void pk_monitor_words(const struct pk_monitor *monitor, char *out, size_t size)
{
	const struct pk_health_policy *policy = &monitor->policy;
	const struct {
		bool holds;
		const char *before, *text;
	} rows[] = {
		{policy->level > 0, "inference steps back: ", policy->cause},
		{policy->slow, "", policy->slow_text},
		{monitor->held_ns != 0, "", "builds are held"},
		{monitor->disk_low, "", "disk nearly full"},
	};
	size_t n = 0;
	out[0] = '\0';
	for (size_t i = 0; i < PK_ARRAY_LEN(rows) && n < size; i++) {
		if (rows[i].holds)
			n += (size_t)snprintf(out + n, size - n, "%s%s%s", n ? "; " : "",
				rows[i].before, rows[i].text);
	}
	pk_text_mend(out);
}
