// SPDX-License-Identifier: Apache-2.0
// The schema tables of picket.yaml: every key, its kind, range, default and meaning.
#include "config/config_table.h"

#include <errno.h>
#include <string.h>

#include "config/address.h"
#include "config/config.h"
#include "config/path.h"

#define SINK(kind) PK_SCHEMA_BIT(PK_SINK_##kind)

static int verify_loopback(const char *text, struct pk_err *err)
{
	struct sockaddr_storage address;
	socklen_t n = 0;
	return pk_address_loopback(text, &address, &n, err);
}

// What an MQTT topic may begin with: levels that are neither empty nor wild, not the broker's own.
static int verify_topic(const char *text, struct pk_err *err)
{
	size_t n = strlen(text);
	bool bad =
		n == 0 || *text == '/' || *text == '$' || text[n - 1] == '/' || strstr(text, "//");
	for (size_t i = 0; i < n && !bad; i++)
		bad = text[i] == '+' || text[i] == '#' || (unsigned char)text[i] < 0x20;
	return bad ? pk_fail(err, -EINVAL,
			     "must be a topic: levels between single `/`, without `+` and `#`, not "
			     "beginning with `$`")
		   : 0;
}

static const struct pk_schema_name sink_kinds[] = {
	{"jsonl", PK_SINK_JSONL, "results, one JSON object a line"},
	{"snapshot", PK_SINK_SNAPSHOT, "JPEG pictures with boxes drawn in"},
	{"mqtt", PK_SINK_MQTT, "results and states to an MQTT broker"},
	{"restream", PK_SINK_RESTREAM, "the video itself, over RTSP"},
	{NULL, 0, NULL},
};

static const struct pk_schema_row checks_rows[] = {
	{.key = "frozen",
		.kind = PK_SCHEMA_DURATION,
		.def = "30s",
		.min = "0",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_picture_checks, frozen_ns),
		.help = "Pictures that do not change at all for so long are frozen; 0: not looked "
			"at."},
	{.key = "black",
		.kind = PK_SCHEMA_DURATION,
		.def = "10s",
		.min = "0",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_picture_checks, black_ns),
		.help = "Pictures that are black for so long are reported; 0: not looked at."},
	{.key = "covered",
		.kind = PK_SCHEMA_DURATION,
		.def = "10s",
		.min = "0",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_picture_checks, covered_ns),
		.help = "Pictures of one even shade for so long are reported: something is before "
			"the lens; 0: not looked at."},
	{.key = "blurred",
		.kind = PK_SCHEMA_DURATION,
		.def = "1m",
		.min = "0",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_picture_checks, blurred_ns),
		.help = "Pictures with less than a third of this camera's usual detail for so long "
			"are reported; 0: not looked at."},
	{.key = "restart",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_picture_checks, restart),
		.help = "A frozen source is started again, at most once in the time of `frozen`, "
			"which doubles each time up to an hour."},
	{NULL},
};

static const struct pk_schema checks_schema = {
	.noun = "checks",
	.rows = checks_rows,
	.size = sizeof(struct pk_picture_checks),
};

static const struct pk_schema_row camera_rows[] = {
	{.key = "source",
		.kind = PK_SCHEMA_MAP,
		.required = true,
		.child = &pk_config_source_schema,
		PK_SCHEMA_AT(struct pk_camera_config, source),
		.help = "Where the video comes from."},
	{.key = "model",
		.kind = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_name,
		.required = true,
		PK_SCHEMA_AT(struct pk_camera_config, model),
		.example = "parts",
		.help = "Which of `models` looks at it."},
	{.key = "sinks",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_name,
		.max_items = 16,
		PK_SCHEMA_ARRAY(struct pk_camera_config, sinks, n_sinks),
		.unset = "no sink",
		.help = "Which of `sinks` get its results."},
	{.key = "max_rate",
		.kind = PK_SCHEMA_RATE,
		.def = "0",
		.min = "0",
		.max = "1000/s",
		PK_SCHEMA_AT(struct pk_camera_config, max_rate_hz),
		.help = "At most so many frames per second are inferred; 0: every frame."},
	{.key = "priority",
		.kind = PK_SCHEMA_INT,
		.def = "50",
		.min = "0",
		.max = "100",
		PK_SCHEMA_AT(struct pk_camera_config, priority),
		.help = "When there is more to do than time, higher is served first."},
	{.key = "roi",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_FLOAT,
		.in_place = true,
		.min = "0",
		.max = "1",
		.min_items = 4,
		.max_items = 4,
		.offset = offsetof(struct pk_camera_config, roi),
		.size = sizeof(double),
		.count_offset = PK_SCHEMA_NOWHERE,
		.def = "[0, 0, 1, 1]",
		.example = "[0.25, 0.5, 0.5, 0.5]",
		.help = "The part of the picture that the model sees: x, y, width and height in "
			"parts of the picture. Results are in pixels of the whole picture."},
	{.key = "first_frame",
		.kind = PK_SCHEMA_DURATION,
		.def = "10s",
		.min = "100ms",
		.max = "10m",
		PK_SCHEMA_AT(struct pk_camera_config, first_frame_ns),
		.help = "No frame so long after the start: the source is started again."},
	{.key = "stall",
		.kind = PK_SCHEMA_DURATION,
		.def = "5s",
		.min = "100ms",
		.max = "10m",
		PK_SCHEMA_AT(struct pk_camera_config, stall_ns),
		.help = "No frame so long after the last: the source is started again."},
	{.key = "max_late",
		.kind = PK_SCHEMA_DURATION,
		.def = "250ms",
		.min = "0",
		.max = "1m",
		PK_SCHEMA_AT(struct pk_camera_config, max_late_ns),
		.help = "When decoding does not keep up, pictures that are later than this are "
			"left out "
			"(and counted) up to the next key frame, so that results stay fresh; 0: "
			"never."},
	{.key = "retry_max",
		.kind = PK_SCHEMA_DURATION,
		.def = "30s",
		.min = "1s",
		.max = "1h",
		PK_SCHEMA_AT(struct pk_camera_config, retry_max_ns),
		.help = "A lost source is tried again after half a second, then after twice as "
			"long each time, at most so long (refused credentials: 30 s to 10 min)."},
	{.key = "checks",
		.kind = PK_SCHEMA_MAP,
		.child = &checks_schema,
		PK_SCHEMA_AT(struct pk_camera_config, checks),
		.help = "Looks at the pictures themselves, once a second (not of `file`, `images` "
			"and `test`)."},
	{NULL},
};

const struct pk_schema pk_config_camera_schema = {
	.noun = "camera",
	.rows = camera_rows,
	.size = sizeof(struct pk_camera_config),
	.name_offset = offsetof(struct pk_camera_config, name),
};

static const struct pk_schema_name precisions[] = {
	{"fp32", 0, "float; always possible"},
	{"int8", 1, "integers where the artifact's calibration has ranges, float elsewhere"},
	{NULL, 0, NULL},
};

static const struct pk_schema_row model_rows[] = {
	{.key = "artifact",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve_artifact,
		.required = true,
		PK_SCHEMA_AT(struct pk_model_config, artifact),
		.example = "reg.example:5000/models/parts:stable",
		.help = "What to take from where: `HOST[:PORT]/NAME:TAG` (a registry), "
			"`oci:FOLDER:TAG` (an OCI image layout) or `file:TAR:TAG` (one in a tar "
			"file), each pinned with `@sha256:DIGEST` instead of or after the tag; "
			"`https://HOST/PATH#sha256:DIGEST` (one plain file)."},
	{.key = "chain",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_name,
		.min_items = 1,
		.max_items = 8,
		PK_SCHEMA_ARRAY(struct pk_model_config, chain, n_chain),
		.unset = "runtime.chain",
		.help = "Runtimes for this model, best first."},
	{.key = "cpu_ok",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_model_config, cpu_ok),
		.help = "While a better engine is missing the cpu serves; false: it would be too "
			"slow "
			"to be useful, video passes without inference meanwhile."},
	{.key = "conf",
		.kind = PK_SCHEMA_FLOAT,
		.min = "0",
		.max = "1",
		PK_SCHEMA_AT(struct pk_model_config, conf),
		.unset = "the card's",
		.unset_value = -1,
		.help = "Confidence from which a detection counts."},
	{.key = "rollout",
		.kind = PK_SCHEMA_FLOAT,
		.def = "100",
		.min = "0",
		.max = "100",
		PK_SCHEMA_AT(struct pk_model_config, rollout),
		.help = "Percent of the fleet that takes a new model. Which nodes these are "
			"depends "
			"on the model's digest and `node.id`; a larger number only adds nodes."},
	{.key = "precision",
		.kind = PK_SCHEMA_ENUM,
		.names = precisions,
		.def = "fp32",
		PK_SCHEMA_AT(struct pk_model_config, int8),
		.help = "What the tuned engine counts in. `int8` takes the artifact's calibration "
			"(`picketctl bundle create --calibration`); without one its engine is "
			"fp32, "
			"and an event says so. The gate judges by the precision's own limits: a "
			"model "
			"that int8 harms is rejected, the one before goes on."},
	{.key = "keep",
		.kind = PK_SCHEMA_INT,
		.def = "1",
		.min = "1",
		.max = "8",
		PK_SCHEMA_AT(struct pk_model_config, keep),
		.help = "So many models before the active one stay in the store: `picketctl model "
			"pin` goes back to them without fetching them again."},
	{.key = "poll",
		.kind = PK_SCHEMA_MAP,
		.child = &pk_config_poll_schema,
		PK_SCHEMA_AT(struct pk_model_config, poll),
		.help = "How often `artifact` is looked at."},
	{.key = "window",
		.kind = PK_SCHEMA_MAP,
		.child = &pk_config_window_schema,
		PK_SCHEMA_AT(struct pk_model_config, window),
		.help = "When a new model may begin to serve. It is fetched and built at any "
			"time."},
	{.key = "signature",
		.kind = PK_SCHEMA_MAP,
		.child = &pk_config_signature_schema,
		PK_SCHEMA_AT(struct pk_model_config, signature),
		.help = "Who may publish models."},
	{.key = "limits",
		.kind = PK_SCHEMA_MAP,
		.child = &pk_config_limits_schema,
		PK_SCHEMA_AT(struct pk_model_config, limits),
		.help = "What fetching may cost."},
	{.key = "check",
		.kind = PK_SCHEMA_MAP,
		.child = &pk_config_check_schema,
		PK_SCHEMA_AT(struct pk_model_config, check),
		.help = "Probation: what a new model must keep up, or the old one comes back."},
	{NULL},
};

const struct pk_schema pk_config_model_schema = {
	.noun = "model",
	.rows = model_rows,
	.size = sizeof(struct pk_model_config),
	.name_offset = offsetof(struct pk_model_config, name),
};

static const struct pk_schema_row sink_rows[] = {
	{.key = "kind",
		.kind = PK_SCHEMA_ENUM,
		.names = sink_kinds,
		.required = true,
		PK_SCHEMA_AT(struct pk_sink_config, kind),
		.help = "What becomes of results."},
	{.key = "path",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve_output,
		.required = true,
		PK_SCHEMA_AT(struct pk_sink_config, path),
		.when = SINK(JSONL),
		.help = "A file, `-` for standard output, or `unix:PATH` for a socket that "
			"listens."},
	{.key = "path",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		.required = true,
		PK_SCHEMA_AT(struct pk_sink_config, path),
		.when = SINK(SNAPSHOT),
		.help = "The folder that gets the pictures."},
	{.key = "rotate",
		.kind = PK_SCHEMA_BYTES,
		.def = "64MiB",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_sink_config, rotate_bytes),
		.when = SINK(JSONL),
		.help = "A file above this size is set aside (one old is kept); 0: never."},
	{.key = "interval",
		.kind = PK_SCHEMA_DURATION,
		.required = true,
		.min = "100ms",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_sink_config, interval_ns),
		.when = SINK(SNAPSHOT),
		.example = "5s",
		.help = "At most one picture per camera in this time."},
	{.key = "detections_only",
		.kind = PK_SCHEMA_BOOL,
		.def = "false",
		PK_SCHEMA_AT(struct pk_sink_config, detections_only),
		.when = SINK(SNAPSHOT),
		.help = "Only frames in which something was found."},
	{.key = "host",
		.kind = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_filled,
		.required = true,
		.max = "253",
		PK_SCHEMA_AT(struct pk_sink_config, host),
		.when = SINK(MQTT),
		.example = "broker.example",
		.help = "The broker."},
	{.key = "listen",
		.kind = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_filled,
		.def = "127.0.0.1",
		.max = "253",
		PK_SCHEMA_AT(struct pk_sink_config, host),
		.when = SINK(RESTREAM),
		.help = "Address to listen on; `0.0.0.0` or `::` for all. Everyone who reaches it "
			"sees "
			"the video, unless there is a `user`."},
	{.key = "port",
		.kind = PK_SCHEMA_INT,
		.def = "1883",
		.min = "1",
		.max = "65535",
		PK_SCHEMA_AT(struct pk_sink_config, port),
		.when = SINK(MQTT),
		.help = "The broker's port; with TLS usually 8883."},
	{.key = "port",
		.kind = PK_SCHEMA_INT,
		.def = "8554",
		.min = "1",
		.max = "65535",
		PK_SCHEMA_AT(struct pk_sink_config, port),
		.when = SINK(RESTREAM),
		.help = "Port of the RTSP server; a camera is at `rtsp://NODE:PORT/CAMERA`."},
	{.key = "user",
		.kind = PK_SCHEMA_STRING,
		.max = "256",
		PK_SCHEMA_AT(struct pk_sink_config, user),
		.when = SINK(MQTT) | SINK(RESTREAM),
		.unset = "none",
		.help = "Who may connect (mqtt: as whom)."},
	{.key = "password_file",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_sink_config, password_file),
		.when = SINK(MQTT) | SINK(RESTREAM),
		.unset = "no password",
		.help = "A file with the password in its first line."},
	{.key = "ca",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_sink_config, ca),
		.when = SINK(MQTT),
		.unset = "no TLS",
		.help = "Certificates (PEM) of whom to trust; turns TLS on. The broker's name is "
			"checked."},
	{.key = "cert",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_sink_config, cert),
		.when = SINK(MQTT),
		.unset = "none",
		.help = "This node's own certificate (PEM), with `key`."},
	{.key = "key",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_sink_config, key),
		.when = SINK(MQTT),
		.unset = "none",
		.help = "The private key (PEM, not encrypted) of `cert`."},
	{.key = "qos",
		.kind = PK_SCHEMA_INT,
		.def = "1",
		.min = "0",
		.max = "2",
		PK_SCHEMA_AT(struct pk_sink_config, qos),
		.when = SINK(MQTT),
		.help = "Of results. 0: what is on its way when a connection breaks is lost; 1: "
			"nothing is, but some come twice then; 2: once, as far as the broker "
			"keeps its sessions."},
	{.key = "client_id",
		.kind = PK_SCHEMA_STRING,
		.max = "128",
		PK_SCHEMA_AT(struct pk_sink_config, client_id),
		.when = SINK(MQTT),
		.unset = "picket-NODE-SINK",
		.help = "What the broker knows this connection by; must be unique there."},
	{.key = "prefix",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_topic,
		.def = "picket",
		.max = "128",
		PK_SCHEMA_AT(struct pk_sink_config, prefix),
		.when = SINK(MQTT),
		.help = "Topics are `PREFIX/NODE/…`."},
	{.key = "spool",
		.kind = PK_SCHEMA_BYTES,
		.def = "8MiB",
		.min = "64KiB",
		.max = "1GiB",
		PK_SCHEMA_AT(struct pk_sink_config, spool_bytes),
		.when = SINK(MQTT),
		.help = "Memory for results while the broker is away or slow; when it is full the "
			"oldest "
			"are dropped and counted."},
	{.key = "keepalive",
		.kind = PK_SCHEMA_DURATION,
		.def = "15s",
		.min = "5s",
		.max = "18h",
		PK_SCHEMA_AT(struct pk_sink_config, keepalive_ns),
		.when = SINK(MQTT),
		.help = "A connection on which nothing is answered for so long is taken for dead "
			"(twice "
			"as long when nothing was to be sent)."},
	{.key = "retry_max",
		.kind = PK_SCHEMA_DURATION,
		.def = "1m",
		.min = "1s",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_sink_config, retry_max_ns),
		.when = SINK(MQTT),
		.help = "The longest wait between two tries to connect; waits grow from 1 s."},
	{.key = "encode",
		.kind = PK_SCHEMA_BOOL,
		.def = "false",
		PK_SCHEMA_AT(struct pk_sink_config, encode),
		.when = SINK(RESTREAM),
		.help = "Cameras that deliver raw pictures are encoded, while someone watches; "
			"needs an "
			"H.264 encoder."},
	{.key = "overlay",
		.kind = PK_SCHEMA_BOOL,
		.def = "false",
		PK_SCHEMA_AT(struct pk_sink_config, overlay),
		.when = SINK(RESTREAM),
		.help = "A second stream `/CAMERA/overlay` with boxes drawn in, encoded while "
			"someone "
			"watches; needs an H.264 encoder."},
	{.key = "max_clients",
		.kind = PK_SCHEMA_INT,
		.def = "8",
		.min = "1",
		.max = "64",
		PK_SCHEMA_AT(struct pk_sink_config, max_clients),
		.when = SINK(RESTREAM),
		.help = "Connections served at once; more are closed."},
	{NULL},
};

const struct pk_schema pk_config_sink_schema = {
	.noun = "sink",
	.rows = sink_rows,
	.size = sizeof(struct pk_sink_config),
	.kind_key = "kind",
	.name_offset = offsetof(struct pk_sink_config, name),
};

static const struct pk_schema_row registry_rows[] = {
	{.key = "ca",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_registry_config, ca),
		.unset = "those of the system",
		.example = "keys/registry-ca.pem",
		.help = "PEM file of the authorities that are trusted for this host, instead of "
			"the "
			"system's."},
	{.key = "cert",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve_secret,
		PK_SCHEMA_AT(struct pk_registry_config, cert),
		.unset = "none",
		.help = "PEM file of this node's certificate for the host."},
	{.key = "key",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve_secret,
		PK_SCHEMA_AT(struct pk_registry_config, key),
		.unset = "in the file of `cert`",
		.help = "PEM file of that certificate's key, or `credential:NAME` (a systemd "
			"credential of the service)."},
	{.key = "auth",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve_secret,
		PK_SCHEMA_AT(struct pk_registry_config, auth),
		.unset = "none",
		.help = "A docker `config.json` with the credentials, or `credential:NAME`. "
			"Credential helpers are not run."},
	{.key = "user",
		.kind = PK_SCHEMA_STRING,
		.max = "255",
		PK_SCHEMA_AT(struct pk_registry_config, user),
		.unset = "anonymous",
		.help = "User name; instead of `auth`."},
	{.key = "password_file",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve_secret,
		PK_SCHEMA_AT(struct pk_registry_config, password_file),
		.unset = "none",
		.help = "File that holds the password (its last line end does not count), or "
			"`credential:NAME`."},
	{.key = "insecure",
		.kind = PK_SCHEMA_BOOL,
		.def = "false",
		PK_SCHEMA_AT(struct pk_registry_config, insecure),
		.help = "Plain http: no one can tell who answers, and passwords can be read on the "
			"way. For test benches."},
	{.key = "mirrors",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = pk_path_check_host,
		.max_items = 8,
		PK_SCHEMA_ARRAY(struct pk_registry_config, mirrors, n_mirrors),
		.unset = "no mirror",
		.help = "Hosts that are asked first for what is named by digest; tags are always "
			"resolved here. A mirror gets no credentials but those of its own entry."},
	{.key = "token_hosts",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = pk_path_check_host,
		.max_items = 8,
		PK_SCHEMA_ARRAY(struct pk_registry_config, token_hosts, n_token_hosts),
		.unset = "only the registry's own host",
		.help = "Further hosts that may get the credentials when the registry names them "
			"as "
			"the place of its tokens."},
	{NULL},
};

const struct pk_schema pk_config_registry_schema = {
	.noun = "registry",
	.rows = registry_rows,
	.size = sizeof(struct pk_registry_config),
	.name_offset = offsetof(struct pk_registry_config, host),
};

static const struct pk_schema_row node_rows[] = {
	{.key = "name",
		.kind = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_filled,
		.max = "253",
		PK_SCHEMA_AT(struct pk_config, node_name),
		.unset = "the host name",
		.help = "What this node calls itself in results and telemetry."},
	{.key = "id",
		.kind = PK_SCHEMA_STRING,
		.max = "128",
		PK_SCHEMA_AT(struct pk_config, node_id),
		.unset = "made from the machine id",
		.help = "What decides where this node stands in a rollout. To be set where nodes "
			"were "
			"cloned together with their machine id."},
	{NULL},
};

static const struct pk_schema_row telemetry_rows[] = {
	{.key = "interval",
		.kind = PK_SCHEMA_DURATION,
		.def = "30s",
		.min = "1s",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_config, telemetry.interval_ns),
		.help = "Time between two records per camera."},
	{.key = "metrics",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_loopback,
		.max = "64",
		PK_SCHEMA_AT(struct pk_config, telemetry.metrics),
		.unset = "only on the control socket",
		.example = "127.0.0.1:9469",
		.help = "Loopback address and port that also answer GET /metrics, for a collector "
			"on this machine."},
	{NULL},
};

static const struct pk_schema_row runtime_rows[] = {
	{.key = "chain",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_name,
		.def = "[cuda, cpu]",
		.min_items = 1,
		.max_items = 8,
		PK_SCHEMA_ARRAY(struct pk_config, runtime.chain, runtime.n_chain),
		.help = "Runtimes, best first: `cuda`, `cpu`. A model falls down this chain and "
			"climbs "
			"back."},
	{.key = "threads",
		.kind = PK_SCHEMA_INT,
		.def = "0",
		.min = "0",
		.max = "64",
		PK_SCHEMA_AT(struct pk_config, runtime.threads),
		.help = "Threads of the cpu runtime in the worker, never more than processors; 0: "
			"half "
			"of the processors, which leaves the others to the cameras. Results are "
			"the "
			"same on any number."},
	{NULL},
};

static const struct pk_schema_row build_rows[] = {
	{.key = "time_limit",
		.kind = PK_SCHEMA_DURATION,
		.def = "30m",
		.min = "1s",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_config, build.time_limit_ns),
		.help = "A build that takes longer has failed."},
	{.key = "memory",
		.kind = PK_SCHEMA_BYTES,
		.def = "2GiB",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_config, build.memory_bytes),
		.help = "Address space of the builder; 0: no limit."},
	{.key = "nice",
		.kind = PK_SCHEMA_INT,
		.def = "10",
		.min = "0",
		.max = "19",
		PK_SCHEMA_AT(struct pk_config, build.nice),
		.help = "How far the builder steps back behind the cameras when the cores are "
			"always busy; otherwise it runs only when nothing else wants them."},
	{.key = "opt_level",
		.kind = PK_SCHEMA_INT,
		.def = "1",
		.min = "0",
		.max = "2",
		PK_SCHEMA_AT(struct pk_config, build.opt_level),
		.help = "0: no tuning, ready in seconds; 1: each operation is measured; 2: close "
			"calls also within the graph."},
	{.key = "retry_min",
		.kind = PK_SCHEMA_DURATION,
		.def = "1m",
		.min = "1s",
		.max = "7d",
		PK_SCHEMA_AT(struct pk_config, build.retry_min_ns),
		.help = "Wait before a failed build is tried again; doubles each time."},
	{.key = "retry_max",
		.kind = PK_SCHEMA_DURATION,
		.def = "6h",
		.min = "1s",
		.max = "7d",
		PK_SCHEMA_AT(struct pk_config, build.retry_max_ns),
		.help = "The longest such wait."},
	{.key = "pressure",
		.kind = PK_SCHEMA_FLOAT,
		.def = "25",
		.min = "0",
		.max = "100",
		PK_SCHEMA_AT(struct pk_config, build.pressure),
		.help = "Pressure on memory (PSI, percent of the last 10 s) from which builds "
			"wait; 0: "
			"they never do."},
	{NULL},
};

static const struct pk_schema_row health_rows[] = {
	{.key = "interval",
		.kind = PK_SCHEMA_DURATION,
		.def = "5s",
		.min = "500ms",
		.max = "10m",
		PK_SCHEMA_AT(struct pk_config, health.interval_ns),
		.help = "Time between two looks at heat, power, memory and disk."},
	{.key = "shed",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_config, health.shed),
		.help = "Cameras of low priority are inferred less often before the machine gets "
			"so hot that it slows down."},
	{NULL},
};

static const struct pk_schema_row store_rows[] = {
	{.key = "quota",
		.kind = PK_SCHEMA_BYTES,
		.def = "8GiB",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_config, store.quota_bytes),
		.help = "Space for models and engines on this node; 0: no limit."},
	{.key = "reserve",
		.kind = PK_SCHEMA_BYTES,
		.def = "0",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_config, store.reserve_bytes),
		.help = "Of the disk stays free whatever is fetched; 0: the larger of 64MiB and "
			"5 %."},
	{NULL},
};

static const struct pk_schema node_schema = {.noun = "node", .rows = node_rows};
static const struct pk_schema telemetry_schema = {.noun = "telemetry", .rows = telemetry_rows};
static const struct pk_schema runtime_schema = {.noun = "runtime", .rows = runtime_rows};
static const struct pk_schema build_schema = {.noun = "build", .rows = build_rows};
static const struct pk_schema health_schema = {.noun = "health", .rows = health_rows};
static const struct pk_schema store_schema = {.noun = "store", .rows = store_rows};

static const struct pk_schema_row config_rows[] = {
	{.key = "node", .kind = PK_SCHEMA_MAP, .child = &node_schema, .help = "This device."},
	{.key = "telemetry",
		.kind = PK_SCHEMA_MAP,
		.child = &telemetry_schema,
		.help = "Regular figures in the journal."},
	{.key = "runtime",
		.kind = PK_SCHEMA_MAP,
		.child = &runtime_schema,
		.help = "What runs engines."},
	{.key = "build",
		.kind = PK_SCHEMA_MAP,
		.child = &build_schema,
		.help = "How engines are built on this node."},
	{.key = "health",
		.kind = PK_SCHEMA_MAP,
		.child = &health_schema,
		.help = "How the machine's heat and memory are heeded."},
	{.key = "store",
		.kind = PK_SCHEMA_MAP,
		.child = &store_schema,
		.help = "Files kept on this node."},
	{.key = "registries",
		.kind = PK_SCHEMA_TABLE,
		.child = &pk_config_registry_schema,
		.verify = pk_path_check_host,
		.max_items = 64,
		PK_SCHEMA_ARRAY(struct pk_config, registries, n_registries),
		.help = "What is needed to talk to a registry, by `HOST` or `HOST:PORT` as it "
			"stands "
			"in references. Hosts without an entry are asked anonymously over https."},
	{.key = "models",
		.kind = PK_SCHEMA_TABLE,
		.child = &pk_config_model_schema,
		.max_items = 256,
		PK_SCHEMA_ARRAY(struct pk_config, models, n_models),
		.help = "Models by name."},
	{.key = "cameras",
		.kind = PK_SCHEMA_TABLE,
		.child = &pk_config_camera_schema,
		.max_items = 256,
		PK_SCHEMA_ARRAY(struct pk_config, cameras, n_cameras),
		.help = "Video sources by name, and what is done with each."},
	{.key = "sinks",
		.kind = PK_SCHEMA_TABLE,
		.child = &pk_config_sink_schema,
		.max_items = 256,
		PK_SCHEMA_ARRAY(struct pk_config, sinks, n_sinks),
		.help = "Where results go, by name."},
	{NULL},
};

const struct pk_schema pk_config_schema = {
	.noun = "picket.yaml",
	.rows = config_rows,
	.size = sizeof(struct pk_config),
};
