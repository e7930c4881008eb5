// SPDX-License-Identifier: Apache-2.0
// cgroup v2 files. Source: the kernel's admin-guide/cgroup-v2 and systemd's "Control Group APIs and
// Delegation" (only below what was delegated; processes only in leaves).
#include "daemon/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"

#define MAX_BYTES (64u << 10)
#define OWN_LEAF  "control"

struct pk_cgroup {
	char *folder; // the delegated group
};

static int put(const char *folder, const char *name, const char *text)
{
	pk_auto_free char *path = pk_fs_join(folder, name);
	pk_auto_close int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return path ? -errno : -ENOMEM;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int get(const char *folder, const char *name, struct pk_buf *out)
{
	pk_auto_free char *path = pk_fs_join(folder, name);
	pk_auto_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return path ? -errno : -ENOMEM;
	char chunk[1024];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0) // sizes of such files are not known
		if (pk_buf_append(out, chunk, (size_t)n) < 0)
			return -EFBIG;
	return n < 0 ? -errno : 0;
}

// The "0::/path" line of v2.
static char *own_group(const char *root)
{
	pk_auto_buf struct pk_buf text;
	char proc[512];
	pk_buf_init(&text, MAX_BYTES);
	snprintf(proc, sizeof(proc), "%s/proc/self", root);
	if (get(proc, "cgroup", &text) < 0)
		return NULL;
	const char *at = pk_buf_cstr(&text);
	while (at && strncmp(at, "0::/", 4) != 0) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return at ? strndup(at + 3, strcspn(at + 3, "\n")) : NULL;
}

// systemd marks what it hands over by an attribute that root can see, and gives it to the service's
// user.
static bool is_delegated(const char *folder)
{
	static const char *const names[] = {"user.delegate", "trusted.delegate"};
	char value[4];
	struct stat st;
	for (size_t i = 0; i < PK_ARRAY_LEN(names); i++) {
		if (getxattr(folder, names[i], value, sizeof(value)) == 1 && value[0] == '1')
			return true;
	}
	return geteuid() != 0 && stat(folder, &st) == 0 && st.st_uid == geteuid();
}

static void enable(const char *folder)
{
	static const char *const controllers[] = {"+memory", "+cpu", "+io", "+pids"};
	for (size_t i = 0; i < PK_ARRAY_LEN(controllers); i++)
		(void)put(folder, "cgroup.subtree_control", controllers[i]);
}

static int place(const char *folder, const char *name, pid_t pid)
{
	char text[32];
	pk_auto_free char *leaf = pk_fs_join(folder, name);
	if (!leaf)
		return -ENOMEM;
	if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(text, sizeof(text), "%d", (int)pid);
	return put(leaf, "cgroup.procs", text);
}

int pk_cgroup_open(const char *root, struct pk_cgroup **out, struct pk_err *err)
{
	pk_auto(pk_cgroup) cgroup = calloc(1, sizeof(*cgroup));
	pk_auto_free char *group = own_group(root);
	if (!cgroup)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (!group)
		return pk_fail(err, -ENOTSUP, "control groups are not version 2 here");
	// Started again below the leaf that an earlier start made (a re-exec).
	char *leaf = strrchr(group, '/');
	if (leaf && leaf != group && strcmp(leaf + 1, OWN_LEAF) == 0)
		*leaf = '\0';
	if (asprintf(&cgroup->folder, "%s/sys/fs/cgroup%s", root, group) < 0) {
		cgroup->folder = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	if (access(cgroup->folder, F_OK) < 0 || (!root[0] && !is_delegated(cgroup->folder)))
		return pk_fail(
			err, -ENOTSUP, "no control group was delegated (Delegate= of the unit)");
	int r = place(cgroup->folder, OWN_LEAF, getpid());
	if (r < 0)
		return pk_fail(err, -ENOTSUP, "%s/" OWN_LEAF ": %s", cgroup->folder, strerror(-r));
	enable(cgroup->folder);
	*out = pk_steal(cgroup);
	return 0;
}

void pk_cgroup_close(struct pk_cgroup *cgroup)
{
	if (!cgroup)
		return;
	free(cgroup->folder);
	free(cgroup);
}

int pk_cgroup_place(struct pk_cgroup *cgroup, const char *name, pid_t pid, int64_t memory_max,
	int cpu_weight, struct pk_err *err)
{
	char text[32] = "max";
	int r = place(cgroup->folder, name, pid);
	pk_auto_free char *leaf = pk_fs_join(cgroup->folder, name);
	if (r < 0 || !leaf)
		return pk_fail(
			err, r < 0 ? r : -ENOMEM, "control group %s: %s", name, strerror(-r));
	if (memory_max > 0)
		snprintf(text, sizeof(text), "%lld", (long long)memory_max);
	// A controller that was not delegated has no such file: then its limit is the process's
	// own.
	(void)put(leaf, "memory.max", text);
	(void)put(leaf, "memory.oom.group", "1");
	(void)put(leaf, "cpu.idle", "0"); // of an earlier process; with it there is no weight
	snprintf(text, sizeof(text), "%d", cpu_weight);
	if (cpu_weight > 0)
		(void)put(leaf, "cpu.weight", text);
	return 0;
}

int pk_cgroup_set_idle(struct pk_cgroup *cgroup, const char *name, bool idle)
{
	pk_auto_free char *leaf = pk_fs_join(cgroup->folder, name);
	return leaf ? put(leaf, "cpu.idle", idle ? "1" : "0") : -ENOMEM;
}

int64_t pk_cgroup_oom_kills(const struct pk_cgroup *cgroup, const char *name)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_BYTES);
	pk_auto_free char *leaf = cgroup ? pk_fs_join(cgroup->folder, name) : NULL;
	if (!leaf || get(leaf, "memory.events", &text) < 0)
		return 0;
	const char *at = strstr(pk_buf_cstr(&text), "oom_kill ");
	return at ? strtoll(at + 9, NULL, 10) : 0;
}
