// SPDX-License-Identifier: Apache-2.0
// Health read from the trees of four machines, and what follows from it.
// Sources of the trees: NVIDIA Jetson Linux Developer Guide r36.4 ("Platform Power and
// Performance", "Over-current event status"), the kernel's tegra234 soctherm_oc driver (attribute
// names oc1..oc3), the kernel's sysfs ABI documents of thermal, devfreq, cpufreq and mmc. The
// values are made up within their ranges.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "daemon/health.h"
#include "daemon/health_policy.h"
#include "tests/unit/daemon/support.h"

struct leaf {
	const char *path, *text;
};

static const struct leaf orin_nano[] = {
	{"proc/device-tree/model", "NVIDIA Jetson Orin Nano Developer Kit"},
	{"etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 1, BOARD: generic\n"},
	{"etc/nvpmodel.conf",
		"< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >\n"},
	{"var/lib/nvpmodel/status", "pmode:0002"},
	{"sys/class/thermal/thermal_zone0/type", "cpu-thermal\n"},
	{"sys/class/thermal/thermal_zone0/temp", "52343\n"},
	{"sys/class/thermal/thermal_zone0/trip_point_0_type", "passive\n"},
	{"sys/class/thermal/thermal_zone0/trip_point_0_temp", "99000\n"},
	{"sys/class/thermal/thermal_zone0/trip_point_1_type", "critical\n"},
	{"sys/class/thermal/thermal_zone0/trip_point_1_temp", "104500\n"},
	{"sys/class/thermal/thermal_zone2/type", "cv0-thermal\n"}, // off: no temperature
	{"sys/class/thermal/thermal_zone8/type", "tj-thermal\n"},
	{"sys/class/thermal/thermal_zone8/temp", "53187\n"},
	{"sys/class/hwmon/hwmon1/name", "ina3221\n"},
	{"sys/class/hwmon/hwmon3/name", "soctherm_oc\n"},
	{"sys/class/hwmon/hwmon3/oc1_event_cnt", "0\n"},
	{"sys/class/hwmon/hwmon3/oc2_event_cnt", "15\n"},
	{"sys/class/hwmon/hwmon3/oc3_event_cnt", "27390\n"},
	{"sys/class/devfreq/17000000.gpu/cur_freq", "306000000\n"},
	{"sys/class/devfreq/17000000.gpu/max_freq", "1020000000\n"},
	{"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "729600\n"},
	{"sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "1728000\n"},
	{"sys/devices/system/cpu/cpufreq/boost", "0\n"},
	{"proc/meminfo",
		"MemTotal:        7802876 kB\nMemFree: 1 kB\nMemAvailable:    5200000 kB\n"},
	{"proc/pressure/memory", "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\n"},
	{"proc/pressure/cpu", "some avg10=40.25 avg60=0.00 avg300=0.00 total=0\n"},
	{"run/systemd/timesync/synchronized", ""},
	{NULL},
};

// JetPack 5, eMMC.
static const struct leaf orin_nx[] = {
	{"proc/device-tree/model", "NVIDIA Orin NX Developer Kit"},
	{"etc/nv_tegra_release", "# R35 (release), REVISION: 6.1, GCID: 1\n"},
	{"var/lib/nvpmodel/status", "pmode:0003"},
	{"sys/class/thermal/thermal_zone1/type", "GPU-therm\n"},
	{"sys/class/thermal/thermal_zone1/temp", "88000\n"},
	{"sys/class/devfreq/17000000.ga10b/cur_freq", "918000000\n"},
	{"sys/class/devfreq/17000000.ga10b/max_freq", "918000000\n"},
	{"sys/class/devfreq/bwmgr/cur_freq", "3199000000\n"},
	{"sys/class/devfreq/bwmgr/max_freq", "3199000000\n"},
	{"sys/block/mmcblk0/device/life_time", "0x02 0x05\n"},
	{"sys/block/mmcblk0boot0/device/life_time", "0x0b 0x0b\n"},
	{NULL},
};

static const struct leaf agx_orin[] = {
	{"proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit"},
	{"etc/nvpmodel.conf",
		"< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=3 NAME=MODE_50W >\n"},
	{"var/lib/nvpmodel/status", "pmode:0003"},
	{"sys/class/thermal/thermal_zone0/type", "cpu-thermal\n"},
	{"sys/class/thermal/thermal_zone0/temp", "47000\n"},
	{"sys/class/thermal/thermal_zone1/type", "gpu-thermal\n"},
	{"sys/class/thermal/thermal_zone1/temp", "96500\n"},
	{"sys/class/thermal/thermal_zone1/trip_point_0_type", "passive\n"},
	{"sys/class/thermal/thermal_zone1/trip_point_0_temp", "99000\n"},
	{NULL},
};

static const struct leaf x86[] = {
	{"sys/class/dmi/id/product_name", "Desk\n"},
	{"sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"},
	{"sys/class/thermal/thermal_zone0/temp", "45000\n"},
	{"sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n"},
	{"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3600000\n"},
	{NULL},
};

static void put(const char *root, const char *path, const char *text)
{
	char *whole = pk_fs_join(root, path);
	char *slash = strrchr(whole, '/');
	*slash = '\0';
	assert_int_equal(pk_fs_mkdirs(whole, 0755, NULL), 0);
	write_text(whole, slash + 1, text);
	free(whole);
}

static char *lay_out(const struct leaf *leaves)
{
	char *root = make_folder();
	for (; leaves->path; leaves++)
		put(root, leaves->path, leaves->text);
	return root;
}

static void read_tree(const struct leaf *leaves, struct pk_health *health)
{
	char *root = lay_out(leaves);
	pk_health_read(root, root, health);
	remove_folder(root);
}

static void test_orin_nano(void **ctx)
{
	(void)ctx;
	struct pk_health health;
	int margin_mc;
	read_tree(orin_nano, &health);
	assert_string_equal(health.machine, "NVIDIA Jetson Orin Nano Developer Kit");
	assert_string_equal(health.l4t, "36.4.3");
	assert_string_equal(health.power_mode, "MAXN_SUPER");
	assert_int_equal(health.n_zones, 2);
	const struct pk_health_zone *zone = pk_health_hottest(&health, &margin_mc);
	assert_string_equal(zone->name, "tj-thermal"); // 85 °C where there is no trip point
	assert_int_equal(margin_mc, 85000 - 53187);
	assert_int_equal(health.oc_events[0], 0);
	assert_int_equal(health.oc_events[1], 15);
	assert_int_equal(health.oc_events[2], 27390);
	assert_int_equal(health.gpu.now_hz, 306000000);
	assert_int_equal(health.gpu.max_hz, 1020000000);
	assert_int_equal(health.cpu.max_hz, 1728000000);
	assert_int_equal(health.emc.now_hz, -1);
	assert_int_equal(health.memory_free_bytes, 5200000LL * 1024);
	assert_true(health.memory_pressure == 1.5 && health.cpu_pressure == 40.25);
	assert_true(health.io_pressure == -1);
	assert_true(health.disk_bytes > 0);
	assert_int_equal(health.disk_life_percent, -1);
	assert_int_equal(health.time, PK_TIME_SYNCED);
}

static void test_orin_nx(void **ctx)
{
	(void)ctx;
	struct pk_health health;
	int margin_mc;
	read_tree(orin_nx, &health);
	assert_string_equal(health.l4t, "35.6.1");
	assert_string_equal(health.power_mode, "3"); // no table of modes: its number
	assert_int_equal(health.gpu.now_hz, 918000000);
	assert_int_equal(health.emc.now_hz, 3199000000);
	assert_int_equal(health.disk_life_percent, 50); // the worse of both, not the boot part's
	assert_non_null(pk_health_hottest(&health, &margin_mc));
	assert_int_equal(margin_mc, -3000);
	assert_int_equal(health.time, PK_TIME_UNSYNCED);
	assert_int_equal(health.oc_events[0], -1);
}

static void test_agx_orin_and_x86(void **ctx)
{
	(void)ctx;
	struct pk_health health;
	int margin_mc;
	read_tree(agx_orin, &health);
	assert_string_equal(health.power_mode, "MODE_50W");
	assert_string_equal(pk_health_hottest(&health, &margin_mc)->name, "gpu-thermal");
	assert_int_equal(margin_mc, 2500);
	read_tree(x86, &health);
	assert_string_equal(health.machine, "Desk");
	assert_string_equal(health.power_mode, "");
	assert_int_equal(health.n_throttles, 7);
	assert_int_equal(health.cpu.now_hz, 3600000000);
}

static void test_nothing_is_there(void **ctx)
{
	(void)ctx;
	struct pk_health health;
	int margin_mc;
	pk_health_read("/nonexistent", NULL, &health);
	assert_null(pk_health_hottest(&health, &margin_mc));
	pk_auto_json json = pk_health_json(&health);
	assert_true(json_is_null(json_object_get(json, "machine")));
	assert_true(json_is_null(json_object_get(json, "memory_bytes")));
	assert_string_equal(json_string_value(json_object_get(json, "time")), "unsynced");
}

static void test_this_machine(void **ctx)
{
	(void)ctx;
	struct pk_health health;
	pk_health_read("", "/tmp", &health);
	assert_true(health.memory_bytes > 0 && health.memory_free_bytes > 0);
	pk_auto_json json = pk_health_json(&health);
	assert_non_null(json);
}

// Values that are none must not be taken for some.
static void test_garbage(void **ctx)
{
	(void)ctx;
	static const struct leaf leaves[] = {
		{"sys/class/thermal/thermal_zone0/type", "x\xff\xfe"},
		{"sys/class/thermal/thermal_zone0/temp", "warm"},
		{"sys/class/thermal/thermal_zone1/type", "y"},
		{"sys/class/thermal/thermal_zone1/temp", "99999999999999999999"},
		{"sys/class/hwmon/hwmon0/name", "soctherm_oc"},
		{"sys/class/hwmon/hwmon0/oc1_event_cnt", "many"},
		{"proc/meminfo", "MemTotal: lots"},
		{"proc/pressure/memory", "full"},
		{"etc/nv_tegra_release", "R"},
		{"var/lib/nvpmodel/status", "pmode:99999999999999999999"},
		{"sys/block/mmcblk0/device/life_time", "0x00 0x00"},
		{NULL},
	};
	struct pk_health health;
	read_tree(leaves, &health);
	assert_int_equal(health.n_zones, 0);
	assert_int_equal(health.oc_events[0], -1);
	assert_int_equal(health.memory_bytes, -1);
	assert_true(health.memory_pressure == -1);
	assert_string_equal(health.l4t, "");
	assert_int_equal(health.disk_life_percent, -1);
}

struct drive {
	struct pk_health health;
	struct pk_health_policy policy;
	struct pk_health_settings settings;
	int64_t now_s;
	double slowdown;
};

static void open_drive(struct drive *drive)
{
	*drive = (struct drive){.settings = {.shed = true, .pressure_limit = 25}, .now_s = 1000};
	pk_health_read("/nonexistent", NULL, &drive->health);
	drive->health.n_zones = 1;
	drive->health.zones[0] = (struct pk_health_zone){
		.name = "gpu-thermal", .passive_mc = 90000, .temp_mc = 50000};
}

static void drive_for(struct drive *drive, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		drive->now_s++;
		pk_health_policy_step(&drive->policy, &drive->settings,
			&(struct pk_health_input){
				.health = &drive->health,
				.slowdown = drive->slowdown,
				.now_ns = drive->now_s * PK_NS_PER_S,
				.realtime_ns = drive->now_s * PK_NS_PER_S,
			});
	}
}

static void test_sheds_before_the_soc_does(void **ctx)
{
	(void)ctx;
	struct drive drive;
	open_drive(&drive);
	drive_for(&drive, 60);
	assert_int_equal(drive.policy.level, 0);
	assert_false(drive.policy.hold_builds);
	drive.health.zones[0].temp_mc = 83000; // builds first
	drive_for(&drive, 1);
	assert_true(drive.policy.hold_builds);
	assert_int_equal(drive.policy.level, 0);
	drive.health.zones[0].temp_mc = 86000;
	drive_for(&drive, 1);
	assert_int_equal(drive.policy.level, 1);
	assert_string_equal(drive.policy.cause, "gpu-thermal at 86 °C, slows down at 90 °C");
	drive.health.zones[0].temp_mc = 91000; // one step at a time
	drive_for(&drive, 1);
	assert_int_equal(drive.policy.level, 1);
	drive_for(&drive, 25);
	assert_int_equal(drive.policy.level, 3);
}

static void test_comes_back_slowly(void **ctx)
{
	(void)ctx;
	struct drive drive;
	open_drive(&drive);
	drive.health.zones[0].temp_mc = 86000;
	drive_for(&drive, 5);
	assert_int_equal(drive.policy.level, 1);
	drive.health.zones[0].temp_mc = 84000; // cooler, but not by enough
	drive_for(&drive, 120);
	assert_int_equal(drive.policy.level, 1);
	drive.health.zones[0].temp_mc = 70000;
	drive_for(&drive, 25);
	assert_int_equal(drive.policy.level, 1);
	drive_for(&drive, 10);
	assert_int_equal(drive.policy.level, 0);
	assert_string_equal(drive.policy.cause, "");
	drive.health.zones[0].temp_mc = 95000;
	drive.settings.shed = false;
	drive_for(&drive, 60);
	assert_int_equal(drive.policy.level, 0);
}

// However a temperature wavers around a limit, levels do not.
static void test_does_not_flap(void **ctx)
{
	(void)ctx;
	struct drive drive;
	int n_changes = 0;
	open_drive(&drive);
	for (int i = 0; i < 600; i++) {
		int before = drive.policy.level;
		drive.health.zones[0].temp_mc = i % 2 ? 85500 : 84500;
		drive_for(&drive, 1);
		n_changes += drive.policy.level != before;
	}
	assert_int_equal(n_changes, 1);
}

static void test_over_current_and_its_words(void **ctx)
{
	(void)ctx;
	struct drive drive;
	open_drive(&drive);
	for (int i = 0; i < PK_HEALTH_N_OC; i++)
		drive.health.oc_events[i] = 100;
	drive_for(&drive, 5);
	drive.health.oc_events[2] += 100000; // the instantaneous one says nothing
	drive_for(&drive, 65);
	assert_int_equal(drive.policy.level, 0);
	drive.health.oc_events[1] += 20;
	drive.slowdown = 0.3;
	setenv("TZ", "UTC", 1);
	drive_for(&drive, 12);
	assert_int_equal(drive.policy.level, 1);
	assert_string_equal(drive.policy.cause, "over-current");
	assert_true(drive.policy.slow);
	assert_string_equal(drive.policy.slow_text, "30 % slower since 00:17: over-current");
	drive.slowdown = 0.1;
	drive_for(&drive, 1);
	assert_false(drive.policy.slow);
}

static void test_builds_wait_for_memory(void **ctx)
{
	(void)ctx;
	struct drive drive;
	open_drive(&drive);
	drive.health.memory_pressure = 30;
	drive_for(&drive, 1);
	assert_true(drive.policy.hold_builds);
	assert_string_equal(drive.policy.hold_cause, "memory pressure 30 %");
	drive.health.memory_pressure = 15; // above half of the limit
	drive_for(&drive, 1);
	assert_true(drive.policy.hold_builds);
	drive.health.memory_pressure = 5;
	drive_for(&drive, 1);
	assert_false(drive.policy.hold_builds);
}

static void test_factors(void **ctx)
{
	(void)ctx;
	static const struct {
		int level;
		size_t idx, n;
		double factor;
	} rows[] = {
		{0, 0, 3, 1},
		{1, 0, 3, 0.5},
		{1, 1, 3, 1},
		{1, 2, 3, 1},
		{2, 0, 3, 0.25},
		{2, 1, 3, 0.5},
		{2, 2, 3, 1},
		{3, 0, 3, 0.125},
		{3, 1, 3, 0.25},
		{3, 2, 3, 0.5},
		{1, 0, 1, 0.5},
		{3, 0, 1, 0.125},
		{3, 9, 10, 0.5},
		{3, 5, 10, 1},
		{2, 1, 2, 1},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		assert_true(
			pk_shed_factor(rows[i].level, rows[i].idx, rows[i].n) == rows[i].factor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orin_nano),
		cmocka_unit_test(test_orin_nx),
		cmocka_unit_test(test_agx_orin_and_x86),
		cmocka_unit_test(test_nothing_is_there),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_sheds_before_the_soc_does),
		cmocka_unit_test(test_comes_back_slowly),
		cmocka_unit_test(test_does_not_flap),
		cmocka_unit_test(test_over_current_and_its_words),
		cmocka_unit_test(test_builds_wait_for_memory),
		cmocka_unit_test(test_factors),
	};
	return cmocka_run_group_tests_name("daemon/health", tests, NULL, NULL);
}
