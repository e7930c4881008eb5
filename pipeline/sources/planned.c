// SPDX-License-Identifier: Apache-2.0
// Sources that are built by their plan, and what network sources need besides.
#include <errno.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "pipeline/sources/build.h"
#include "pipeline/sources/plan.h"

#define PK_PASSWORD_MAX      255
#define PK_PASSWORD_FILE_MAX 4096

int pk_graph_read_password(const char *path, char **out, struct pk_err *err)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, PK_PASSWORD_FILE_MAX + 1);
	int r = pk_fs_read(path, PK_PASSWORD_FILE_MAX, &text, NULL);
	if (r < 0)
		return pk_fail(err, r, "password_file %s: %s", path, strerror(-r));
	const char *line = pk_buf_cstr(&text);
	size_t n = strcspn(line, "\r\n");
	if (n == 0 || n > PK_PASSWORD_MAX)
		return pk_fail(err, -EINVAL,
			"password_file %s: the first line must have 1 to %d bytes", path,
			PK_PASSWORD_MAX);
	*out = strndup(line, n);
	explicit_bzero(text.data, text.len);
	return *out ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

static bool pk_graph_has(GstElement *element, const char *property)
{
	return g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) != NULL;
}

static int pk_graph_set_ca(GstElement *element, const char *path, struct pk_err *err)
{
	if (access(path, R_OK) < 0)
		return pk_fail_errno(err, "tls_ca %s", path);
	if (pk_graph_has(element, "ssl-ca-file")) {
		g_object_set(element, "ssl-ca-file", path, NULL);
		return 0;
	}
	GError *error = NULL;
	GTlsDatabase *database = g_tls_file_database_new(path, &error);
	if (!database) {
		int r = pk_fail(err, -EINVAL, "tls_ca %s: %s", path, error->message);
		g_clear_error(&error);
		return r;
	}
	g_object_set(element, "tls-database", database, NULL);
	g_object_unref(database);
	return 0;
}

static void pk_graph_trust_anyone(GstElement *element)
{
	if (pk_graph_has(element, "ssl-strict"))
		g_object_set(element, "ssl-strict", FALSE, NULL);
	if (pk_graph_has(element, "tls-validation-flags"))
		g_object_set(element, "tls-validation-flags", 0, NULL);
}

int pk_graph_set_access(
	GstElement *element, const struct pk_source_config *config, struct pk_err *err)
{
	if (config->user && *config->user)
		g_object_set(element, "user-id", config->user, NULL);
	if (config->password_file && *config->password_file) {
		char *password = NULL;
		int r = pk_graph_read_password(config->password_file, &password, err);
		if (r < 0)
			return r;
		g_object_set(element, "user-pw", password, NULL);
		explicit_bzero(password, strlen(password));
		free(password);
	}
	if (!config->tls_verify)
		pk_graph_trust_anyone(element);
	return config->tls_ca && *config->tls_ca ? pk_graph_set_ca(element, config->tls_ca, err)
						 : 0;
}

// What can be said before the driver is asked, in words that name the path.
static int pk_graph_check_device(const struct pk_source_config *config, struct pk_err *err)
{
	if (config->kind == PK_SOURCE_V4L2 && access(config->device, R_OK | W_OK) < 0)
		return pk_fail(err, -errno, "%s", strerror(errno));
	return 0;
}

static int pk_graph_finish_plan(const struct pk_graph_build *build,
	const struct pk_source_plan *plan, GstElement *bin, struct pk_err *err)
{
	GstElement *source = gst_bin_get_by_name(GST_BIN(bin), "picket-src");
	int r = 0;
	if (plan->property)
		g_object_set(source, plan->property, plan->value, NULL);
	if (build->config->kind == PK_SOURCE_HTTP)
		r = pk_graph_set_access(source, build->config, err);
	gst_object_unref(source);
	if (r == 0 && !gst_element_link(bin, build->tail))
		r = pk_fail(err, -EINVAL, "cannot be connected to the picture's reader");
	return r;
}

int pk_graph_planned(const struct pk_graph_build *build, struct pk_err *err)
{
	struct pk_source_plan plan;
	int r = pk_source_plan(build->config, build->elements, &plan, err);
	if (r == 0)
		r = pk_graph_check_device(build->config, err);
	if (r < 0)
		return r;
	GstElement *bin = pk_graph_add_text(build->pipeline, plan.text, "its elements", err);
	return bin ? pk_graph_finish_plan(build, &plan, bin, err) : -ENOENT;
}
