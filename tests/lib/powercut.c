// SPDX-License-Identifier: Apache-2.0
// A model of a disk: inodes with what was written and what was synced, names with what was changed
// and what was synced.
#include "tests/lib/powercut.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fsops.h"

#define MAX_CALLS  4096
#define MAX_NAMES  512
#define MAX_INODES 1024
#define PATH_BYTES 512

static void die(const char *format, ...) pk_printf(1, 2);
static void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\n", stderr);
	abort();
}

struct bytes {
	char *data;
	size_t n;
};

static void set_bytes(struct bytes *to, const void *data, size_t n)
{
	char *copy = malloc(n + 1);
	if (!copy)
		die("out of memory");
	if (n)
		memcpy(copy, data, n);
	free(to->data);
	*to = (struct bytes){.data = copy, .n = n};
}

static void resize_bytes(struct bytes *bytes, size_t n)
{
	bytes->data = realloc(bytes->data, n + 1);
	if (!bytes->data)
		die("out of memory");
	if (n > bytes->n)
		memset(bytes->data + bytes->n, 0, n - bytes->n);
	bytes->n = n;
}

// A file or folder, whatever it is called.
struct inode {
	bool is_folder;
	struct bytes now, synced;
};

struct name {
	char path[PATH_BYTES]; // below root
	int inode;
};
struct names {
	struct name items[MAX_NAMES];
	size_t n;
};

enum kind { CREATE, WRITE, RESIZE, SYNC, RENAME, UNLINK, MAKE_FOLDER };
static const char *const kind_names[] = {
	"create", "write", "resize", "sync", "rename", "unlink", "mkdir"};

struct call {
	enum kind kind;
	int inode;
	char a[PATH_BYTES], b[PATH_BYTES];
	size_t offset, size;
	char *data;
};

struct disk {
	struct inode inodes[MAX_INODES];
	int n_inodes;
	struct names now, synced;
	struct {
		char folder[PATH_BYTES];
		struct call *call;
	} pending[MAX_CALLS]; // changes of names, each with the folder that must be synced
	size_t n_pending;
};

static char root[PATH_BYTES];
static struct call calls[MAX_CALLS];
static size_t n_calls;
static struct disk base; // when the recording began
static struct names live;
static int n_live_inodes;
static struct {
	ino_t ino;
	int inode;
} numbers[MAX_INODES]; // newest last
static size_t n_numbers;

static int find(const struct names *names, const char *path)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->items[i].path, path) == 0)
			return (int)i;
	return -1;
}

static void put(struct names *names, const char *path, int inode)
{
	int i = find(names, path);
	if (i < 0) {
		if (names->n == MAX_NAMES)
			die("too many names");
		i = (int)names->n++;
	}
	snprintf(names->items[i].path, PATH_BYTES, "%s", path);
	names->items[i].inode = inode;
}

static int take(struct names *names, const char *path)
{
	int i = find(names, path);
	if (i < 0)
		return -1;
	int inode = names->items[i].inode;
	names->items[i] = names->items[--names->n];
	return inode;
}

static void folder_of(const char *path, char out[PATH_BYTES])
{
	const char *slash = strrchr(path, '/');
	snprintf(out, PATH_BYTES, "%.*s", slash ? (int)(slash - path) : 0, path);
}

// Path below root, or false: not of this recording.
static bool below(const char *absolute, char out[PATH_BYTES])
{
	size_t n = strlen(root);
	if (strncmp(absolute, root, n) != 0 || (absolute[n] != '/' && absolute[n] != '\0'))
		return false;
	while (absolute[n] == '/')
		n++;
	snprintf(out, PATH_BYTES, "%s", absolute + n);
	size_t end = strlen(out);
	if (end && out[end - 1] == '/')
		out[end - 1] = '\0';
	return true;
}

static bool path_of_fd(int fd, char out[PATH_BYTES])
{
	char link[64], target[PATH_BYTES];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return below(target, out);
}

static bool path_at(int dir_fd, const char *path, char out[PATH_BYTES])
{
	char folder[PATH_BYTES], joined[2 * PATH_BYTES];
	if (path[0] == '/')
		return below(path, out);
	if (dir_fd == AT_FDCWD || !path_of_fd(dir_fd, folder))
		return false;
	snprintf(joined, sizeof(joined), "%s%s%s", folder, folder[0] ? "/" : "", path);
	snprintf(out, PATH_BYTES, "%.*s", PATH_BYTES - 1, joined);
	return true;
}

static ino_t number_of(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

// Of an open file; the newest one with this number, since numbers are used again. -1: not ours.
static int inode_of(int fd)
{
	ino_t ino = number_of(fd);
	for (size_t i = n_numbers; i-- > 0;)
		if (numbers[i].ino == ino)
			return numbers[i].inode;
	return -1;
}

static void know(ino_t ino, int inode)
{
	if (n_numbers == MAX_INODES)
		die("too many files");
	numbers[n_numbers].ino = ino;
	numbers[n_numbers++].inode = inode;
}

static struct call *record(enum kind kind, int inode, const char *a)
{
	if (n_calls == MAX_CALLS)
		die("too many calls");
	struct call *call = &calls[n_calls++];
	*call = (struct call){.kind = kind, .inode = inode};
	snprintf(call->a, PATH_BYTES, "%s", a);
	return call;
}

static int new_inode(void)
{
	if (n_live_inodes == MAX_INODES)
		die("too many files");
	return n_live_inodes++;
}

static int on_open(int dir_fd, const char *path, int flags, mode_t mode)
{
	char name[PATH_BYTES];
	bool ours = path_at(dir_fd, path, name);
	int fd = openat(dir_fd, path, flags, mode);
	if (fd < 0 || !ours)
		return fd;
	int i = find(&live, name);
	if (i < 0 && (flags & O_CREAT)) {
		int inode = new_inode();
		put(&live, name, inode);
		know(number_of(fd), inode);
		record(CREATE, inode, name);
	} else if (i >= 0 && (flags & O_TRUNC)) {
		record(RESIZE, live.items[i].inode, name);
	}
	return fd;
}

static ssize_t on_write(int fd, const void *bytes, size_t n)
{
	int inode = inode_of(fd);
	off_t offset = lseek(fd, 0, SEEK_CUR);
	ssize_t written = write(fd, bytes, n);
	if (written > 0 && inode >= 0) {
		struct call *call = record(WRITE, inode, "");
		call->offset = (size_t)offset;
		call->size = (size_t)written;
		call->data = malloc((size_t)written);
		if (!call->data)
			die("out of memory");
		memcpy(call->data, bytes, (size_t)written);
	}
	return written;
}

static int on_resize(int fd, off_t size)
{
	int inode = inode_of(fd);
	int r = ftruncate(fd, size);
	if (r == 0 && inode >= 0)
		record(RESIZE, inode, "")->size = (size_t)size;
	return r;
}

static int on_fallocate(int fd, int mode, off_t offset, off_t n)
{
	int inode = inode_of(fd);
	int r = fallocate(fd, mode, offset, n);
	if (r == 0 && inode >= 0 && !(mode & FALLOC_FL_KEEP_SIZE))
		record(RESIZE, inode, "")->size = (size_t)(offset + n);
	return r;
}

// The disk of the test itself need not be waited for.
static int on_sync(int fd)
{
	char path[PATH_BYTES];
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -1;
	if (S_ISDIR(st.st_mode) && path_of_fd(fd, path))
		record(SYNC, -1, path);
	else if (inode_of(fd) >= 0)
		record(SYNC, inode_of(fd), "");
	return 0;
}

static int on_rename(int old_dir_fd, const char *old_path, int dir_fd, const char *path)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	bool ours = path_at(old_dir_fd, old_path, from) && path_at(dir_fd, path, to);
	int r = renameat(old_dir_fd, old_path, dir_fd, path);
	if (r == 0 && ours) {
		int inode = take(&live, from);
		put(&live, to, inode);
		struct call *call = record(RENAME, inode, from);
		snprintf(call->b, PATH_BYTES, "%s", to);
	}
	return r;
}

static int on_unlink(int dir_fd, const char *path, int flags)
{
	char name[PATH_BYTES];
	bool ours = path_at(dir_fd, path, name);
	int r = unlinkat(dir_fd, path, flags);
	if (r == 0 && ours)
		record(UNLINK, take(&live, name), name);
	return r;
}

static int on_mkdir(int dir_fd, const char *path, mode_t mode)
{
	char name[PATH_BYTES];
	bool ours = path_at(dir_fd, path, name);
	int r = mkdirat(dir_fd, path, mode);
	if (r == 0 && ours) {
		int inode = new_inode();
		put(&live, name, inode);
		record(MAKE_FOLDER, inode, name);
	}
	return r;
}

static const struct pk_fsops recorder = {
	.open = on_open,
	.write = on_write,
	.ftruncate = on_resize,
	.fallocate = on_fallocate,
	.fchmod = fchmod,
	.fsync = on_sync,
	.fdatasync = on_sync,
	.close = close,
	.rename = on_rename,
	.unlink = on_unlink,
	.mkdir = on_mkdir,
	.statvfs = fstatvfs,
};

static void read_whole(const char *path, struct bytes *out)
{
	char chunk[65536];
	FILE *file = fopen(path, "rb");
	if (!file)
		die("%s: %s", path, strerror(errno));
	for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;) {
		size_t before = out->n;
		resize_bytes(out, before + n);
		memcpy(out->data + before, chunk, n);
	}
	fclose(file);
}

static void take_base(const char *folder)
{
	char path[2 * PATH_BYTES];
	snprintf(path, sizeof(path), "%s/%s", root, folder);
	DIR *dir = opendir(path);
	if (!dir)
		die("%s: %s", path, strerror(errno));
	for (const struct dirent *entry; (entry = readdir(dir));) {
		char name[2 * PATH_BYTES];
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof(name), "%s%s%s", folder, folder[0] ? "/" : "", entry->d_name);
		snprintf(path, sizeof(path), "%s/%.400s", root, name);
		if (lstat(path, &st) < 0)
			die("%s: %s", path, strerror(errno));
		int i = new_inode();
		struct inode *inode = &base.inodes[i];
		inode->is_folder = S_ISDIR(st.st_mode);
		know(st.st_ino, i);
		put(&base.now, name, i);
		if (inode->is_folder) {
			take_base(name);
			continue;
		}
		read_whole(path, &inode->now);
		set_bytes(&inode->synced, inode->now.data, inode->now.n);
	}
	closedir(dir);
}

static void forget(void)
{
	for (size_t i = 0; i < n_calls; i++)
		free(calls[i].data);
	for (int i = 0; i < MAX_INODES; i++) {
		free(base.inodes[i].now.data);
		free(base.inodes[i].synced.data);
	}
	memset(&base, 0, sizeof(base));
	n_calls = n_numbers = 0;
	n_live_inodes = 0;
}

void powercut_begin(const char *folder)
{
	forget();
	char *real = realpath(folder, NULL);
	if (!real)
		die("%s: %s", folder, strerror(errno));
	snprintf(root, sizeof(root), "%s", real);
	free(real);
	take_base("");
	base.n_inodes = n_live_inodes;
	base.synced = base.now;
	live = base.now;
	pk_fsops_replace(&recorder);
}

void powercut_end(void)
{
	pk_fsops_replace(NULL);
}

size_t powercut_n_calls(void)
{
	return n_calls;
}

const char *powercut_call_text(size_t i)
{
	static char text[2 * PATH_BYTES + 64];
	const struct call *call = &calls[i];
	snprintf(text, sizeof(text), "%s #%d %s %s", kind_names[call->kind], call->inode, call->a,
		call->b);
	return text;
}

struct powercut_variant powercut_variant(int i)
{
	return (struct powercut_variant){
		.data = (enum powercut_data)(i / 3), .names = (enum powercut_names)(i % 3)};
}

static void change_names(struct names *names, const struct call *call)
{
	if (call->kind == RENAME) {
		take(names, call->a);
		put(names, call->b, call->inode);
	} else if (call->kind == UNLINK) {
		take(names, call->a);
	} else {
		put(names, call->a, call->inode);
	}
}

static void await(struct disk *disk, const char *path, struct call *call)
{
	folder_of(path, disk->pending[disk->n_pending].folder);
	disk->pending[disk->n_pending++].call = call;
}

// A rename between two folders is one change: both ends wait for the first sync of either. A file
// system with a journal does it so; without one it may come to both names or none, which the store
// does not rely on (content is checked by digest).
static void sync_folder(struct disk *disk, const char *folder)
{
	size_t kept = 0;
	for (size_t i = 0; i < disk->n_pending; i++) {
		char other[PATH_BYTES];
		folder_of(disk->pending[i].call->b, other);
		bool here = strcmp(disk->pending[i].folder, folder) == 0 ||
			    (disk->pending[i].call->kind == RENAME && strcmp(other, folder) == 0);
		if (here)
			change_names(&disk->synced, disk->pending[i].call);
		else
			disk->pending[kept++] = disk->pending[i];
	}
	disk->n_pending = kept;
}

static void write_inode(struct inode *inode, const struct call *call)
{
	if (call->offset + call->size > inode->now.n)
		resize_bytes(&inode->now, call->offset + call->size);
	memcpy(inode->now.data + call->offset, call->data, call->size);
}

static void replay(struct disk *disk, struct call *call)
{
	struct inode *inode = call->inode >= 0 ? &disk->inodes[call->inode] : NULL;
	switch (call->kind) {
	case WRITE:
		write_inode(inode, call);
		return;
	case RESIZE:
		resize_bytes(&inode->now, call->size);
		return;
	case SYNC:
		if (inode)
			set_bytes(&inode->synced, inode->now.data, inode->now.n);
		else
			sync_folder(disk, call->a);
		return;
	case MAKE_FOLDER:
		inode->is_folder = true;
		break;
	default:
		break;
	}
	change_names(&disk->now, call);
	await(disk, call->a, call);
}

// The content after the cut.
static void settle(const struct inode *inode, enum powercut_data data, struct bytes *out)
{
	if (data == POWERCUT_DATA_KEPT) {
		set_bytes(out, inode->now.data, inode->now.n);
		return;
	}
	set_bytes(out, inode->synced.data, inode->synced.n);
	if (data == POWERCUT_DATA_ZEROED)
		resize_bytes(out, inode->now.n);
}

static void make_file(const char *path, const struct bytes *bytes)
{
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes->data, 1, bytes->n, file) != bytes->n || fclose(file) != 0)
		die("%s: %s", path, strerror(errno));
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
}

static void make_tree(
	struct disk *disk, struct names *names, enum powercut_data data, const char *folder)
{
	qsort(names->items, names->n, sizeof(names->items[0]), by_path);
	if (mkdir(folder, 0700) < 0)
		die("%s: %s", folder, strerror(errno));
	for (size_t i = 0; i < names->n; i++) {
		char path[2 * PATH_BYTES], parent[PATH_BYTES];
		const struct inode *inode = &disk->inodes[names->items[i].inode];
		folder_of(names->items[i].path, parent);
		if (parent[0] && find(names, parent) < 0)
			continue; // its folder is not there either
		snprintf(path, sizeof(path), "%s/%s", folder, names->items[i].path);
		if (inode->is_folder) {
			if (mkdir(path, 0700) < 0)
				die("%s: %s", path, strerror(errno));
			continue;
		}
		struct bytes bytes = {0};
		settle(inode, data, &bytes);
		make_file(path, &bytes);
		free(bytes.data);
	}
}

static struct disk *copy_base(void)
{
	struct disk *disk = malloc(sizeof(*disk));
	if (!disk)
		die("out of memory");
	*disk = base;
	for (int i = 0; i < base.n_inodes; i++) {
		disk->inodes[i].now = disk->inodes[i].synced = (struct bytes){0};
		set_bytes(&disk->inodes[i].now, base.inodes[i].now.data, base.inodes[i].now.n);
		set_bytes(&disk->inodes[i].synced, base.inodes[i].now.data, base.inodes[i].now.n);
	}
	return disk;
}

void powercut_build(size_t n, struct powercut_variant variant, const char *folder)
{
	struct disk *disk = copy_base();
	for (size_t i = 0; i < n; i++)
		replay(disk, &calls[i]);
	if (variant.names == POWERCUT_NAMES_KEPT)
		disk->synced = disk->now;
	if (variant.names == POWERCUT_NAMES_LAST && disk->n_pending > 0)
		change_names(&disk->synced, disk->pending[disk->n_pending - 1].call);
	make_tree(disk, &disk->synced, variant.data, folder);
	for (int i = 0; i < MAX_INODES; i++) {
		free(disk->inodes[i].now.data);
		free(disk->inodes[i].synced.data);
	}
	free(disk);
}
