// SPDX-License-Identifier: Apache-2.0
// Landlock (Linux 5.13): which paths may be read and written. Rights that a kernel does not know
// yet are left out by its ABI version. Source: the kernel's userspace-api/landlock.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/sandbox.h"

// <linux/landlock.h> of the floor (Linux 5.15 headers) lacks most of this.
#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH      1

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_REG = 1 << 8,
	FS_TRUNCATE = 1 << 14,
	FS_IOCTL_DEV = 1 << 15,
};

#define RIGHTS_READ  (FS_READ_FILE | FS_READ_DIR)
#define RIGHTS_WRITE (RIGHTS_READ | FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE)
#define RIGHTS_DRIVE (RIGHTS_READ | FS_WRITE_FILE | FS_IOCTL_DEV)
#define RIGHTS_FILE  (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

#define NET_TCP   3u // bind and connect
#define SCOPE_ALL 3u // abstract sockets, signals

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

// By ABI version: how many file rights there are, bytes of ruleset_attr.
static const struct {
	unsigned n_fs;
	size_t bytes;
} abis[] = {{0, 0}, {13, 8}, {14, 8}, {15, 8}, {15, 16}, {16, 16}, {16, 24}};

// What the C library, OpenSSL and the engine read on their own.
static const char *const system_paths[] = {
	"/usr/lib",
	"/usr/lib64",
	"/lib",
	"/lib64",
	"/etc/ld.so.cache",
	"/usr/lib/ssl/openssl.cnf",
	"/etc/ssl/openssl.cnf",
	"/usr/share/zoneinfo",
	"/etc/localtime",
	"/proc/self",
	"/proc/cpuinfo",
	"/proc/meminfo",
	"/proc/stat",
	"/sys/devices/system/cpu",
	"/dev/null",
	"/dev/urandom",
	"/dev/random",
	"/dev/zero",
};

// NVIDIA's drivers on desks and on Jetson: libraries, identity, devices.
static const char *const driver_paths[] = {
	"/usr/local",
	"/opt",
	"/etc/nv_tegra_release",
	"/etc/alternatives",
	"/proc/driver",
	"/proc",
	"/sys",
};
static const char *const device_paths[] = {"/dev"};

static int add_path(int ruleset, const char *path, uint64_t rights)
{
	struct stat st;
	pk_auto_close int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rights &= RIGHTS_FILE;
	const struct path_attr rule = {.allowed = rights, .parent_fd = fd};
	long r = syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0u);
	return r < 0 ? -errno : 0;
}

static int add_paths(
	int ruleset, const char *const *paths, size_t n, uint64_t rights, struct pk_err *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = add_path(ruleset, paths[i], rights);
		if (r < 0)
			return pk_fail(err, r, "sandbox: %s: %s", paths[i], strerror(-r));
	}
	return 0;
}

// Where whoever set the service up keeps the drivers' libraries; the loader looks there first.
static int add_library_path(int ruleset, uint64_t rights, struct pk_err *err)
{
	const char *text = getenv("LD_LIBRARY_PATH");
	pk_auto_free char *folders = strdup(text ? text : "");
	int r = folders ? 0 : -ENOMEM;
	char *save = NULL;
	for (char *folder = folders ? strtok_r(folders, ":", &save) : NULL; r == 0 && folder;
		folder = strtok_r(NULL, ":", &save)) {
		if (folder[0] == '/')
			r = add_path(ruleset, folder, rights);
	}
	return r < 0 ? pk_fail(err, r, "sandbox: LD_LIBRARY_PATH: %s", strerror(-r)) : 0;
}

static int add_all(
	int ruleset, const struct pk_sandbox_options *options, uint64_t known, struct pk_err *err)
{
	const struct {
		const char *const *paths;
		size_t n;
		uint64_t rights;
		bool wanted;
	} rows[] = {
		{system_paths, PK_ARRAY_LEN(system_paths), RIGHTS_READ, true},
		{options->read, options->n_read, RIGHTS_READ, true},
		{options->write, options->n_write, RIGHTS_WRITE, true},
		{driver_paths, PK_ARRAY_LEN(driver_paths), RIGHTS_READ, options->devices},
		{device_paths, PK_ARRAY_LEN(device_paths), RIGHTS_DRIVE, options->devices},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		int r = rows[i].wanted ? add_paths(ruleset, rows[i].paths, rows[i].n,
						 rows[i].rights & known, err)
				       : 0;
		if (r < 0)
			return r;
	}
	return options->devices ? add_library_path(ruleset, RIGHTS_READ & known, err) : 0;
}

int pk_sandbox_limit_paths(const struct pk_sandbox_options *options, struct pk_err *err)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, CREATE_RULESET_VERSION);
	if (version <= 0)
		return 0;
	size_t abi =
		(size_t)version < PK_ARRAY_LEN(abis) ? (size_t)version : PK_ARRAY_LEN(abis) - 1;
	uint64_t known = (UINT64_C(1) << abis[abi].n_fs) - 1;
	const struct ruleset_attr attr = {.fs = known, .net = NET_TCP, .scoped = SCOPE_ALL};
	pk_auto_close int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, abis[abi].bytes, 0u);
	if (ruleset < 0)
		return pk_fail_errno(err, "sandbox: Landlock");
	int r = add_all(ruleset, options, known, err);
	if (r < 0)
		return r;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0u) < 0)
		return pk_fail_errno(err, "sandbox: Landlock");
	return (int)version;
}
