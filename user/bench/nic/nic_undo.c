// SPDX-License-Identifier: GPL-2.0-only
/* See nic_undo.h. */
#include "nic_undo.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../../lib/log.h"
#include "../../lib/util.h"
#include "../bench.h"

struct nic_undo {
	const struct nic_backend *backend;
	pid_t guardian;
	int socket; /* the guardian waits for its end */
};

/* --- the guardian --------------------------------------------------------------------------- */

struct former {
	struct nic_change *at;
	size_t n;
};

static bool is_gone(int error)
{
	return error == -ENODEV || error == -ENOENT;
}

static int set_back(const struct nic_backend *backend, const struct nic_change *former)
{
	struct nic_change now;
	int ret = backend->read(former, &now);

	if (ret || nic_change_same(&now, former))
		return ret;
	return backend->make(former);
}

static void say_failed(const struct nic_change *former, int error)
{
	char command[NIC_COMMAND_LEN];

	nic_change_command(former, command);
	log_error("cannot restore what was changed (%s); restore it by hand: %s%s",
		  strerror(-error), command,
		  former->what == NIC_NETNS
			  ? ", and its addresses and settings (the kernel puts it "
			    "where process 1 is, as dev0 or the like if its name "
			    "is taken there)"
			  : "");
}

/* What has its name by now is another device. */
static void forget(struct former *former, const char *dev)
{
	size_t n = 0;

	for (size_t i = 0; i < former->n; i++)
		if (former->at[i].ifindex || strcmp(former->at[i].dev, dev) != 0)
			former->at[n++] = former->at[i];
	former->n = n;
}

/* 0, or 1 if that failed, which is said. */
static int restore_last(const struct nic_backend *backend, struct former *former)
{
	const struct nic_change last = former->at[--former->n];
	int ret = set_back(backend, &last);

	if (ret && last.what == NIC_NETNS)
		forget(former, last.dev);
	if (!ret || is_gone(ret))
		return 0;
	say_failed(&last, ret);
	return 1;
}

/* Where the process is by now. */
static int follow(const struct nic_backend *backend, const struct nic_change *former)
{
	struct nic_change change = *former;

	change.netns.inside = true;
	return backend->make(&change);
}

static int remember(const struct nic_backend *backend, const struct nic_change *change,
		    struct former *former)
{
	struct nic_change *grown = reallocarray(former->at, former->n + 1, sizeof(*grown));
	int ret;

	if (!grown)
		return -ENOMEM;
	former->at = grown;
	ret = change->what == NIC_INSIDE ? follow(backend, change) : 0;
	if (!ret)
		former->at[former->n++] = *change;
	return ret;
}

/* Until the other end is closed. */
static int receive(const struct nic_backend *backend, int socket, struct former *former)
{
	struct nic_change change;
	int answer;
	ssize_t n;

	while ((n = recv(socket, &change, sizeof(change), 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(change))
			return n < 0 ? -errno : -EBADMSG;
		/* without the answer nothing is changed */
		answer = remember(backend, &change, former);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0 && errno != EPIPE)
			return -errno;
	}
	return 0;
}

static _Noreturn void guard(const struct nic_backend *backend, int socket)
{
	struct former former = { 0 };
	int failed = 0;

	receive(backend, socket, &former);
	while (former.n)
		failed += restore_last(backend, &former);
	free(former.at);
	_exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Signals are for the process that measures, which closes the socket when it ends. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };

	setsid();
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_IGN);
}

/* --- this process --------------------------------------------------------------------------- */

/* No signal comes between the fork and the guardian's ignoring it. */
static pid_t fork_guardian(const struct nic_backend *backend, int sockets[2])
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (!pid) {
		ignore_signals();
		sigprocmask(SIG_SETMASK, &before, NULL);
		close(sockets[0]);
		/* whoever reads what the command writes is not to wait for this process */
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		guard(backend, sockets[1]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int nic_undo_begin(const struct nic_backend *backend, struct nic_undo **out)
{
	struct nic_undo *undo = calloc(1, sizeof(*undo));
	int sockets[2] = { -1, -1 };

	if (!undo)
		return bench_fail(-ENOMEM, "changes of devices");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		free(undo);
		return bench_fail(-errno, "cannot make a socket");
	}
	fflush(NULL);
	*undo = (struct nic_undo){ backend, fork_guardian(backend, sockets), sockets[0] };
	close(sockets[1]);
	if (undo->guardian < 0) {
		int error = -errno;

		close(undo->socket);
		free(undo);
		return bench_fail(error, "cannot start the process that restores the devices");
	}
	*out = undo;
	return 0;
}

int nic_undo_keep(struct nic_undo *undo, const struct nic_change *now)
{
	int answer = 0;
	ssize_t n;

	do {
		n = send(undo->socket, now, sizeof(*now), MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n == sizeof(*now)) {
		do {
			n = recv(undo->socket, &answer, sizeof(answer), 0);
		} while (n < 0 && errno == EINTR);
	}
	return n == sizeof(answer) ? answer : -EOWNERDEAD;
}

int nic_undo_set(struct nic_undo *undo, const struct nic_change *change)
{
	struct nic_change former;
	int ret = undo->backend->read(change, &former);

	if (ret || nic_change_same(&former, change))
		return ret;
	return nic_undo_keep(undo, &former) ?: undo->backend->make(change);
}

int nic_undo_end(struct nic_undo *undo)
{
	int status = 0;
	pid_t pid;

	close(undo->socket);
	do {
		pid = waitpid(undo->guardian, &status, 0);
	} while (pid < 0 && errno == EINTR);
	free(undo);
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return 0;
	if (pid > 0 && WIFEXITED(status))
		return -EIO; /* the guardian has said what */
	return bench_bad(-EOWNERDEAD, "the process that was to restore the devices has ended: "
				      "restore them by hand");
}
