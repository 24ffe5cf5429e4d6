// SPDX-License-Identifier: GPL-2.0-only
/* See daemon.h. */
#include "daemon.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../cli/fib.h"
#include "memory.h"
#include "progress.h"

/* Many times what it takes, also where a machine is emulated: so long, and for each 10,000 routes
 * a second more. */
#define SYNC_S 60u
#define QUIT_S 60u
#define POLL_MS 5
/* As measured with a million of them: of the kernel's table, sixlaned, two tries and the rest. */
#define BYTES_OF_ROUTE 1500u

static int find_program(char *path, size_t size)
{
	/* where it is built, and where it is installed beside a bin of another name */
	if (!bench_find_file("sixlaned", path, size) ||
	    !bench_find_file("../sbin/sixlaned", path, size))
		return 0;
	return bench_bad(-ENOENT, "there is no sixlaned beside this command, nor in ../sbin");
}

/* In the child. It gets no Ctrl-C of the terminal's: that is the parent's to act on. */
static _Noreturn void run(const char *path, const struct bench_daemon_want *want, pid_t parent)
{
	const char *argv[16] = { "sixlaned", "-c", "/dev/null", "-l", "warning", "-m", "native" };
	size_t n = 7;
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(want->ports); i++) {
		if (want->assume_xmit) {
			argv[n++] = "--assume-ndo-xmit";
			argv[n++] = want->ports[i];
		}
		argv[n++] = want->ports[i];
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	/* the parent may have ended before it was asked for this signal */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	/* standard output is for results */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv(path, (char *const *)argv);
	dprintf(STDERR_FILENO, "sixlane: error: %s: %s\n", path, strerror(errno));
	_exit(1);
}

static int start(const struct bench_daemon_want *want, struct bench_daemon *daemon)
{
	char path[PATH_MAX];
	pid_t parent = getpid();
	int ret = find_program(path, sizeof(path));

	if (ret)
		return ret;
	daemon->pid = fork();
	if (daemon->pid < 0) {
		daemon->pid = 0;
		return bench_fail(-errno, "cannot start sixlaned");
	}
	if (!daemon->pid)
		run(path, want, parent);
	return 0;
}

int bench_daemon_check(struct bench_daemon *daemon)
{
	int status;

	if (!daemon->pid || waitpid(daemon->pid, &status, WNOHANG) != daemon->pid)
		return 0;
	daemon->pid = 0;
	if (WIFSIGNALED(status))
		return bench_bad(-ECHILD, "sixlaned was ended by signal %d%s", WTERMSIG(status),
				 WTERMSIG(status) == SIGKILL ? ": not enough memory?" : "");
	return bench_bad(-ECHILD, "sixlaned ended with status %d; why is said above",
			 WEXITSTATUS(status));
}

static void close_maps(struct bench_daemon *daemon)
{
	maps_close(&daemon->maps);
	loader_close_maps(&daemon->fds);
	daemon->has_maps = false;
}

static bool open_maps(struct bench_daemon *daemon)
{
	char err[LOADER_ERR];

	if (loader_open_maps(&daemon->fds, false, err))
		return false;
	if (maps_open(&daemon->maps, &daemon->fds, true)) {
		loader_close_maps(&daemon->fds);
		return false;
	}
	daemon->has_maps = true;
	return true;
}

/* What an earlier daemon has left, and says of itself, is not this one's. */
static void read_generation(struct bench_daemon *daemon)
{
	if (open_maps(daemon)) {
		daemon->generation = daemon->maps.meta->generation;
		close_maps(daemon);
	}
}

/* Whether there are maps, which are the kernel's tables by now; they are open then. */
static bool in_sync(struct bench_daemon *daemon)
{
	const struct sixlane_meta *meta;

	if (!open_maps(daemon))
		return false;
	meta = daemon->maps.meta;
	if (meta->generation != daemon->generation) {
		daemon->has_failed = meta->fib_failures;
		if (meta->flags & SIXLANE_META_IN_SYNC)
			return true;
	}
	close_maps(daemon);
	return false;
}

static bool is_compiled(struct bench_daemon *daemon)
{
	daemon->has_failed = daemon->maps.meta->fib_failures;
	return daemon->maps.meta->fib_builds && !fib_why_absent(&daemon->maps, true);
}

static int wait_for(struct bench_daemon *daemon, const char *what, unsigned int most_s,
		    bool (*is_so)(struct bench_daemon *daemon))
{
	uint64_t deadline = util_now_ns() + most_s * 1000000000ull;
	int ret;

	for (;;) {
		ret = bench_daemon_check(daemon);
		if (ret)
			return ret;
		if (is_so(daemon))
			return 0;
		if (bench_interrupted())
			return -EINTR;
		if (daemon->has_failed)
			return bench_bad(-ENOMEM, "sixlaned could not build its compiled FIB: not "
						  "enough memory, as it says above");
		if (util_now_ns() > deadline)
			return bench_bad(-ETIMEDOUT,
					 "sixlaned: not %s within %u s; if it says above that "
					 "there is no memory, choose a smaller table",
					 what, most_s);
		poll(NULL, 0, POLL_MS);
	}
}

int bench_daemon_check_memory(const struct bench_table *table)
{
	char what[128];

	snprintf(what, sizeof(what), "table %s: its routes", table->name);
	return bench_memory_check(what, "the kernel, sixlaned and the maps",
				  (uint64_t)table->n * BYTES_OF_ROUTE);
}

int bench_daemon_start(const struct bench_daemon_want *want, struct bench_daemon *out)
{
	unsigned int most_s = SYNC_S + (unsigned int)(want->routes / 10000);
	struct bench_daemon daemon = { .pid = 0 };
	int ret;

	read_generation(&daemon);
	ret = start(want, &daemon) ?: wait_for(&daemon, "in sync", most_s, in_sync)
					    ?: wait_for(&daemon, "with a compiled FIB", most_s, is_compiled);

	if (ret)
		bench_daemon_end(&daemon);
	else
		*out = daemon;
	return ret;
}

int bench_daemon_quit(struct bench_daemon *daemon)
{
	uint64_t deadline = util_now_ns() + QUIT_S * 1000000000ull;

	kill(daemon->pid, SIGTERM);
	while (waitpid(daemon->pid, NULL, WNOHANG) != daemon->pid) {
		if (util_now_ns() > deadline)
			return bench_bad(-ETIMEDOUT, "sixlaned has not ended within %u s", QUIT_S);
		poll(NULL, 0, POLL_MS);
	}
	daemon->pid = 0;
	bench_daemon_end(daemon);
	return 0;
}

void bench_daemon_end(struct bench_daemon *daemon)
{
	if (daemon->pid) {
		/* what it leaves goes with its namespaces */
		kill(daemon->pid, SIGKILL);
		waitpid(daemon->pid, NULL, 0);
	}
	if (daemon->has_maps)
		close_maps(daemon);
	*daemon = (struct bench_daemon){ .pid = 0 };
}

bool bench_daemon_answers(const struct bench_daemon *daemon, uint32_t engine)
{
	const char *wanted = engine == SIXLANE_ENGINE_COMPILED ? "compiled" : "trie";

	return !strcmp(fib_answers(&daemon->maps), wanted);
}

int bench_daemon_choose(struct bench_daemon *daemon, uint32_t engine)
{
	__atomic_store_n(&daemon->maps.fib_head->engine, engine, __ATOMIC_RELAXED);
	if (!bench_daemon_answers(daemon, engine))
		return bench_bad(-EPROTO, "the compiled FIB is gone: not enough memory?");
	return 0;
}

void bench_daemon_stop(struct bench_daemon *daemon)
{
	kill(daemon->pid, SIGSTOP);
	waitpid(daemon->pid, NULL, WUNTRACED);
}
