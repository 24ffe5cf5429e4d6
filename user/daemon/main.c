// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlaned: options, one instance, signals and the event loop. What it does begins in sync.c.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "../loader/arena.h"
#include "daemon.h"

#define EXIT_USAGE 2

static const char usage_text[] =
	"Usage: sixlaned [OPTION...] [PORT...]\n"
	"Keep sixlane's maps equal to the kernel's IPv6 routes, and attach to the PORTs.\n"
	"sixlaned also serves ports that 'ip link', xdp-loader or 'sixlane attach' loaded.\n"
	"It serves a PORT that does not exist yet when a device gets that name.\n"
	"\n"
	"  -c, --config FILE      settings (default: " CONFIG_DEFAULT_FILE ", if it exists)\n"
	"  -m, --mode MODE        how to attach: native (default), generic or dispatcher\n"
	"  -l, --log-level LEVEL  error, warning, info (default) or debug\n"
	"  -o, --object FILE      the XDP object to load\n"
	"  -t, --teardown         at exit detach all ports and remove the maps;\n"
	"                         without it the ports continue to forward\n"
	"      --max-routes N     limit of entries in the LPM trie\n"
	"      --rcvbuf BYTES     receive buffer for route notifications\n"
	"      --poll-ms N        interval for reading settings that the kernel does not announce\n"
	"      --fib INDEX        index that answers lookups: compiled (default) or trie\n"
	"      --audit-permille N thousandths of a CPU for comparing with the kernel's tables;\n"
	"                         0: never\n"
	"      --exceptions MODE  use of learned Path MTUs and redirects: kernel (default),\n"
	"                         always or observe\n"
	"      --max-exceptions N limit of exceptions\n"
	"      --answer-rate N    Packet Too Big from XDP, a second and CPU; 0: no limit\n"
	"      --answer-too-big   send it from XDP also for the MTU of a route or device\n"
	"      --assume-ndo-xmit PORT\n"
	"                         PORT accepts redirected frames (kernels before 6.3, veth)\n"
	"      --pass-port PORT   pass every packet of PORT to the kernel\n"
	"      --bypass CAUSE     forward past netfilter, xfrm or tc, which see no packets\n"
	"      --pass-all         pass every packet to the kernel\n"
	"  -h, --help             show this text\n"
	"  -V, --version          show version, ABI of the maps, compiler of the object\n"
	"\n"
	"Exit status: 0 after SIGTERM or SIGINT, 1 on failure, 2 on wrong usage.\n";

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "mode", required_argument, NULL, 'm' },
	{ "log-level", required_argument, NULL, 'l' },
	{ "object", required_argument, NULL, 'o' },
	{ "teardown", no_argument, NULL, 't' },
	{ "max-routes", required_argument, NULL, 'R' },
	{ "rcvbuf", required_argument, NULL, 'B' },
	{ "poll-ms", required_argument, NULL, 'P' },
	{ "fib", required_argument, NULL, 'F' },
	{ "audit-permille", required_argument, NULL, 'A' },
	/* was another setting, and is not to be taken for a prefix of the one above */
	{ "audit", required_argument, NULL, 'u' },
	{ "exceptions", required_argument, NULL, 'E' },
	{ "max-exceptions", required_argument, NULL, 'M' },
	{ "answer-rate", required_argument, NULL, 'r' },
	{ "answer-too-big", no_argument, NULL, 'b' },
	{ "assume-ndo-xmit", required_argument, NULL, 'X' },
	{ "pass-port", required_argument, NULL, 'p' },
	{ "bypass", required_argument, NULL, 'y' },
	{ "pass-all", no_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

/* The setting that an option sets: its long name, with _ for -. False: it is none of these. */
static bool setting_of(int option, char name[32])
{
	const struct option *at = options;

	while (at->name && at->val != option)
		at++;
	if (!at->name || strchr("chVu", option))
		return false;
	snprintf(name, 32, "%s%s", at->name, option == 'p' ? "s" : "");
	for (char *dash = name; (dash = strchr(dash, '-'));)
		*dash = '_';
	return true;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, struct config *config)
{
	char err[CONFIG_ERR];
	int option;

	while ((option = getopt_long(argc, argv, "c:m:l:o:thV", options, NULL)) != -1) {
		char setting[32];

		if (option == 'h') {
			fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		}
		if (option == 'V') {
			printf("sixlaned %s, map ABI %u, %s\n", SIXLANE_VERSION, SIXLANE_ABI,
			       loader_version(config->object));
			return EXIT_SUCCESS;
		}
		if (option == 'c')
			continue;
		if (option == 'u')
			log_error("--audit is no option any more: see --audit-permille");
		if (!setting_of(option, setting)) {
			fprintf(stderr, "Try 'sixlaned --help'.\n");
			return EXIT_USAGE;
		}
		if (config_set(config, setting, optarg, err)) {
			log_error("%s", err);
			return EXIT_USAGE;
		}
	}
	for (; optind < argc; optind++) {
		if (config_set(config, "ports", argv[optind], err)) {
			log_error("%s", err);
			return EXIT_USAGE;
		}
	}
	return -1;
}

/* The file is read before the other options, wherever it stands among them. */
static const char *find_config_option(int argc, char **argv, bool *only_print)
{
	const char *path = NULL;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "c:m:l:o:thV", options, NULL)) != -1) {
		if (option == 'c')
			path = optarg;
		*only_print |= option == 'h' || option == 'V';
	}
	opterr = 1;
	optind = 1;
	return path;
}

static int configure(int argc, char **argv, struct config *config)
{
	bool only_print = false;
	const char *path = find_config_option(argc, argv, &only_print);
	char err[CONFIG_ERR];
	int ret;

	config_defaults(config);
	if (only_print)
		return read_options(argc, argv, config);
	ret = config_load(path ? path : CONFIG_DEFAULT_FILE, config, err);
	if (ret && (path || ret != -ENOENT)) {
		log_error("%s", err);
		return EXIT_FAILURE;
	}
	return read_options(argc, argv, config);
}

static int open_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int serve(struct sync *sync, int signal_fd)
{
	struct pollfd fds[1 + SYNC_FDS] = { { .fd = signal_fd, .events = POLLIN } };
	int sync_fd[SYNC_FDS];

	for (;;) {
		int timeout_ms = sync_run(sync);

		sync_fds(sync, sync_fd);
		for (size_t i = 0; i < SYNC_FDS; i++)
			fds[1 + i] = (struct pollfd){ .fd = sync_fd[i], .events = POLLIN };
		if (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents)
			return 0;
	}
}

static int run_with_maps(const struct config *config, const struct loader_maps *fds)
{
	_cleanup_close_ int signal_fd = open_signals();
	char err[LOADER_ERR];
	struct sync *sync;
	struct maps maps;
	int ret;

	if (signal_fd < 0) {
		log_error("cannot watch signals: %s", strerror(-signal_fd));
		return signal_fd;
	}
	ret = maps_open(&maps, fds, true);
	if (ret) {
		log_error("cannot map %s: %s%s", loader_pin_dir(), strerror(-ret),
			  loader_arena_advice(fds, ret));
		return ret;
	}
	maps.meta->abi = SIXLANE_ABI;
	maps.meta->fib_memory = maps.arena ? SIXLANE_FIB_IN_ARENA : SIXLANE_FIB_IN_ARRAYS;
	/* from now on the CLI changes it */
	__atomic_store_n(&maps.fib_head->engine, config->fib, __ATOMIC_RELAXED);
	ret = daemon_new(config, &maps, fds, &sync, err);
	if (ret) {
		log_error("%s", err);
	} else {
		ret = serve(sync, signal_fd);
		if (ret)
			log_error("cannot wait for events: %s", strerror(-ret));
		else
			log_info("stopping; the ports %s",
				 config->teardown ? "are detached" : "go on forwarding");
		if (config->teardown && daemon_teardown(sync))
			ret = -EIO;
		daemon_free(sync);
	}
	maps_close(&maps);
	return ret;
}

static int run(const struct config *config)
{
	struct loader_maps fds;
	char err[LOADER_ERR];
	_cleanup_close_ int lock = -1;
	bool had_pins;
	int ret;

	lock = loader_lock(err);
	if (lock < 0) {
		log_error("%s", err);
		return lock;
	}
	had_pins = loader_have_pins();
	ret = loader_make_maps(config->object, &fds, err);
	if (ret) {
		log_error("%s", err);
		return ret;
	}
	ret = loader_arena_reconcile(config->object, &fds, err);
	if (ret)
		log_error("%s", err);
	else
		ret = run_with_maps(config, &fds);
	loader_close_maps(&fds);
	/* a start that failed leaves no pins where there were none */
	if (ret && !had_pins && loader_unpin(err))
		log_error("%s", err);
	return ret;
}

int main(int argc, char **argv)
{
	struct config config;
	int status;

	/* the end of whoever reads the log must not end the daemon */
	signal(SIGPIPE, SIG_IGN);
	log_init("sixlaned", LOG_INFO);
	status = configure(argc, argv, &config);
	if (status >= 0)
		return status;
	log_init("sixlaned", config.log_level);
	return run(&config) ? EXIT_FAILURE : EXIT_SUCCESS;
}
