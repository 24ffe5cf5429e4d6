// SPDX-License-Identifier: GPL-2.0-only
/* See forward_daemon.h. */
#include "forward_daemon.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../cmd_fib.h"
#include "progress.h"

/* Many times what it takes, also where a machine is emulated: so long, and for each 10,000 routes
 * a second more. */
#define SYNC_S 60u
#define POLL_MS 5

static int find_program(char *path, size_t size)
{
	/* where it is built, and where it is installed beside a bin of another name */
	if (!bench_find_file("sixlaned", path, size) ||
	    !bench_find_file("../sbin/sixlaned", path, size))
		return 0;
	return bench_bad(-ENOENT, "there is no sixlaned beside this command, nor in ../sbin");
}

/* In the child. It gets no Ctrl-C of the terminal's: that is the parent's to act on. */
static void run(const char *path, pid_t parent)
{
	char *const argv[] = {
		(char *)"sixlaned",  (char *)"-c",
		(char *)"/dev/null", (char *)"-l",
		(char *)"warning",   (char *)"-m",
		(char *)"native",    (char *)"--assume-xmit",
		(char *)"p0",	     (char *)"--assume-xmit",
		(char *)"p1",	     (char *)"p0",
		(char *)"p1",	     NULL,
	};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	/* the parent may have ended before it was asked for this signal */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	/* standard output is for results */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv(path, argv);
	dprintf(STDERR_FILENO, "sixlane: error: %s: %s\n", path, strerror(errno));
	_exit(1);
}

static int start(struct forward_daemon *daemon)
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
		run(path, parent);
	return 0;
}

/* 0: it runs. */
static int check_alive(struct forward_daemon *daemon)
{
	int status;

	if (waitpid(daemon->pid, &status, WNOHANG) != daemon->pid)
		return 0;
	daemon->pid = 0;
	if (WIFSIGNALED(status))
		return bench_bad(-ECHILD, "sixlaned was ended by signal %d%s", WTERMSIG(status),
				 WTERMSIG(status) == SIGKILL ? ": not enough memory?" : "");
	return bench_bad(-ECHILD, "sixlaned ended with status %d; why is said above",
			 WEXITSTATUS(status));
}

static void close_maps(struct forward_daemon *daemon)
{
	maps_close(&daemon->maps);
	loader_close_maps(&daemon->fds);
	daemon->has_maps = false;
}

/* Whether there are maps, which are the kernel's tables by now; they are open then. */
static bool in_sync(struct forward_daemon *daemon)
{
	char err[LOADER_ERR];

	if (loader_open_maps(&daemon->fds, false, err))
		return false;
	if (maps_open(&daemon->maps, &daemon->fds, true)) {
		loader_close_maps(&daemon->fds);
		return false;
	}
	daemon->has_maps = true;
	daemon->has_failed = daemon->maps.meta->fib_failures;
	if (daemon->maps.meta->flags & SIXLANE_META_IN_SYNC)
		return true;
	close_maps(daemon);
	return false;
}

static bool is_compiled(struct forward_daemon *daemon)
{
	daemon->has_failed = daemon->maps.meta->fib_failures;
	return !fib_why_absent(&daemon->maps, true);
}

static int wait_for(struct forward_daemon *daemon, const char *what, unsigned int most_s,
		    bool (*is_so)(struct forward_daemon *daemon))
{
	uint64_t deadline = util_now_ns() + most_s * 1000000000ull;
	int ret;

	for (;;) {
		ret = check_alive(daemon);
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

int forward_daemon_start(size_t routes, struct forward_daemon *out)
{
	unsigned int most_s = SYNC_S + (unsigned int)(routes / 10000);
	struct forward_daemon daemon = { .pid = 0 };
	int ret = start(&daemon) ?: wait_for(&daemon, "in sync", most_s, in_sync)
					    ?: wait_for(&daemon, "with a compiled FIB", most_s, is_compiled);

	if (ret)
		forward_daemon_end(&daemon);
	else
		*out = daemon;
	return ret;
}

void forward_daemon_end(struct forward_daemon *daemon)
{
	if (daemon->pid) {
		/* what it leaves goes with its namespaces */
		kill(daemon->pid, SIGKILL);
		waitpid(daemon->pid, NULL, 0);
	}
	if (daemon->has_maps)
		close_maps(daemon);
	*daemon = (struct forward_daemon){ .pid = 0 };
}

int forward_daemon_choose(struct forward_daemon *daemon, uint32_t engine)
{
	const char *wanted = engine == SIXLANE_ENGINE_COMPILED ? "compiled" : "trie";

	__atomic_store_n(&daemon->maps.fib_head->engine, engine, __ATOMIC_RELAXED);
	if (strcmp(fib_answers(&daemon->maps), wanted) != 0)
		return bench_bad(-EPROTO, "the compiled FIB is gone: not enough memory?");
	return 0;
}

void forward_daemon_stop(struct forward_daemon *daemon)
{
	kill(daemon->pid, SIGSTOP);
	waitpid(daemon->pid, NULL, WUNTRACED);
}
