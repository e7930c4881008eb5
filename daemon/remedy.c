// SPDX-License-Identifier: Apache-2.0
// The table of remedies. An event that needs none has no row.
#include "daemon/remedy.h"

static const char *const remedies[PK_N_EVENTS] = {
	[PK_EVENT_CONFIG_REFUSED] =
		"Correct the places that PICKET_PROBLEM names, `picketctl config check`, then "
		"`picketctl reload`. What runs goes on with the config before.",
	[PK_EVENT_WORKER_ENDED] =
		"Once: nothing, video is back within seconds. Again and again: PICKET_BLAME says "
		"what it was busy with. A model: `picketctl model rebuild NAME`, or go back to "
		"the artifact before. A camera: look at its stream with another player. Killed by "
		"SIGKILL without a reason: `journalctl -k` tells whether memory ran out.",
	[PK_EVENT_WORKER_REFUSED] =
		"Is picket-worker installed, and from the same package as picketd? The cause says "
		"what is missing. `picketctl doctor` looks at both.",
	[PK_EVENT_WORKER_CRASH_LOOP] =
		"Look at PICKET_BLAME and at `journalctl -t picket-worker`. Take the camera or the "
		"model that is named out of the config and reload; the next good start clears the "
		"alarm. `picketctl support-bundle` collects what a developer needs.",
	[PK_EVENT_ARTIFACT_FAILED] =
		"What served goes on. Does the registry answer (`picketctl pull REF`), is there "
		"room "
		"on the disk, is the reference right? It is tried again by itself.",
	[PK_EVENT_UPDATE_HELD] = "`picketctl model explain NAME` says why. A quarantine ends by "
				 "itself or with another "
				 "digest; a rollout reaches this node when its percentage grows; "
				 "`picketctl model pull "
				 "NAME` does not wait for either, but for a quarantine for ever: "
				 "`picketctl model pin`.",
	[PK_EVENT_VERIFY_FAILED] =
		"Somebody pushed what this node must not take: look who. A key that is missing "
		"here "
		"goes into `signature.keys`; an older model on purpose: `picketctl model pin NAME "
		"DIGEST --allow-downgrade`.",
	[PK_EVENT_ADMIT_REJECTED] =
		"`picketctl engine inspect MODEL.onnx` and `picketctl config check --card` say the "
		"same on the maker's desk. Push a corrected model: another digest is taken.",
	[PK_EVENT_UPDATE_REJECTED] =
		"The reason names the check of the gate or what ended the build. Push a corrected "
		"model; the same one is built again after `picketctl model pin NAME DIGEST`.",
	[PK_EVENT_ROLLED_BACK] =
		"What served before serves. `canary-result` tells by how much the new one was "
		"worse; "
		"if that is as it should be, widen the model's `check` and pin it.",
	[PK_EVENT_UPDATE_DEGRADED] =
		"See the model's rung and cause in `picketctl status`; its engine may have to be "
		"built first. `picketctl store fsck` tells whether the disk lost something.",
	[PK_EVENT_STATE_UNSAVED] = "Make room on the disk, or see `journalctl -k` for its errors. "
				   "What serves goes on.",
	[PK_EVENT_CONFIG_REVERTED] =
		"Correct the config and apply it again; a camera that does not come back keeps it "
		"from being confirmed.",
	[PK_EVENT_BUILD_FAILED] =
		"PICKET_PERMANENT 0: it is tried again by itself. 1: the model and this machine do "
		"not fit; the cause names the place. With another model or after an upgrade of "
		"drivers `picketctl model rebuild NAME` tries again.",
	[PK_EVENT_BUILD_WAITS] = "Nothing, unless it lasts: then make room (memory), let the "
				 "machine cool, or see the "
				 "cause.",
	[PK_EVENT_BUILD_CHEAPER] = "When it fails in the end, raise build.memory, or give the "
				   "machine more free memory.",
	[PK_EVENT_BUILDS_HELD] = "Machines that go down under load mostly lack power: look at "
				 "supply, cable and power "
				 "mode (`nvpmodel -q`), and at `journalctl -b -1 -k`. Then "
				 "`picketctl model rebuild "
				 "NAME`.",
	[PK_EVENT_ENGINE_REFUSED] =
		"Nothing: it is built anew. `corrupt` again and again points at the disk.",
	[PK_EVENT_ENGINE_FAULT] =
		"Once: nothing. Again: `picketctl engine check FILE`, and report it with a support "
		"bundle.",
	[PK_EVENT_ALARM] =
		"The cause says what is missing: the artifact, an engine, the worker. Video flows "
		"meanwhile, without results.",
	[PK_EVENT_LOAD_SHED] = "Cool the machine or raise its power budget; look at fan and dust. "
			       "`camera.priority` "
			       "decides who steps back first.",
	[PK_EVENT_SLOW] = "over-current: power supply and power mode. heat: cooling. load: fewer "
			  "cameras, lower "
			  "`max_rate`, or a smaller model.",
	[PK_EVENT_DISK_LOW] =
		"Lower store.quota, remove recordings or logs of others. What serves goes on.",
	[PK_EVENT_TIME_JUMPED] = "At boot: nothing. Later: look at the time service "
				 "(`timedatectl`). Certificates may "
				 "have seemed invalid meanwhile.",
	[PK_EVENT_STATE_IGNORED] = "Nothing, once. Again: the disk loses data.",
	[PK_EVENT_CAMERA] = "`retrying`: the cause says why; it is tried again by itself, with "
			    "growing pauses. A "
			    "refused password is not tried often, so as not to lock the account.",
};

const char *pk_event_remedy(enum pk_event_type type)
{
	const char *text = (size_t)type < PK_N_EVENTS ? remedies[type] : NULL;
	return text ? text : "";
}
