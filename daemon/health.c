// SPDX-License-Identifier: Apache-2.0
// Readings from sysfs, procfs and nvpmodel's files. Sources: the kernel's ABI documents of
// thermal, devfreq, cpufreq, mmc and PSI; for Orin NVIDIA's Jetson Linux Developer Guide, "Platform
// Power and Performance" (r36.4): soctherm_oc counters, 17000000.gpu, nvpmodel.
#include "daemon/health.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/checked.h"
#include "base/clock.h"
#include "daemon/text.h"

#define TEXT_MAX  4096
#define PATH_SIZE 512

// Zones without a trip point of their own slow down about here (Orin: 99 °C hardware, 85 °C is
// where its guide ends the working range).
#define DEFAULT_PASSIVE_MC 85000

const char *pk_health_time_name(enum pk_health_time time)
{
	static const char *const names[] = {"unknown", "unsynced", "synced"};
	return (size_t)time < PK_ARRAY_LEN(names) ? names[time] : "?";
}

// The file's first bytes without blanks at the end; false when it cannot be read.
static bool read_text(char *out, size_t size, const char *fmt, ...) pk_printf(3, 4);
static bool read_text(char *out, size_t size, const char *fmt, ...)
{
	char path[PATH_SIZE];
	va_list args;
	va_start(args, fmt);
	int length = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	out[0] = '\0';
	if (length < 0 || (size_t)length >= sizeof(path))
		return false;
	pk_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	if (n < 0)
		return false; // also a zone that is switched off: EAGAIN
	out[n] = '\0';
	size_t end = strlen(out);
	while (end > 0 && isspace((unsigned char)out[end - 1]))
		out[--end] = '\0';
	pk_text_mend(out);
	return true;
}

static bool parse_number(const char *text, int64_t *out)
{
	char *end = NULL;
	errno = 0;
	long long value = strtoll(text, &end, 0);
	if (errno || end == text)
		return false;
	*out = value;
	return true;
}

static int64_t read_number(const char *folder, const char *name)
{
	char text[64];
	int64_t value = -1;
	return read_text(text, sizeof(text), "%s/%s", folder, name) && parse_number(text, &value)
		       ? value
		       : -1;
}

// Calls take for each entry of ROOT/FOLDER, in no order.
static void each_entry(const char *root, const char *folder,
	void (*take)(struct pk_health *health, const char *path, const char *name),
	struct pk_health *health)
{
	char path[PATH_SIZE], entry[PATH_SIZE];
	snprintf(path, sizeof(path), "%s/%s", root, folder);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (const struct dirent *it; (it = readdir(dir));) {
		int n = snprintf(entry, sizeof(entry), "%s/%s", path, it->d_name);
		if (it->d_name[0] != '.' && n > 0 && (size_t)n < sizeof(entry))
			take(health, entry, it->d_name);
	}
	closedir(dir);
}

static void read_trips(const char *zone_path, struct pk_health_zone *zone)
{
	for (int i = 0; i < 16; i++) {
		char type[32], name[48];
		if (!read_text(type, sizeof(type), "%s/trip_point_%d_type", zone_path, i))
			return;
		snprintf(name, sizeof(name), "trip_point_%d_temp", i);
		int64_t temp = read_number(zone_path, name);
		int *slot = strcmp(type, "critical") == 0 ? &zone->critical_mc
			    : strcmp(type, "passive") == 0 || strcmp(type, "hot") == 0
				    ? &zone->passive_mc
				    : NULL;
		if (slot && temp > 0 && temp < 200000 && (*slot < 0 || temp < *slot))
			*slot = (int)temp;
	}
}

static void take_zone(struct pk_health *health, const char *path, const char *name)
{
	if (strncmp(name, "thermal_zone", 12) != 0 || health->n_zones == PK_HEALTH_MAX_ZONES)
		return;
	int64_t temp = read_number(path, "temp");
	if (temp <= -40000 || temp == -1 || temp >= 200000) // off, or no temperature
		return;
	struct pk_health_zone *zone = &health->zones[health->n_zones];
	*zone = (struct pk_health_zone){.temp_mc = (int)temp, .passive_mc = -1, .critical_mc = -1};
	if (!read_text(zone->name, sizeof(zone->name), "%s/type", path))
		return;
	read_trips(path, zone);
	health->n_zones++;
}

static void take_hwmon(struct pk_health *health, const char *path, pk_unused const char *name)
{
	char kind[32];
	if (!read_text(kind, sizeof(kind), "%s/name", path) || strcmp(kind, "soctherm_oc") != 0)
		return;
	for (int i = 0; i < PK_HEALTH_N_OC; i++) {
		char counter[32];
		snprintf(counter, sizeof(counter), "oc%d_event_cnt", i + 1);
		health->oc_events[i] = read_number(path, counter);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);
	return n >= k && strcmp(text + n - k, end) == 0;
}

// 17000000.gpu (JetPack 6), 17000000.ga10b (JetPack 5), bwmgr (memory).
static void take_devfreq(struct pk_health *health, const char *path, const char *name)
{
	struct pk_health_clock *clock = NULL;
	if (ends_with(name, ".gpu") || ends_with(name, ".ga10b") || ends_with(name, ".gv11b"))
		clock = &health->gpu;
	else if (strstr(name, "bwmgr") || strstr(name, "emc"))
		clock = &health->emc;
	if (!clock)
		return;
	clock->now_hz = read_number(path, "cur_freq");
	clock->max_hz = read_number(path, "max_freq");
}

// The fastest of the cores now.
static void take_cpu(struct pk_health *health, const char *path, const char *name)
{
	if (strncmp(name, "cpu", 3) != 0 || !isdigit((unsigned char)name[3]))
		return;
	int64_t now_khz = read_number(path, "cpufreq/scaling_cur_freq");
	int64_t max_khz = read_number(path, "cpufreq/scaling_max_freq");
	if (now_khz > 0)
		health->cpu.now_hz = PK_MAX(health->cpu.now_hz, now_khz * 1000);
	if (max_khz > 0)
		health->cpu.max_hz = PK_MAX(health->cpu.max_hz, max_khz * 1000);
	int64_t throttles = read_number(path, "thermal_throttle/package_throttle_count");
	health->n_throttles = PK_MAX(health->n_throttles, throttles);
}

// "# R36 (release), REVISION: 4.3, …"
static void read_l4t(const char *root, struct pk_health *health)
{
	char text[256];
	int major = 0, n = 0;
	char revision[16] = "";
	if (read_text(text, sizeof(text), "%s/etc/nv_tegra_release", root))
		n = sscanf(text, "# R%d (release), REVISION: %15[0-9.]", &major, revision);
	if (n == 2)
		snprintf(health->l4t, sizeof(health->l4t), "%d.%s", major, revision);
}

static void read_power_mode(const char *root, struct pk_health *health)
{
	char status[64], conf[TEXT_MAX * 4], line[48];
	const char *digits = read_text(status, sizeof(status), "%s/var/lib/nvpmodel/status", root)
				     ? strstr(status, "pmode:")
				     : NULL;
	if (!digits)
		return;
	long id = strtol(digits + 6, NULL, 10);
	snprintf(health->power_mode, sizeof(health->power_mode), "%ld", id);
	if (!read_text(conf, sizeof(conf), "%s/etc/nvpmodel.conf", root))
		return;
	snprintf(line, sizeof(line), "< POWER_MODEL ID=%ld NAME=", id);
	const char *at = strstr(conf, line);
	if (at)
		snprintf(health->power_mode, sizeof(health->power_mode), "%.*s",
			(int)PK_MIN(strcspn(at + strlen(line), " >\n"), (size_t)40),
			at + strlen(line));
}

static void read_identity(const char *root, struct pk_health *health)
{
	if (!read_text(health->machine, sizeof(health->machine), "%s/proc/device-tree/model", root))
		(void)read_text(health->machine, sizeof(health->machine),
			"%s/sys/class/dmi/id/product_name", root);
	read_l4t(root, health);
	read_power_mode(root, health);
}

static int64_t meminfo_bytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	int64_t kib = -1;
	return at && parse_number(at + strlen(key), &kib) ? kib * 1024 : -1;
}

static double read_pressure(const char *root, const char *kind)
{
	char text[256];
	double value = -1;
	if (!read_text(text, sizeof(text), "%s/proc/pressure/%s", root, kind) ||
		sscanf(text, "some avg10=%lf", &value) != 1)
		return -1;
	return value;
}

static void read_memory(const char *root, struct pk_health *health)
{
	char text[TEXT_MAX];
	if (read_text(text, sizeof(text), "%s/proc/meminfo", root)) {
		health->memory_bytes = meminfo_bytes(text, "MemTotal:");
		health->memory_free_bytes = meminfo_bytes(text, "MemAvailable:");
	}
	health->cpu_pressure = read_pressure(root, "cpu");
	health->memory_pressure = read_pressure(root, "memory");
	health->io_pressure = read_pressure(root, "io");
}

// JEDEC eMMC: life_time holds two estimates, 0x01: up to 10 % used … 0x0b: above.
static void take_block(struct pk_health *health, const char *path, const char *name)
{
	char text[64];
	unsigned a = 0, b = 0;
	if (strncmp(name, "mmcblk", 6) != 0 || strchr(name + 6, 'b') || strchr(name + 6, 'p') ||
		!read_text(text, sizeof(text), "%s/device/life_time", path) ||
		sscanf(text, "%x %x", &a, &b) != 2)
		return;
	unsigned worst = PK_MAX(a, b);
	int left = worst == 0 ? -1 : worst > 10 ? 0 : 100 - 10 * (int)worst;
	if (left >= 0 && (health->disk_life_percent < 0 || left < health->disk_life_percent))
		health->disk_life_percent = left;
}

static void read_disk(const char *root, const char *store, struct pk_health *health)
{
	struct statvfs vfs;
	if (store && statvfs(store, &vfs) == 0) {
		health->disk_bytes = (int64_t)(vfs.f_blocks * vfs.f_frsize);
		health->disk_free_bytes = (int64_t)(vfs.f_bavail * vfs.f_frsize);
	}
	each_entry(root, "sys/block", take_block, health);
}

// A faked root says by timesyncd's own mark whether it is synced; the kernel is asked only of this
// machine.
static void read_time(const char *root, struct pk_health *health)
{
	char path[PATH_SIZE];
	struct timex timex = {0};
	snprintf(path, sizeof(path), "%s/run/systemd/timesync/synchronized", root);
	if (access(path, F_OK) == 0)
		health->time = PK_TIME_SYNCED;
	else if (root[0])
		health->time = PK_TIME_UNSYNCED;
	if (root[0] || adjtimex(&timex) < 0)
		return;
	bool synced = !(timex.status & STA_UNSYNC);
	health->time = synced || health->time == PK_TIME_SYNCED ? PK_TIME_SYNCED : PK_TIME_UNSYNCED;
	health->time_error_ns = synced ? timex.esterror * PK_NS_PER_US : -1;
}

void pk_health_read(const char *root, const char *store, struct pk_health *out)
{
	*out = (struct pk_health){
		.oc_events = {-1, -1, -1},
		.n_throttles = -1,
		.gpu = {-1, -1},
		.cpu = {-1, -1},
		.emc = {-1, -1},
		.memory_bytes = -1,
		.memory_free_bytes = -1,
		.disk_bytes = -1,
		.disk_free_bytes = -1,
		.disk_life_percent = -1,
		.time_error_ns = -1,
	};
	read_identity(root, out);
	each_entry(root, "sys/class/thermal", take_zone, out);
	each_entry(root, "sys/class/hwmon", take_hwmon, out);
	each_entry(root, "sys/class/devfreq", take_devfreq, out);
	each_entry(root, "sys/devices/system/cpu", take_cpu, out);
	read_memory(root, out);
	read_disk(root, store, out);
	read_time(root, out);
}

const struct pk_health_zone *pk_health_hottest(const struct pk_health *health, int *margin_mc)
{
	const struct pk_health_zone *found = NULL;
	*margin_mc = 0;
	for (size_t i = 0; i < health->n_zones; i++) {
		const struct pk_health_zone *zone = &health->zones[i];
		int passive_mc = zone->passive_mc > 0 ? zone->passive_mc : DEFAULT_PASSIVE_MC;
		int margin = passive_mc - zone->temp_mc;
		if (found && margin >= *margin_mc)
			continue;
		found = zone;
		*margin_mc = margin;
	}
	return found;
}

static json_t *number(int64_t value)
{
	return value < 0 ? json_null() : json_integer((json_int_t)value);
}

static json_t *percent(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *text(const char *value)
{
	return value[0] ? json_string(value) : json_null();
}

static json_t *clock_json(const struct pk_health_clock *clock)
{
	return json_pack(
		"{s:o, s:o}", "hz", number(clock->now_hz), "max_hz", number(clock->max_hz));
}

static json_t *celsius(int mc)
{
	return mc == -1 ? json_null() : json_real((double)mc / 1000);
}

static json_t *zones_json(const struct pk_health *health)
{
	json_t *list = json_array();
	for (size_t i = 0; i < health->n_zones; i++) {
		const struct pk_health_zone *zone = &health->zones[i];
		json_array_append_new(
			list, json_pack("{s:s, s:o, s:o, s:o}", "name", zone->name, "celsius",
				      celsius(zone->temp_mc), "passive_celsius",
				      celsius(zone->passive_mc), "critical_celsius",
				      celsius(zone->critical_mc)));
	}
	return list;
}

json_t *pk_health_json(const struct pk_health *health)
{
	json_t *json =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "machine", text(health->machine),
			"l4t", text(health->l4t), "power_mode", text(health->power_mode), "zones",
			zones_json(health), "gpu", clock_json(&health->gpu), "cpu",
			clock_json(&health->cpu), "emc", clock_json(&health->emc));
	json_t *rest = json_pack("{s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
				 "s:s, s:o}",
		"over_current", "under_voltage", number(health->oc_events[0]), "average",
		number(health->oc_events[1]), "instantaneous", number(health->oc_events[2]),
		"throttles", number(health->n_throttles), "memory_bytes",
		number(health->memory_bytes), "memory_available_bytes",
		number(health->memory_free_bytes), "cpu_pressure", percent(health->cpu_pressure),
		"memory_pressure", percent(health->memory_pressure), "io_pressure",
		percent(health->io_pressure), "disk_bytes", number(health->disk_bytes),
		"disk_free_bytes", number(health->disk_free_bytes), "disk_life_percent",
		number(health->disk_life_percent), "time", pk_health_time_name(health->time),
		"time_error_ms",
		health->time_error_ns < 0
			? json_null()
			: json_real((double)health->time_error_ns / (double)PK_NS_PER_MS));
	if (json && rest)
		json_object_update(json, rest);
	json_decref(rest);
	return json;
}
