// SPDX-License-Identifier: Apache-2.0
// Every figure of GET /metrics: PK_METRIC(scope, member, name, type, scale, help). member: where it
// stands in the scope's object of GET /v1/status, dots go inwards; scale: to base units. COUNTER
// names get "_total". STATES: 1 for the state that holds, by a label; its states follow in scale's
// place.
// Without #pragma once: it is included anew for each table.

#ifndef PK_METRIC
#define PK_METRIC(scope, member, name, type, scale, help)
#define PK_STATES(scope, member, name, states, help)
#define PK_METRIC_LIST_EMPTY
#endif

// The daemon, the worker, the builder, the machine: no labels.
PK_METRIC(NODE, "uptime_s", "picket_uptime_seconds", GAUGE, 1, "Since picketd started")
PK_METRIC(NODE, "rss_bytes", "picket_daemon_resident_bytes", GAUGE, 1, "Resident memory of picketd")
PK_METRIC(NODE, "config.refused_problems", "picket_config_refused_problems", GAUGE, 1,
	"Mistakes that the last reload found; the config before it is in force")
PK_METRIC(NODE, "worker.up", "picket_worker_up", GAUGE, 1, "The worker runs and took its config")
PK_METRIC(NODE, "worker.restarts", "picket_worker_restarts", COUNTER, 1, "Starts after the first")
PK_METRIC(NODE, "worker.rss_bytes", "picket_worker_resident_bytes", GAUGE, 1,
	"Resident memory of the worker")
PK_METRIC(NODE, "alarms", "picket_alarms", GAUGE, 1, "Alarms that stand")
PK_STATES(NODE, "builder.state", "picket_builder_state", "idle waiting building paused",
	"What the builder does")
PK_METRIC(NODE, "builder.queued", "picket_builder_queued", GAUGE, 1, "Builds that wait")
PK_METRIC(NODE, "health.shed_level", "picket_shed_level", GAUGE, 1,
	"How far inference steps back: 0 full rate, 3 the least")
PK_METRIC(NODE, "health.builds_held", "picket_builds_held", GAUGE, 1,
	"Builds wait for heat, power or memory, or for a person")
PK_METRIC(NODE, "health.gpu.hz", "picket_gpu_frequency_hertz", GAUGE, 1, "Clock of the GPU")
PK_METRIC(NODE, "health.gpu.max_hz", "picket_gpu_frequency_limit_hertz", GAUGE, 1,
	"Highest clock of the GPU in this power mode")
PK_METRIC(
	NODE, "health.cpu.hz", "picket_cpu_frequency_hertz", GAUGE, 1, "Clock of the fastest core")
PK_METRIC(NODE, "health.cpu.max_hz", "picket_cpu_frequency_limit_hertz", GAUGE, 1,
	"Highest clock of the cores in this power mode")
PK_METRIC(NODE, "health.emc.hz", "picket_memory_frequency_hertz", GAUGE, 1, "Clock of the memory")
PK_METRIC(NODE, "health.over_current.under_voltage", "picket_under_voltage_events", COUNTER, 1,
	"Under-voltage events of the SoC since boot")
PK_METRIC(NODE, "health.over_current.average", "picket_over_current_events", COUNTER, 1,
	"Average over-current events of the SoC since boot")
PK_METRIC(NODE, "health.over_current.instantaneous", "picket_instant_over_current_events", COUNTER,
	1, "Instantaneous over-current events of the SoC since boot; usual under bursts")
PK_METRIC(NODE, "health.throttles", "picket_throttle_events", COUNTER, 1,
	"How often the processor slowed down for heat since boot")
PK_METRIC(NODE, "health.memory_bytes", "picket_memory_bytes", GAUGE, 1, "Memory of the machine")
PK_METRIC(NODE, "health.memory_available_bytes", "picket_memory_available_bytes", GAUGE, 1,
	"Memory that can be had without swapping")
PK_METRIC(NODE, "health.cpu_pressure", "picket_cpu_pressure_ratio", GAUGE, 0.01,
	"Part of the last 10 s in which something waited for a core (PSI)")
PK_METRIC(NODE, "health.memory_pressure", "picket_memory_pressure_ratio", GAUGE, 0.01,
	"Part of the last 10 s in which something waited for memory (PSI)")
PK_METRIC(NODE, "health.io_pressure", "picket_io_pressure_ratio", GAUGE, 0.01,
	"Part of the last 10 s in which something waited for a disk (PSI)")
PK_METRIC(NODE, "health.disk_bytes", "picket_disk_bytes", GAUGE, 1, "Size of the store's disk")
PK_METRIC(NODE, "health.disk_free_bytes", "picket_disk_free_bytes", GAUGE, 1,
	"Free space of the store's disk")
PK_METRIC(NODE, "health.disk_life_percent", "picket_disk_life_ratio", GAUGE, 0.01,
	"Writes that the flash memory has left, by its own estimate")
PK_STATES(NODE, "health.time", "picket_time_state", "unknown unsynced synced",
	"Whether the wall clock is synchronised")
PK_METRIC(NODE, "health.time_error_ms", "picket_time_error_seconds", GAUGE, 0.001,
	"The kernel's estimate of the wall clock's error")
PK_METRIC(ZONE, "celsius", "picket_temperature_celsius", GAUGE, 1, "Thermal zones")
PK_METRIC(ZONE, "passive_celsius", "picket_temperature_limit_celsius", GAUGE, 1,
	"From where the machine slows down by itself")

PK_STATES(MODEL, "rung", "picket_model_rung", "engine building cpu passthrough",
	"Where the model stands on the fallback chain")
PK_METRIC(MODEL, "alarm", "picket_model_alarm", GAUGE, 1, "It does not infer at all")
PK_METRIC(MODEL, "build.done", "picket_model_build_done", GAUGE, 1,
	"Steps of its build that are done")
PK_METRIC(MODEL, "build.total", "picket_model_build_steps", GAUGE, 1, "Steps of its build")

PK_STATES(CAMERA, "state", "picket_camera_state", "starting running retrying ended stopped",
	"State of the camera")
PK_METRIC(CAMERA, "fps", "picket_camera_results_per_second", GAUGE, 1,
	"Results a second over the last 10 to 20 s")
PK_METRIC(CAMERA, "age_p50_ms", "picket_camera_frame_age_p50_seconds", GAUGE, 0.001,
	"From picture to result, median of the last 10 to 20 s")
PK_METRIC(CAMERA, "age_p99_ms", "picket_camera_frame_age_p99_seconds", GAUGE, 0.001,
	"From picture to result, 99th percentile of the last 10 to 20 s")
PK_METRIC(CAMERA, "inference_p50_ms", "picket_camera_inference_p50_seconds", GAUGE, 0.001,
	"One inference, median of the last 10 to 20 s")
PK_METRIC(CAMERA, "captured", "picket_camera_captured_frames", COUNTER, 1,
	"Pictures that came, since the camera started")
PK_METRIC(CAMERA, "inferred", "picket_camera_inferred_frames", COUNTER, 1,
	"Pictures that a model saw")
PK_METRIC(CAMERA, "passthrough", "picket_camera_passthrough_frames", COUNTER, 1,
	"Pictures that were passed on without inference")
PK_METRIC(CAMERA, "dropped", "picket_camera_dropped_frames", COUNTER, 1,
	"Pictures that a newer one replaced")
PK_METRIC(CAMERA, "late", "picket_camera_late_frames", COUNTER, 1,
	"Pictures that were not decoded because decoding did not keep up")
PK_METRIC(CAMERA, "detections", "picket_camera_detections", COUNTER, 1, "Detections")
PK_METRIC(CAMERA, "restarts", "picket_camera_restarts", COUNTER, 1,
	"Times that the source was started again")
PK_METRIC(CAMERA, "sink_drops", "picket_camera_sink_drops", COUNTER, 1,
	"Results that a sink could not take")
PK_METRIC(CAMERA, "copies", "picket_camera_copied_frames", COUNTER, 1,
	"Pictures that had to be copied into our memory")

PK_METRIC(EVENT, "count", "picket_events", COUNTER, 1, "Events since picketd started")

#ifdef PK_METRIC_LIST_EMPTY
#undef PK_METRIC
#undef PK_STATES
#undef PK_METRIC_LIST_EMPTY
#endif
