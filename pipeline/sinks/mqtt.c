// SPDX-License-Identifier: Apache-2.0
// Results, camera states and the node's status to an MQTT broker: a spool and a thread of its own.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/thread.h"
#include "pipeline/roster.h"
#include "pipeline/sink.h"
#include "pipeline/sinks/mqtt_link.h"
#include "pipeline/sinks/mqtt_spool.h"
#include "pipeline/sinks/mqtt_topic.h"

#define PK_MQTT_TURN_MS      250
#define PK_MQTT_RETRY_MIN_NS PK_NS_PER_S
#define PK_MQTT_FLUSH_NS     (500 * PK_NS_PER_MS) // for delivery at the end
#define PK_MQTT_JOIN_NS      (3 * PK_NS_PER_S / 2)
#define PK_MQTT_MESSAGE_MAX  (4u * 1024u * 1024u) // the longest line of a result

// One camera's retained state.
struct pk_mqtt_camera {
	char name[64];
	char model[64];
	enum pk_camera_state state;
	char cause[256];
	struct pk_mqtt_rung rung; // written by the inference thread, under the sink's lock
	bool dirty;               // likewise: the broker does not know this state yet
	bool listed;              // own thread: still routed here
};

struct pk_mqtt {
	struct pk_sink sink;
	int qos;
	char *node;
	char root[PK_MQTT_TOPIC_MAX], status_topic[PK_MQTT_TOPIC_MAX];
	char boot_id[40], session[40];
	struct pk_mqtt_spool *spool;
	pthread_t thread;
	int wake_fd;
	_Atomic bool stop;
	pthread_mutex_t lock; // cameras, for copies and comparisons only
	PK_ARRAY(struct pk_mqtt_camera) cameras;
	_Atomic bool any_dirty;
	// Own thread only
	struct pk_mqtt_link *link;
	uint64_t roster_version;
	bool status_due; // after each connect
	bool held;       // `message` could not be handed over yet
	struct pk_buf message;
	size_t message_tag;
	int failed_with;
};

static void pk_mqtt_wake(struct pk_mqtt *mqtt)
{
	uint64_t one = 1;
	ssize_t n = write(mqtt->wake_fd, &one, sizeof(one));
	(void)n; // full means: it is awake
}

static struct pk_mqtt_camera *pk_mqtt_find(struct pk_mqtt *mqtt, const char *name)
{
	pk_array_each (camera, &mqtt->cameras) {
		if (strcmp(camera->name, name) == 0)
			return camera;
	}
	return NULL;
}

static bool pk_mqtt_differs(const struct pk_mqtt_rung *rung, const struct pk_result *result)
{
	// Compared as far as it was kept.
	return strncmp(rung->rung, result->rung, sizeof(rung->rung) - 1) != 0 ||
	       strncmp(rung->runtime, result->runtime, sizeof(rung->runtime) - 1) != 0 ||
	       strncmp(rung->cause, result->cause, sizeof(rung->cause) - 1) != 0 ||
	       strncmp(rung->digest, result->model_digest, sizeof(rung->digest) - 1) != 0;
}

static void pk_mqtt_note_rung(struct pk_mqtt *mqtt, const struct pk_result *result)
{
	pthread_mutex_lock(&mqtt->lock);
	struct pk_mqtt_camera *camera = pk_mqtt_find(mqtt, result->camera);
	if (camera && pk_mqtt_differs(&camera->rung, result)) {
		struct pk_mqtt_rung *rung = &camera->rung;
		snprintf(rung->rung, sizeof(rung->rung), "%s", result->rung);
		snprintf(rung->runtime, sizeof(rung->runtime), "%s", result->runtime);
		snprintf(rung->cause, sizeof(rung->cause), "%s", result->cause);
		snprintf(rung->digest, sizeof(rung->digest), "%s", result->model_digest);
		camera->dirty = true;
		atomic_store(&mqtt->any_dirty, true);
	}
	pthread_mutex_unlock(&mqtt->lock);
}

static void pk_mqtt_evicted(void *ctx, size_t tag)
{
	pk_sink_evicted(ctx, tag);
}

static bool pk_mqtt_take(
	struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	struct pk_mqtt *mqtt = (struct pk_mqtt *)sink;
	const struct pk_mqtt_spool_victims victims = {.evicted = pk_mqtt_evicted, .ctx = sink};
	pk_mqtt_note_rung(mqtt, result);
	n -= n > 0 && line[n - 1] == '\n';
	size_t account = pk_sink_account(sink, result->camera);
	if (!pk_mqtt_spool_put(mqtt->spool, account, line, n, &victims))
		return false;
	pk_mqtt_wake(mqtt);
	return true;
}

// Own thread from here on.

static void pk_mqtt_changed(void *ctx, int code, const char *cause)
{
	struct pk_mqtt *mqtt = ctx;
	if (code == 0) {
		mqtt->status_due = true;
		pthread_mutex_lock(&mqtt->lock);
		pk_array_each (camera, &mqtt->cameras)
			camera->dirty = true;
		pthread_mutex_unlock(&mqtt->lock);
		atomic_store(&mqtt->any_dirty, true);
	}
	// Each failed try comes here; told is a change of what it fails with.
	if (code != mqtt->failed_with)
		pk_sink_fault(&mqtt->sink, code, cause);
	mqtt->failed_with = code;
}

static int pk_mqtt_retain(struct pk_mqtt *mqtt, const char *topic, const char *payload, size_t n)
{
	const struct pk_mqtt_message message = {.topic = topic,
		.payload = payload,
		.n = n,
		.qos = 1,
		.retain = true,
		.tag = SIZE_MAX};
	return pk_mqtt_link_publish(mqtt->link, &message);
}

static void pk_mqtt_status_text(
	const struct pk_mqtt *mqtt, bool online, const char *reason, struct pk_buf *out)
{
	const struct pk_mqtt_status status = {.node = mqtt->node,
		.boot_id = mqtt->boot_id,
		.session = mqtt->session,
		.online = online,
		.reason = reason};
	pk_mqtt_write_status(out, &status);
}

static int pk_mqtt_publish_status(struct pk_mqtt *mqtt, bool online, const char *reason)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 8192);
	pk_mqtt_status_text(mqtt, online, reason, &text);
	return pk_mqtt_retain(mqtt, mqtt->status_topic, pk_buf_cstr(&text), text.len);
}

// A retained message of no bytes makes the broker forget the state.
static void pk_mqtt_forget(struct pk_mqtt *mqtt, const char *camera)
{
	char topic[PK_MQTT_TOPIC_MAX];
	pk_mqtt_topic_camera(topic, mqtt->root, camera, "state");
	(void)pk_mqtt_retain(mqtt, topic, "", 0); // while it is away, the broker keeps it
}

static void pk_mqtt_list_camera(struct pk_mqtt *mqtt, const struct pk_roster_camera *from)
{
	pthread_mutex_lock(&mqtt->lock);
	struct pk_mqtt_camera *camera = pk_mqtt_find(mqtt, from->name);
	bool fresh = !camera;
	if (fresh && (camera = pk_array_push(&mqtt->cameras)))
		snprintf(camera->name, sizeof(camera->name), "%s", from->name);
	if (camera) {
		camera->dirty |= fresh || camera->state != from->state ||
				 strcmp(camera->cause, from->cause) != 0 ||
				 strcmp(camera->model, from->model) != 0;
		camera->state = from->state;
		memcpy(camera->cause, from->cause, sizeof(camera->cause));
		memcpy(camera->model, from->model, sizeof(camera->model));
		camera->listed = true;
		if (camera->dirty)
			atomic_store(&mqtt->any_dirty, true);
	}
	pthread_mutex_unlock(&mqtt->lock);
}

static void pk_mqtt_unlist_gone(struct pk_mqtt *mqtt)
{
	size_t n = 0;
	pthread_mutex_lock(&mqtt->lock);
	for (size_t i = 0; i < mqtt->cameras.n; i++) {
		struct pk_mqtt_camera *camera = &mqtt->cameras.items[i];
		if (camera->listed)
			mqtt->cameras.items[n++] = *camera;
		else
			pk_mqtt_forget(mqtt, camera->name); // never waits
	}
	mqtt->cameras.n = n;
	pthread_mutex_unlock(&mqtt->lock);
}

static void pk_mqtt_sync_cameras(struct pk_mqtt *mqtt)
{
	struct pk_roster *roster = mqtt->sink.env.roster;
	uint64_t version = roster ? pk_roster_version(roster) : mqtt->roster_version;
	if (version == mqtt->roster_version)
		return;
	mqtt->roster_version = version;
	pk_array_each (camera, &mqtt->cameras)
		camera->listed = false;
	struct pk_roster_camera camera;
	for (size_t at = 0; pk_roster_next(roster, mqtt->sink.name, &at, &camera);) {
		pk_mqtt_list_camera(mqtt, &camera);
		pk_relay_unref(camera.relay);
	}
	pk_mqtt_unlist_gone(mqtt);
}

// The next state that the broker does not know; false: there is none.
static bool pk_mqtt_next_dirty(struct pk_mqtt *mqtt, struct pk_mqtt_camera *out)
{
	bool found = false;
	pthread_mutex_lock(&mqtt->lock);
	pk_array_each (camera, &mqtt->cameras) {
		if (!camera->dirty || found)
			continue;
		camera->dirty = false;
		*out = *camera;
		found = true;
	}
	pthread_mutex_unlock(&mqtt->lock);
	return found;
}

static void pk_mqtt_publish_states(struct pk_mqtt *mqtt)
{
	struct pk_mqtt_camera camera;
	if (!atomic_exchange(&mqtt->any_dirty, false))
		return;
	while (pk_mqtt_next_dirty(mqtt, &camera)) {
		pk_auto_buf struct pk_buf text;
		char topic[PK_MQTT_TOPIC_MAX];
		const struct pk_mqtt_state state = {.camera = camera.name,
			.model = camera.model,
			.state = camera.state,
			.cause = camera.cause,
			.rung = camera.rung};
		pk_buf_init(&text, 16384);
		pk_mqtt_write_state(&text, &state, pk_realtime_ns());
		pk_mqtt_topic_camera(topic, mqtt->root, camera.name, "state");
		// When it cannot be handed over there is no connection: after the next one all
		// states are due anyway.
		(void)pk_mqtt_retain(mqtt, topic, pk_buf_cstr(&text), text.len);
	}
}

static bool pk_mqtt_publish_next(struct pk_mqtt *mqtt)
{
	if (!pk_mqtt_link_has_room(mqtt->link))
		return false;
	if (!mqtt->held && !pk_mqtt_spool_take(mqtt->spool, &mqtt->message, &mqtt->message_tag))
		return false;
	struct pk_sink_account *account =
		mqtt->message_tag < PK_SINK_MAX_ACCOUNTS
			? atomic_load(&mqtt->sink.accounts[mqtt->message_tag])
			: NULL;
	char topic[PK_MQTT_TOPIC_MAX];
	pk_mqtt_topic_camera(topic, mqtt->root, account ? account->camera : "_", "results");
	const struct pk_mqtt_message message = {.topic = topic,
		.payload = pk_buf_cstr(&mqtt->message),
		.n = mqtt->message.len,
		.qos = mqtt->qos,
		.tag = mqtt->message_tag};
	int r = pk_mqtt_link_publish(mqtt->link, &message);
	mqtt->held = r == -EAGAIN;
	if (r < 0 && !mqtt->held)
		pk_sink_evicted(&mqtt->sink, mqtt->message_tag);
	return !mqtt->held;
}

static void pk_mqtt_publish_due(struct pk_mqtt *mqtt)
{
	if (!pk_mqtt_link_is_up(mqtt->link))
		return;
	if (mqtt->status_due && pk_mqtt_publish_status(mqtt, true, NULL) == 0)
		mqtt->status_due = false;
	pk_mqtt_publish_states(mqtt);
	while (pk_mqtt_publish_next(mqtt))
		continue;
}

static void pk_mqtt_turn(struct pk_mqtt *mqtt, int timeout_ms)
{
	uint64_t ticks;
	pk_mqtt_link_turn(mqtt->link, mqtt->wake_fd, timeout_ms);
	if (read(mqtt->wake_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return;
	pk_mqtt_sync_cameras(mqtt);
	pk_mqtt_publish_due(mqtt);
	size_t held = mqtt->held ? mqtt->message.len : 0;
	atomic_store_explicit(&mqtt->sink.n_waiting_bytes, pk_mqtt_spool_used(mqtt->spool) + held,
		memory_order_relaxed);
}

// What is there is delivered for a moment; then the node says goodbye instead of its will.
static void pk_mqtt_end(struct pk_mqtt *mqtt)
{
	if (!pk_mqtt_link_is_up(mqtt->link))
		return;
	int64_t until_ns = pk_now_ns() + PK_MQTT_FLUSH_NS;
	bool said = false;
	while (pk_mqtt_link_is_up(mqtt->link) && pk_now_ns() < until_ns) {
		bool empty = !mqtt->held && pk_mqtt_spool_used(mqtt->spool) == 0;
		if (empty && !said)
			said = pk_mqtt_publish_status(mqtt, false, "stopped") == 0;
		if (said && pk_mqtt_link_n_unconfirmed(mqtt->link) == 0)
			break;
		pk_mqtt_turn(mqtt, 20);
	}
	if (!said)
		(void)pk_mqtt_publish_status(mqtt, false, "stopped");
	pk_mqtt_link_close(mqtt->link);
}

static void *pk_mqtt_run(void *arg)
{
	struct pk_mqtt *mqtt = arg;
	while (!atomic_load(&mqtt->stop))
		pk_mqtt_turn(mqtt, PK_MQTT_TURN_MS);
	pk_mqtt_end(mqtt);
	return NULL;
}

static void pk_mqtt_free(struct pk_mqtt *mqtt)
{
	pk_mqtt_link_destroy(mqtt->link);
	pk_mqtt_spool_destroy(mqtt->spool);
	pk_buf_finish(&mqtt->message);
	pk_array_finish(&mqtt->cameras);
	pthread_mutex_destroy(&mqtt->lock);
	if (mqtt->wake_fd >= 0)
		close(mqtt->wake_fd);
	free(mqtt->node);
	pk_sink_finish(&mqtt->sink);
	free(mqtt);
}

static void pk_mqtt_destroy(struct pk_sink *sink)
{
	struct pk_mqtt *mqtt = (struct pk_mqtt *)sink;
	atomic_store(&mqtt->stop, true);
	pk_mqtt_wake(mqtt);
	// A thread that waits for a name to be resolved keeps its memory.
	if (pk_thread_join(mqtt->thread, PK_MQTT_JOIN_NS))
		pk_mqtt_free(mqtt);
}

static void pk_mqtt_name_session(struct pk_mqtt *mqtt)
{
	pk_auto_buf struct pk_buf id;
	pk_buf_init(&id, 64);
	if (pk_fs_read("/proc/sys/kernel/random/boot_id", 63, &id, NULL) == 0)
		snprintf(mqtt->boot_id, sizeof(mqtt->boot_id), "%.36s", pk_buf_cstr(&id));
	pk_buf_clear(&id);
	if (pk_fs_read("/proc/sys/kernel/random/uuid", 63, &id, NULL) == 0)
		snprintf(mqtt->session, sizeof(mqtt->session), "%.36s", pk_buf_cstr(&id));
}

static int pk_mqtt_make_link(
	struct pk_mqtt *mqtt, const struct pk_sink_config *config, struct pk_err *err)
{
	char client_id[400];
	pk_auto_buf struct pk_buf will;
	pk_buf_init(&will, 8192);
	pk_mqtt_status_text(mqtt, false, "connection lost", &will);
	snprintf(client_id, sizeof(client_id), "picket-%s-%s", mqtt->node, config->name);
	const struct pk_mqtt_link_setup setup = {.host = config->host,
		.port = config->port,
		.client_id = *config->client_id ? config->client_id : client_id,
		.user = config->user,
		.password_file = config->password_file,
		.ca = config->ca,
		.cert = config->cert,
		.key = config->key,
		.keepalive_ns = config->keepalive_ns,
		.retry_min_ns = PK_MQTT_RETRY_MIN_NS,
		.retry_max_ns = config->retry_max_ns,
		.lasting = config->qos == 2,
		.will_topic = mqtt->status_topic,
		.will_payload = pk_buf_cstr(&will),
		.changed = pk_mqtt_changed,
		.ctx = mqtt};
	return pk_mqtt_link_create(&setup, &mqtt->link, err);
}

static int pk_mqtt_prepare(struct pk_mqtt *mqtt, const struct pk_sink_config *config,
	const struct pk_sink_env *env, struct pk_err *err)
{
	mqtt->qos = config->qos;
	mqtt->node = strdup(env && env->node ? env->node : "node");
	mqtt->spool = pk_mqtt_spool_create((size_t)config->spool_bytes);
	if (!mqtt->node || !mqtt->spool)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_mqtt_topic_root(mqtt->root, config->prefix, mqtt->node);
	pk_mqtt_topic_status(mqtt->status_topic, mqtt->root);
	pk_mqtt_name_session(mqtt);
	int r = pk_mqtt_make_link(mqtt, config, err);
	if (r < 0)
		return r;
	r = pk_thread_start(&mqtt->thread, "pk-mqtt", pk_mqtt_run, mqtt);
	return r < 0 ? pk_fail(err, r, "cannot start its thread") : 0;
}

static int pk_mqtt_create(const struct pk_sink_config *config, const struct pk_sink_env *env,
	struct pk_sink **out, struct pk_err *err)
{
	struct pk_mqtt *mqtt = calloc(1, sizeof(*mqtt));
	if (!mqtt)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_sink_init(&mqtt->sink, &pk_sink_mqtt, config, env);
	pthread_mutex_init(&mqtt->lock, NULL);
	pk_buf_init(&mqtt->message, PK_MQTT_MESSAGE_MAX);
	mqtt->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = mqtt->wake_fd < 0 ? pk_fail_errno(err, "eventfd")
				  : pk_mqtt_prepare(mqtt, config, env, err);
	if (r < 0) {
		pk_mqtt_free(mqtt);
		return r;
	}
	*out = &mqtt->sink;
	return 0;
}

const struct pk_sink_ops pk_sink_mqtt = {
	.kind = PK_SINK_MQTT,
	.wants_line = true,
	.create = pk_mqtt_create,
	.take = pk_mqtt_take,
	.destroy = pk_mqtt_destroy,
};
