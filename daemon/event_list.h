// SPDX-License-Identifier: Apache-2.0
// Every journal event of picketd: PK_EVENT(symbol, name, message id, priority, help). Ids never
// change; docs/EVENTS.md is checked against this list.
// Without #pragma once: it is included anew for each table.

#ifndef PK_EVENT
#define PK_EVENT(symbol, name, id, priority, help)
#define PK_EVENT_LIST_EMPTY
#endif

PK_EVENT(STARTED, "started", "d41956229e6444aaa4fb29be76ac23dc", PK_LOG_NOTICE,
	"picketd runs: the config is valid, the control socket listens, the worker was started.")
PK_EVENT(STOPPING, "stopping", "273b8276434742efbc5a50030cb3b8c7", PK_LOG_NOTICE,
	"picketd was told to end.")
PK_EVENT(CONFIG_APPLIED, "config-applied", "62a69bdc553445caade4bdd8c6b4f3fd", PK_LOG_NOTICE,
	"A new config is in force; only what changed in it was restarted.")
PK_EVENT(CONFIG_REFUSED, "config-refused", "e4071bb2f97048289e952e3f6bf7cacc", PK_LOG_ERR,
	"A new config has mistakes; the old one stays in force. One event per mistake.")
PK_EVENT(WORKER_STARTED, "worker-started", "06b49a930751468298025d4f54dd27d1", PK_LOG_INFO,
	"The worker process runs and took its config.")
PK_EVENT(WORKER_ENDED, "worker-ended", "f6a6625977734aba9a9f5675698f8140", PK_LOG_ERR,
	"The worker ended without being told to; it is started again. The cause says how it ended.")
PK_EVENT(WORKER_REFUSED, "worker-refused", "cf4c4330b8784e25bcb9c3352f29a554", PK_LOG_ERR,
	"The worker could not be started, or could not use its config.")
PK_EVENT(ARTIFACT_READY, "artifact-ready", "a59fe7bec6ab4524ba02001aa83eb96e", PK_LOG_NOTICE,
	"A model's artifact is in the store, verified; engines are made from it if there are none.")
PK_EVENT(ARTIFACT_FAILED, "artifact-failed", "2799fd965759492ebe020c15e824cea9", PK_LOG_WARNING,
	"A model's artifact could not be had or cannot be used. What serves goes on; it is tried "
	"again.")
PK_EVENT(BUILD_STARTED, "build-started", "b82abf737bf9435aa325cd4d1a0508b4", PK_LOG_INFO,
	"picket-build began to make an engine.")
PK_EVENT(BUILD_PROGRESS, "build-progress", "46c45b158b064416ad66f6653356c617", PK_LOG_INFO,
	"How far a build is, each ten seconds.")
PK_EVENT(BUILD_DONE, "build-done", "7e5d471f1e434f6db70c0d8422dba2c6", PK_LOG_NOTICE,
	"An engine was built and passed its gate.")
PK_EVENT(BUILD_FAILED, "build-failed", "c58cd7ec82214a24915b90e7ceb16d1c", PK_LOG_WARNING,
	"A build failed. A transient failure is tried again later; a permanent one is remembered "
	"until "
	"there is another model, another target, or `picketctl model rebuild NAME`.")
PK_EVENT(ENGINE_REFUSED, "engine-refused", "eb9d0d02df004ac8ab28f25bee1b331e", PK_LOG_WARNING,
	"The worker did not take an engine file; PICKET_REASON says why (corrupt, stale, …). A bad "
	"file is removed and built anew.")
PK_EVENT(ENGINE_FAULT, "engine-fault", "5d20170b110a40218122c7b9d1c7eff3", PK_LOG_ERR,
	"An engine failed while it served; the next lower rung takes over and it is tried again "
	"later.")
PK_EVENT(SERVING, "serving", "060865c9d02044618eadd5d2fa139d78", PK_LOG_INFO,
	"The first frame went through a newly assigned engine; PICKET_GAP_MS is the pause between "
	"the "
	"last result of the old one and the first of the new one.")
PK_EVENT(RUNG, "rung", "fc6d9cea3b884f16b0f6dc96ea300fb3", PK_LOG_NOTICE,
	"A model stands on another rung of the fallback chain, or on the same for another cause.")
PK_EVENT(ALARM, "alarm", "3cc0a2531ef24fab839a32d3cb6933e2", PK_LOG_ALERT,
	"A model does not infer at all: its cameras' video passes through. Needs a person.")
PK_EVENT(ALARM_CLEARED, "alarm-cleared", "1be6308692ff426e9a203ec8363fd0f1", PK_LOG_NOTICE,
	"The model infers again.")
PK_EVENT(CAMERA, "camera", "a42a202868f2441eb4e73f16e0f911c4", PK_LOG_NOTICE,
	"A camera's state changed (starting, running, degraded, retrying, ended, stopped, faulty), "
	"or its pictures' size did.")
PK_EVENT(SINK_FAILING, "sink-failing", "38a8d5af182844e693d9bf42e047cf8d", PK_LOG_WARNING,
	"A sink cannot deliver. What it cannot hold is dropped and counted; it goes on trying.")
PK_EVENT(SINK_OK, "sink-ok", "9303b67d5ece4a3e82e72844af00b6dd", PK_LOG_NOTICE,
	"A sink delivers again.")
PK_EVENT(CAMERA_FIGURES, "camera-figures", "ce2d617061bb4537b173b726e93ae579", PK_LOG_INFO,
	"Figures of one camera, each telemetry.interval. Journal only.")
PK_EVENT(STATE_IGNORED, "state-ignored", "a2af73c68776458ea9646bf3e9a2692e", PK_LOG_WARNING,
	"A state file was damaged and is not used; picketd learns again what stood in it.")
PK_EVENT(UPDATE_FOUND, "update-found", "1108e8764c0ce180fb53d32591c608ab", PK_LOG_NOTICE,
	"The reference names another model than the active one; it is fetched.")
PK_EVENT(UPDATE_HELD, "update-held", "656df8f844cc0e0d502f31273637b087", PK_LOG_NOTICE,
	"The reference names a model that is not taken; PICKET_REASON says why (quarantine, "
	"rollout).")
PK_EVENT(DOWNLOAD_DONE, "download-done", "0706b151b67a271fd16586c5b54a067a", PK_LOG_INFO,
	"All of a model is in the store, every byte verified; PICKET_BYTES came over the network, "
	"PICKET_RESUMED were there from an earlier attempt.")
PK_EVENT(VERIFIED, "verified", "242c36c922d08783b11d6ebe4a278490", PK_LOG_INFO,
	"A model's signatures satisfy the config; or none are asked for, and PICKET_REASON says "
	"so.")
PK_EVENT(VERIFY_FAILED, "verify-failed", "23b7ff66b8649e4bc6fa0337172f393f", PK_LOG_ERR,
	"A model is refused for its signatures or its sequence number. It is not tried again.")
PK_EVENT(ADMIT_REJECTED, "admit-rejected", "f47686a8c2940451f47d6966f1dbebcc", PK_LOG_ERR,
	"A model cannot be parsed, or its outputs do not fit its card. It is not tried again.")
PK_EVENT(UPDATE_REJECTED, "update-rejected", "de20f01073fb7a7a530bd9c216615f50", PK_LOG_ERR,
	"A model is given up before it ever served: its build or its gate failed, or it does not "
	"fit.")
PK_EVENT(ENGINE_BUILT, "engine-built", "05a10469c3ac7e2ac73c8505f6ed8d9d", PK_LOG_NOTICE,
	"A new model's engine is there and passed its gate; the next window activates it.")
PK_EVENT(UPDATE_WAITING, "update-waiting", "e9a8f8c5eb5ff82d75264c4fa4abeed4", PK_LOG_NOTICE,
	"A new model is ready and waits for its window or its hold-off.")
PK_EVENT(ACTIVATED, "activated", "d7eacd86056d6020e6180e93d462ac51", PK_LOG_NOTICE,
	"A new model serves, on probation; `serving` tells the gap.")
PK_EVENT(CANARY_RESULT, "canary-result", "7774a52fd3905f103ca1ad1042337870", PK_LOG_NOTICE,
	"How a new model did on probation, against the last one.")
PK_EVENT(COMMITTED, "committed", "8c03588d32c7447e1dfd28b6ac8b91d3", PK_LOG_NOTICE,
	"A new model is the active one; the one before is kept to go back to.")
PK_EVENT(ROLLED_BACK, "rolled-back", "fb4a106cd989277590708e030e126e51", PK_LOG_ERR,
	"The active model serves again instead of a new one.")
PK_EVENT(QUARANTINED, "quarantined", "fbde1e62464f18e4ef3ee192e776d915", PK_LOG_WARNING,
	"A model's digest is not taken again, for ever or for a day; another digest under the same "
	"tag "
	"is.")
PK_EVENT(UPDATE_CANCELLED, "update-cancelled", "b42500062b2ba3507eea0e0ee52f854f", PK_LOG_NOTICE,
	"An operator cancelled an update.")
PK_EVENT(PINNED, "pinned", "8597a6b313cd26cec8c28d4f26fca61a", PK_LOG_NOTICE,
	"An operator pinned a model to one digest; the reference is not followed meanwhile.")
PK_EVENT(UNPINNED, "unpinned", "728c1ef66a7375acd0b5dd7cde75f676", PK_LOG_NOTICE,
	"An operator let the model follow its reference again.")
PK_EVENT(UPDATE_DEGRADED, "update-degraded", "203836646830b347d89d87e038fe51c4", PK_LOG_ALERT,
	"The way back to the active model takes too long; it goes on being tried. Needs a person.")
PK_EVENT(STATE_UNSAVED, "state-unsaved", "8ee465e87eb980e0fb1b76bfa3b0ee47", PK_LOG_ERR,
	"What is known of a model cannot be written; nothing new is begun until it can.")
PK_EVENT(STORE_GC, "store-gc", "bd40f3521cb309e5adb42e665c89aa05", PK_LOG_INFO,
	"What no model needs any more was removed from the store.")
PK_EVENT(CONFIG_PENDING, "config-pending", "d089e71e27352b45debd08d01df5920b", PK_LOG_NOTICE,
	"A config is in force for a while: it is taken back unless it is confirmed.")
PK_EVENT(CONFIG_CONFIRMED, "config-confirmed", "28c8e7e5b17d1c329fc0d08f91b77eb6", PK_LOG_NOTICE,
	"The config that was in force for a while stays.")
PK_EVENT(CONFIG_REVERTED, "config-reverted", "9be7af313045fc85ed6096c173c412d3", PK_LOG_ERR,
	"A config was not confirmed in time, or an operator took it back; the one before is in "
	"force.")
PK_EVENT(WORKER_CRASH_LOOP, "worker-crash-loop", "3a3727890060472d95f2a121af147fbd", PK_LOG_ALERT,
	"The worker keeps ending soon after its start, over restarts of picketd and boots; it is "
	"started at long intervals now. The cause names what it was doing.")
PK_EVENT(BUILD_WAITS, "build-waits", "fe76fad132254e9e881d21648375222a", PK_LOG_NOTICE,
	"A build waits, or stands still: the machine is too hot, short of memory, or under "
	"pressure. It goes on by itself.")
PK_EVENT(BUILD_GOES_ON, "build-goes-on", "00b6405b9774446b8883514f6ecf6d2a", PK_LOG_INFO,
	"What builds waited for is over.")
PK_EVENT(BUILD_CHEAPER, "build-cheaper", "7cc99485fd874fc9985aa227772ba019", PK_LOG_WARNING,
	"A build ran out of memory; it is tried again at once with settings that need less and "
	"give the same engine.")
PK_EVENT(BUILDS_HELD, "builds-held", "9622f3e4b13c4c3280247dcb43d2c0bb", PK_LOG_ALERT,
	"The machine went down during builds, twice in a row: no tuned engine is built by itself "
	"any more. Needs a person: look at power and drivers, then `picketctl model rebuild "
	"NAME`.")
PK_EVENT(LOAD_SHED, "load-shed", "95f12af3277c4bee95685ea080afbf86", PK_LOG_WARNING,
	"Inference steps back, cameras of the lowest priority first, before the machine slows down "
	"by itself; PICKET_LEVEL 0 is full rate, 3 the least.")
PK_EVENT(LOAD_RESTORED, "load-restored", "3202c70a87224529a7ca8beed189a06b", PK_LOG_NOTICE,
	"All cameras have their full rate again.")
PK_EVENT(SLOW, "slow", "e6461779affb481aa7dff527c343e70f", PK_LOG_WARNING,
	"Inference takes longer than it did with the same engine; the cause says since when and "
	"why.")
PK_EVENT(SLOW_CLEARED, "slow-cleared", "c1a42aa001c540c18ab614373df49412", PK_LOG_NOTICE,
	"Inference is as fast as before.")
PK_EVENT(DISK_LOW, "disk-low", "d23ee1e86e1d4340918fe1cd43deb8d1", PK_LOG_WARNING,
	"The disk of the store is nearly full; models and engines cannot be renewed.")
PK_EVENT(DISK_LOW_CLEARED, "disk-low-cleared", "6158cdbffc424dce9657f2344f28257e", PK_LOG_NOTICE,
	"The disk of the store has room again.")
PK_EVENT(TIME_JUMPED, "time-jumped", "b339f2c03a4345688fe164a62197b775", PK_LOG_NOTICE,
	"The wall clock was set by more than a second. Timers do not mind; times of earlier "
	"records are off by PICKET_SECONDS.")
PK_EVENT(NODE_FIGURES, "node-figures", "dbba4a66c9214aa3a42a1c8be6d7f4c4", PK_LOG_INFO,
	"Figures of the machine, each telemetry.interval. Journal only.")
PK_EVENT(MODEL_FIGURES, "model-figures", "3a1e7e225c8547529a9eddd985cf0c4e", PK_LOG_INFO,
	"Where one model stands, each telemetry.interval. Journal only.")

#ifdef PK_EVENT_LIST_EMPTY
#undef PK_EVENT
#undef PK_EVENT_LIST_EMPTY
#endif
