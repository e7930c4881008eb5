// SPDX-License-Identifier: Apache-2.0
// picketd: reads its options and its config, then runs the control plane.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "config/config.h"
#include "daemon/config_trial.h"
#include "daemon/daemon.h"
#include "daemon/paths.h"

#define EXIT_CONFIG 2

static const char usage[] =
	"usage: picketd [OPTIONS]\n"
	"\n"
	"Runs vision models on cameras. Stops on SIGTERM or SIGINT, reads its config again on\n"
	"SIGHUP.\n"
	"\n"
	"  --root DIR      moves every path below DIR (or PICKET_ROOT)\n"
	"  --config FILE   instead of ROOT/etc/picket/picket.yaml; picket.d beside it is read too\n"
	"  --libexec DIR   where picket-worker and picket-build are (or PICKET_LIBEXEC)\n"
	"  --check         checks the config, prints every mistake and ends\n"
	"  --debug         logs more\n"
	"  --version, --help\n"
	"\n"
	"Exit code: 0 ended as told, 1 failed, 2 mistakes in the config or the options.\n";

struct options {
	const char *root, *config, *libexec;
	bool check, debug, version, help;
};

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{"root", required_argument, NULL, 'r'},
		{"config", required_argument, NULL, 'c'},
		{"libexec", required_argument, NULL, 'l'},
		{"check", no_argument, NULL, 'k'},
		{"debug", no_argument, NULL, 'd'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	*out = (struct options){.root = getenv("PICKET_ROOT")};
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'r':
			out->root = optarg;
			break;
		case 'c':
			out->config = optarg;
			break;
		case 'l':
			out->libexec = optarg;
			break;
		case 'k':
			out->check = true;
			break;
		case 'd':
			out->debug = true;
			break;
		case 'v':
			out->version = true;
			break;
		case 'h':
			out->help = true;
			break;
		default:
			return -EINVAL;
		}
	}
	return optind == argc ? 0 : -EINVAL;
}

static int load_config(const struct pk_paths *paths, struct pk_config **config)
{
	struct pk_problems problems = {0};
	int r = pk_config_load(paths->config, paths->drop_ins, config, &problems);
	if (r < 0 && problems.n == 0)
		pk_problems_add(&problems, paths->config, 0, 0, "%s", strerror(-r));
	pk_problems_print(&problems, stderr);
	pk_problems_finish(&problems);
	return r < 0 ? EXIT_CONFIG : 0;
}

// One picketd per root: the lock goes with the process.
static int lock_root(const struct pk_paths *paths, struct pk_err *err)
{
	pk_auto_free char *path = NULL;
	if (asprintf(&path, "%s/picketd.lock", paths->run) < 0) {
		path = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return pk_fail_errno(err, "%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0; // held open on purpose until the process ends
	int r = pk_fail(err, -errno, "%s: another picketd runs on this root", path);
	close(fd);
	return r;
}

static int run(const struct pk_paths *paths, struct pk_config *config, struct pk_err *err)
{
	pk_auto(pk_daemon) daemon = NULL;
	int r = pk_daemon_create(paths, config, &daemon, err);
	return r < 0 ? r : pk_daemon_run(daemon, err);
}

// Alone on this root before anything of it is changed.
static int take_root(const struct pk_paths *paths, struct pk_err *err)
{
	int r = pk_paths_make(paths, err);
	if (r == 0)
		r = lock_root(paths, err);
	if (r == 0 && pk_config_trial_end_overdue(paths))
		pk_log_warning("the config was on trial and nobody confirmed it: the one before is "
			       "back");
	return r;
}

static int run_with(const struct options *options, const struct pk_paths *paths)
{
	struct pk_err err = {0};
	struct pk_config *config = NULL;
	int r = options->check ? 0 : take_root(paths, &err);
	if (r < 0) {
		pk_log_err("picketd: %s", pk_err_text(&err, r));
		return EXIT_FAILURE;
	}
	int code = load_config(paths, &config);
	if (code != 0)
		return code;
	if (options->check) {
		printf("%s: no mistakes\n", paths->config);
		pk_config_destroy(config);
		return EXIT_SUCCESS;
	}
	r = run(paths, config, &err);
	if (r < 0)
		pk_log_err("picketd: %s", pk_err_text(&err, r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options options;
	struct pk_err err = {0};
	struct pk_paths paths = {0};
	if (parse_options(argc, argv, &options) < 0) {
		fputs("picketd: see picketd --help\n", stderr);
		return EXIT_CONFIG;
	}
	if (options.help || options.version) {
		fputs(options.help ? usage : "picketd " PICKET_VERSION "\n", stdout);
		return EXIT_SUCCESS;
	}
	mallopt(M_ARENA_MAX, 1); // few threads, little to do: one heap is enough
	pk_log_init("picketd", options.debug ? PK_LOG_DEBUG : PK_LOG_INFO);
	int code = EXIT_FAILURE;
	int r = pk_paths_init(&paths, options.root, options.config, options.libexec, &err);
	if (r < 0)
		pk_log_err("picketd: %s", pk_err_text(&err, r));
	else
		code = run_with(&options, &paths);
	pk_paths_finish(&paths);
	return code;
}
