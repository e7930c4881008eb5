// SPDX-License-Identifier: Apache-2.0
// One look at the machine: heat, power, clocks, memory, pressure, disk, time. Everything is read
// below a root, so that tests can lay out the trees of machines that are not here.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_HEALTH_MAX_ZONES 16
#define PK_HEALTH_NAME      32
#define PK_HEALTH_N_OC      3

// What is unknown is -1 in numbers and "" in texts.
struct pk_health_zone {
	char name[PK_HEALTH_NAME];   // "tj-thermal"
	int temp_mc;                 // thousandths of a degree Celsius
	int passive_mc, critical_mc; // trip points: where it slows down, where it switches off
};

struct pk_health_clock {
	int64_t now_hz, max_hz; // max: what the power mode allows
};

enum pk_health_time { PK_TIME_UNKNOWN, PK_TIME_UNSYNCED, PK_TIME_SYNCED };
const char *pk_health_time_name(enum pk_health_time time); // "unknown", "unsynced", "synced"

struct pk_health {
	char machine[96];    // device tree model, or DMI product
	char l4t[48];        // "36.4.3"
	char power_mode[48]; // nvpmodel: "MAXN_SUPER"
	struct pk_health_zone zones[PK_HEALTH_MAX_ZONES];
	size_t n_zones;
	// Counters of the SoC: under-voltage, average and instantaneous over-current (Orin's
	// soctherm_oc), and how often an x86 package slowed down for heat.
	int64_t oc_events[PK_HEALTH_N_OC];
	int64_t n_throttles;
	struct pk_health_clock gpu, cpu, emc;
	int64_t memory_bytes, memory_free_bytes;           // free: MemAvailable
	double cpu_pressure, memory_pressure, io_pressure; // PSI some avg10, percent
	int64_t disk_bytes, disk_free_bytes;               // where the store lies
	int disk_life_percent; // of its writes that is left, eMMC: in steps of ten
	enum pk_health_time time;
	int64_t time_error_ns; // the kernel's estimate
};

// root: "" for this machine. store: an existing folder whose disk is looked at; not below root.
void pk_health_read(const char *root, const char *store, struct pk_health *out);

// The zone that is nearest to where it slows down; NULL when no zone has a temperature. *margin_mc:
// how much is left until then; negative above.
const struct pk_health_zone *pk_health_hottest(const struct pk_health *health, int *margin_mc);

// As GET /v1/health shows it; unknown members are null. New reference.
json_t *pk_health_json(const struct pk_health *health);
