// SPDX-License-Identifier: Apache-2.0
// From a name or an address to a configuration with that camera.
#include "cli/camera_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cli/cmd.h"
#include "config/config.h"

#define TARGET_NAME     "test"
#define TARGET_MAX_TEXT 16384

// Beginnings of addresses, and the source that they mean. key: what gets the text behind `skip`
// bytes.
static const struct {
	const char *prefix, *kind, *key;
	size_t skip;
	bool remote;
} addresses[] = {
	{"rtsp://", "rtsp", "uri", 0, true},
	{"rtsps://", "rtsp", "uri", 0, true},
	{"http://", "http", "uri", 0, true},
	{"https://", "http", "uri", 0, true},
	{"/dev/", "v4l2", "device", 0, false},
	{"csi:", "csi", "sensor_id", 4, false},
};

static void add_key(struct pk_buf *out, const char *key, const char *value)
{
	pk_buf_printf(out, ", %s: ", key);
	pk_buf_json_string(out, value); // is YAML too
}

static void add_access(const struct pk_camera_target *target, const char *kind, struct pk_buf *out)
{
	if (target->user)
		add_key(out, "user", target->user);
	if (target->password_file)
		add_key(out, "password_file", target->password_file);
	if (target->insecure)
		pk_buf_str(out, ", tls_verify: false");
	if (target->udp && strcmp(kind, "rtsp") == 0)
		pk_buf_str(out, ", tcp: false");
}

static bool add_address(const struct pk_camera_target *target, struct pk_buf *out)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(addresses); i++) {
		if (strncmp(target->text, addresses[i].prefix, strlen(addresses[i].prefix)) != 0)
			continue;
		const char *value = target->text + addresses[i].skip;
		pk_buf_printf(out, "kind: %s", addresses[i].kind);
		if (strcmp(addresses[i].key, "sensor_id") == 0)
			pk_buf_printf(out, ", sensor_id: %s", value);
		else
			add_key(out, addresses[i].key, value);
		if (addresses[i].remote)
			add_access(target, addresses[i].kind, out);
		return true;
	}
	return false;
}

static bool is_picture(const char *path)
{
	static const char *const ends[] = {".jpg", ".jpeg", ".png"};
	size_t n = strlen(path);
	for (size_t i = 0; i < PK_ARRAY_LEN(ends); i++)
		if (n > strlen(ends[i]) && strcasecmp(path + n - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

// The inside of `source: {…}`; false: the text is no address, so it must be a name.
static bool add_source(const struct pk_camera_target *target, struct pk_buf *out)
{
	struct stat st;
	const char *text = target->text;
	if (add_address(target, out))
		return true;
	bool there = stat(text, &st) == 0;
	if (!there && !strchr(text, '/') && !strchr(text, '.')) {
		if (strcmp(text, "test") != 0)
			return false;
		pk_buf_str(out, "kind: test");
		return true;
	}
	bool images = is_picture(text) || (there && S_ISDIR(st.st_mode));
	pk_buf_printf(out, "kind: %s, loop: true", images ? "images" : "file");
	add_key(out, "uri", text);
	return true;
}

static int load_node(struct pk_config **out, struct pk_problems *problems)
{
	const char *root = *pk_cli_root() ? pk_cli_root() : "/";
	pk_auto_free char *main_path = pk_fs_join(root, "etc/picket/picket.yaml");
	pk_auto_free char *drop_in = pk_fs_join(root, "etc/picket/picket.d");
	return main_path && drop_in ? pk_config_load(main_path, drop_in, out, problems) : -ENOMEM;
}

static int parse_address(
	struct pk_buf *source, struct pk_config **out, struct pk_problems *problems)
{
	pk_auto_buf struct pk_buf text;
	pk_auto_free char *here = realpath(".", NULL);
	pk_buf_init(&text, TARGET_MAX_TEXT);
	pk_buf_printf(&text,
		"models: {" TARGET_NAME ": {artifact: 'oci:/none:none'}}\n"
		"cameras: {" TARGET_NAME ": {model: " TARGET_NAME ", source: {%s}}}\n",
		pk_buf_cstr(source));
	if (!here || pk_buf_error(&text) < 0)
		return -ENOMEM;
	return pk_config_parse(pk_buf_cstr(&text), text.len, "address", here, out, problems);
}

int pk_camera_target_config(const struct pk_camera_target *target, char **config, char **camera,
	struct pk_problems *problems, struct pk_err *err)
{
	pk_auto(pk_config) loaded = NULL;
	pk_auto_buf struct pk_buf source;
	pk_buf_init(&source, TARGET_MAX_TEXT / 2);
	bool address = add_source(target, &source);
	if (pk_buf_error(&source) < 0)
		return pk_fail(err, -EINVAL, "the address is too long");
	int r = address ? parse_address(&source, &loaded, problems) : load_node(&loaded, problems);
	if (r < 0)
		return pk_fail(err, r, "config: %s", strerror(-r));
	const char *name = address ? TARGET_NAME : target->text;
	if (!pk_config_camera(loaded, name))
		return pk_fail(err, -ENOENT,
			"`%s` is no camera of the config, and no address: rtsp://…, http://…, "
			"/dev/video0, csi:0, a path or test",
			name);
	*camera = strdup(name);
	*config = pk_config_dump(loaded);
	return *camera && *config ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}
