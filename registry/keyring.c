// SPDX-License-Identifier: Apache-2.0
// The set of keys that a node trusts, each once, with what it may sign.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/fs.h"
#include "registry/key.h"

void pk_keyring_finish(struct pk_keyring *ring)
{
	for (size_t i = 0; i < ring->n; i++) {
		pk_key_destroy(ring->keys[i].key);
		free(ring->keys[i].path);
	}
	free(ring->keys);
	*ring = (struct pk_keyring){0};
}

static struct pk_trusted_key *find(const struct pk_keyring *ring, const char *id)
{
	for (size_t i = 0; i < ring->n; i++)
		if (strcmp(pk_key_id(ring->keys[i].key), id) == 0)
			return &ring->keys[i];
	return NULL;
}

// The earlier of two ends, of which 0 is none.
static int64_t earlier(int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return a ? a : b;
	return PK_MIN(a, b);
}

static void narrow(struct pk_key_rules *rules, const struct pk_key_rules *by)
{
	rules->revoked |= by->revoked;
	rules->seq_min = PK_MAX(rules->seq_min, by->seq_min);
	rules->seq_max = earlier(rules->seq_max, by->seq_max);
	rules->not_before_s = PK_MAX(rules->not_before_s, by->not_before_s);
	rules->not_after_s = earlier(rules->not_after_s, by->not_after_s);
}

static int append(struct pk_keyring *ring, struct pk_key *key, const char *path,
	const struct pk_key_rules *rules, struct pk_err *err)
{
	if (ring->n >= PK_KEYRING_MAX)
		return pk_fail(err, -EFBIG, "more than %d keys", PK_KEYRING_MAX);
	char *copy = strdup(path);
	struct pk_trusted_key *added =
		copy ? pk_array_push_impl(&ring->keys, &ring->n, &ring->cap, sizeof(*ring->keys))
		     : NULL;
	if (!added) {
		free(copy);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	*added = (struct pk_trusted_key){.key = key, .path = copy, .rules = *rules};
	return 0;
}

static int add_file(struct pk_keyring *ring, const char *path, const struct pk_key_rules *rules,
	struct pk_err *err)
{
	pk_auto(pk_key) key = NULL;
	int rc = pk_key_load(path, &key, err);
	if (rc < 0)
		return rc;
	struct pk_trusted_key *known = find(ring, pk_key_id(key));
	if (known) {
		narrow(&known->rules, rules);
		return 0;
	}
	rc = append(ring, key, path, rules, err);
	if (rc == 0)
		key = NULL;
	return rc;
}

static bool is_pem(const char *name)
{
	size_t n = strlen(name);
	return name[0] != '.' && n > 4 && strcmp(name + n - 4, ".pem") == 0;
}

static int add_entry(struct pk_keyring *ring, const char *folder, const char *name,
	const struct pk_key_rules *rules, struct pk_err *err)
{
	pk_auto_free char *path = pk_fs_join(folder, name);
	return path ? add_file(ring, path, rules, err) : pk_fail(err, -ENOMEM, "out of memory");
}

static int add_folder(struct pk_keyring *ring, const char *folder, const struct pk_key_rules *rules,
	struct pk_err *err)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return pk_fail_errno(err, "%s", folder);
	int rc = 0;
	size_t n_found = 0;
	const struct dirent *entry;
	while (rc == 0 && (entry = readdir(dir))) {
		if (!is_pem(entry->d_name))
			continue;
		n_found++;
		rc = add_entry(ring, folder, entry->d_name, rules, err);
	}
	closedir(dir);
	if (rc == 0 && n_found == 0)
		return pk_fail(err, -ENOENT, "%s: no *.pem in it", folder);
	return rc;
}

int pk_keyring_add(struct pk_keyring *ring, const char *path, const struct pk_key_rules *rules,
	struct pk_err *err)
{
	static const struct pk_key_rules none;
	struct stat st;
	if (stat(path, &st) < 0)
		return pk_fail_errno(err, "%s", path);
	return S_ISDIR(st.st_mode) ? add_folder(ring, path, rules ? rules : &none, err)
				   : add_file(ring, path, rules ? rules : &none, err);
}

int pk_keyring_limit(struct pk_keyring *ring, const char *id, const struct pk_key_rules *rules,
	struct pk_err *err)
{
	struct pk_trusted_key *key = find(ring, id);
	if (!key)
		return pk_fail(err, -ENOENT, "no key %.64s", id);
	narrow(&key->rules, rules);
	return 0;
}

int pk_keyring_revoke(struct pk_keyring *ring, const char *id, struct pk_err *err)
{
	struct pk_trusted_key *key = find(ring, id);
	if (!key)
		return pk_fail(err, -ENOENT, "no key %.64s", id);
	key->rules.revoked = true;
	return 0;
}
