// SPDX-License-Identifier: GPL-2.0-only
/* See nic_agent.h. */
#include "nic_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/ether.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/log.h"
#include "../bench.h"
#include "../progress.h"

#define MOST_BYTES (1u << 20) /* of an answer */
#define HELLO_S 120.0	      /* ssh may connect slowly, TRex may start */
#define STOP_S 90.0	      /* what is under way is counted until it has arrived */
#define END_MS 5000
#define POLL_MS 20
#define NOT_FOUND 127 /* a shell's status */

struct nic_agent {
	pid_t pid;
	int socket; /* its standard input and output */
	char *heard;
	size_t used; /* bytes heard */
};

/* --- the process ---------------------------------------------------------------------------- */

static void end_group(int signal)
{
	(void)signal;
	kill(0, SIGKILL);
}

/*
 * In the child: what the command starts, a shell's pipeline or what it leaves behind, is one
 * process group, which ends with its leader, and that with the parent, however that ends.
 */
static _Noreturn void lead(const char *command, int socket, pid_t parent)
{
	int status = 0;
	sigset_t none;
	pid_t shell;

	setsid();
	signal(SIGTERM, end_group);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* the parent may have ended before it was asked for this signal */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(EXIT_FAILURE);
	/* of all else that is open somebody may wait for the end, as the one that restores does */
	if (dup2(socket, STDIN_FILENO) < 0 || dup2(socket, STDOUT_FILENO) < 0 ||
	    close_range(STDERR_FILENO + 1, ~0u, 0))
		_exit(EXIT_FAILURE);
	shell = fork();
	if (!shell) {
		signal(SIGTERM, SIG_DFL);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(NOT_FOUND);
	}
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	while (shell > 0 && waitpid(shell, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	_exit(shell > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

int nic_agent_start(const char *command, struct nic_agent **out)
{
	struct nic_agent *agent = calloc(1, sizeof(*agent));
	char *heard = malloc(MOST_BYTES);
	pid_t parent = getpid();
	int sockets[2];

	if (!agent || !heard || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		free(agent);
		free(heard);
		return bench_fail(-errno, "generator");
	}
	*agent = (struct nic_agent){ .socket = sockets[0], .heard = heard };
	fflush(NULL);
	agent->pid = fork();
	if (!agent->pid)
		lead(command, sockets[1], parent);
	close(sockets[1]);
	*out = agent;
	if (agent->pid > 0)
		return 0;
	agent->pid = 0;
	return bench_fail(-errno, "generator");
}

static bool has_ended(struct nic_agent *agent, int *status)
{
	if (agent->pid && waitpid(agent->pid, status, WNOHANG) == agent->pid)
		agent->pid = 0;
	return !agent->pid;
}

void nic_agent_end(struct nic_agent *agent)
{
	uint64_t end_ns = util_now_ns() + END_MS * 1000000ull;
	int status;

	if (!agent)
		return;
	shutdown(agent->socket, SHUT_WR);
	while (!has_ended(agent, &status) && util_now_ns() < end_ns)
		poll(NULL, 0, POLL_MS);
	if (agent->pid) {
		kill(-agent->pid, SIGKILL);
		waitpid(agent->pid, &status, 0);
	}
	close(agent->socket);
	free(agent->heard);
	free(agent);
}

/* --- lines ---------------------------------------------------------------------------------- */

static int lost(struct nic_agent *agent)
{
	int status = 0;

	/* its output may have ended a little earlier */
	for (int i = 0; i < END_MS / POLL_MS && !has_ended(agent, &status); i++)
		poll(NULL, 0, POLL_MS);
	if (!agent->pid && WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return bench_bad(-EPIPE, "generator: its command was not found");
	if (!agent->pid && WIFEXITED(status))
		return bench_bad(-EPIPE,
				 "the generator ended with status %d; it may say above why, or try "
				 "its command by hand",
				 WEXITSTATUS(status));
	return bench_bad(-EPIPE, "the generator has ended; try its command by hand");
}

int nic_agent_tell(struct nic_agent *agent, json_t *request)
{
	char *line = json_dumps(request, JSON_COMPACT);
	size_t n = line ? strlen(line) : 0;
	int ret = 0;

	json_decref(request);
	if (!line)
		return bench_fail(-ENOMEM, "generator");
	line[n] = '\n'; /* in the place of its end */
	for (size_t sent = 0; sent <= n && !ret;) {
		ssize_t now = send(agent->socket, line + sent, n + 1 - sent, MSG_NOSIGNAL);

		if (now >= 0)
			sent += (size_t)now;
		else if (errno != EINTR)
			ret = lost(agent);
	}
	free(line);
	return ret;
}

static bool has_line(const struct nic_agent *agent)
{
	return memchr(agent->heard, '\n', agent->used);
}

/* What has come. */
static int take(struct nic_agent *agent)
{
	ssize_t n = recv(agent->socket, agent->heard + agent->used, MOST_BYTES - agent->used,
			 MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return agent->used == MOST_BYTES
			       ? bench_bad(-EMSGSIZE, "generator: its answer is too long")
			       : lost(agent);
	agent->used += (size_t)n;
	return 0;
}

/* Until a line is there, or the time is. */
static int listen_until(struct nic_agent *agent, uint64_t until_ns, bool by_interrupt)
{
	struct pollfd input = { .fd = agent->socket, .events = POLLIN };
	uint64_t now;
	int ret = 0;

	while (!ret && !has_line(agent) && (now = util_now_ns()) < until_ns) {
		uint64_t left_ms = (until_ns - now) / 1000000u + 1;

		if (by_interrupt && bench_interrupted())
			return -EINTR;
		/* a signal that comes between the look and the waiting is seen soon as well */
		if (poll(&input, 1, left_ms < 200 ? (int)left_ms : 200) > 0)
			ret = take(agent);
	}
	return ret;
}

int nic_agent_wait(struct nic_agent *agent, uint64_t until_ns, bool *is_there)
{
	int ret = listen_until(agent, until_ns, true);

	*is_there = has_line(agent);
	return ret;
}

/* The first line of those that were heard. */
static int read_answer(struct nic_agent *agent, json_t **out)
{
	char *end = memchr(agent->heard, '\n', agent->used);
	size_t n = (size_t)(end - agent->heard);
	json_error_t error;
	const char *said;

	*out = json_loadb(agent->heard, n, 0, &error);
	agent->used -= n + 1;
	memmove(agent->heard, end + 1, agent->used);
	if (!*out)
		return bench_bad(-EBADMSG,
				 "generator: its answer is not JSON (%s): does its command write "
				 "something else?",
				 error.text);
	said = json_string_value(json_object_get(*out, "error"));
	if (!said)
		return 0;
	bench_bad(-EREMOTEIO, "generator: %s", said);
	json_decref(*out);
	*out = NULL;
	return -EREMOTEIO;
}

static uint64_t after(double seconds)
{
	return util_now_ns() + (uint64_t)(seconds * 1e9);
}

/* It answers what it was doing, and the request to stop. */
static void stop(struct nic_agent *agent)
{
	json_t *answer = NULL;

	log_info("waiting for the generator to stop (interrupt once more not to wait)");
	if (nic_agent_tell(agent, json_pack("{s:s}", "do", "stop")))
		return;
	for (int i = 0; i < 2; i++) {
		if (listen_until(agent, after(STOP_S), false) || !has_line(agent))
			return;
		if (!read_answer(agent, &answer))
			json_decref(answer);
	}
}

static int hear(struct nic_agent *agent, double timeout_s, json_t **out)
{
	int ret = listen_until(agent, after(timeout_s), true);

	if (ret)
		return ret;
	if (!has_line(agent))
		return bench_bad(-ETIMEDOUT, "generator: no answer within %.0f s", timeout_s);
	return read_answer(agent, out);
}

int nic_agent_hear(struct nic_agent *agent, double timeout_s, json_t **out)
{
	int ret = hear(agent, timeout_s, out);

	if (ret == -EINTR)
		stop(agent);
	return ret;
}

/* --- what it says of itself ----------------------------------------------------------------- */

static int add_port(const json_t *row, struct nic_agent_facts *facts)
{
	const char *role = json_string_value(json_object_get(row, "role"));
	const char *word = json_string_value(json_object_get(row, "mac"));
	struct ether_addr mac;

	if (!word || !ether_aton_r(word, &mac))
		return bench_bad(-EBADMSG, "generator: a port without a MAC");
	if (role && !strcmp(role, "tx")) {
		facts->n_tx++;
		return 0;
	}
	if (!role || strcmp(role, "rx") != 0)
		return bench_bad(-EBADMSG, "generator: a port whose \"role\" is neither tx nor rx");
	if (facts->n_rx == NIC_AGENT_MOST_PORTS)
		return bench_bad(-E2BIG, "generator: more than %d ports", NIC_AGENT_MOST_PORTS);
	memcpy(facts->rx_macs[facts->n_rx++], &mac, sizeof(*facts->rx_macs));
	return 0;
}

static int read_hello(const json_t *hello, struct nic_agent_facts *facts)
{
	const char *name = json_string_value(json_object_get(hello, "generator"));
	const json_t *ports = json_object_get(hello, "ports"), *row;
	int ret = 0;
	size_t i;

	snprintf(facts->name, sizeof(facts->name), "%s", name ? name : "unknown");
	facts->least_frame_bytes =
		(uint32_t)json_integer_value(json_object_get(hello, "least_frame_bytes"));
	facts->least_syn_bytes =
		(uint32_t)json_integer_value(json_object_get(hello, "least_syn_bytes"));
	json_array_foreach(ports, i, row)
	{
		ret = ret ?: add_port(row, facts);
	}
	if (!ret && !facts->n_tx)
		ret = bench_bad(-EINVAL, "generator: no port of it sends (--tx)");
	if (!ret && !facts->n_rx)
		ret = bench_bad(-EINVAL, "generator: nothing counts what comes back (--rx)");
	return ret;
}

int nic_agent_hello(struct nic_agent *agent, struct nic_agent_facts *out)
{
	json_t *hello = NULL;
	int ret = nic_agent_tell(agent, json_pack("{s:s}", "do", "hello"))
			  ?: hear(agent, HELLO_S, &hello);

	*out = (struct nic_agent_facts){ 0 };
	ret = ret ?: read_hello(hello, out);
	json_decref(hello);
	return ret;
}
