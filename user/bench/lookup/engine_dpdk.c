// SPDX-License-Identifier: GPL-2.0-only
/* DPDK's tables of IPv6 routes, by bench-dpdk, if that is there (dpdk.h). */
#include "dpdk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../bench.h"

/* A million routes take it half a minute. */
#define PATIENCE_MS 300000

extern char **environ;

struct dpdk {
	pid_t pid;
	int to, from; /* pipes */
	struct bench_dpdk_table *table;
	size_t size;
	uint32_t cursor;
};

static int ask(const struct dpdk *dpdk, const struct bench_dpdk_question *question,
	       struct bench_dpdk_answer *out)
{
	struct pollfd answered = { .fd = dpdk->from, .events = POLLIN };
	ssize_t n = 0;

	if (question && write(dpdk->to, question, sizeof(*question)) != sizeof(*question))
		n = -1;
	if (!n && poll(&answered, 1, PATIENCE_MS) != 1)
		return bench_bad(-ETIMEDOUT, "bench-dpdk does not answer");
	if (!n)
		n = read(dpdk->from, out, sizeof(*out));
	/* It has said why. */
	return n == sizeof(*out) ? 0 : bench_bad(-EPIPE, "bench-dpdk has failed");
}

/* A descriptor of the shared table. */
static int share_table(const struct bench_side *side, struct dpdk *dpdk)
{
	size_t list_size = side->table->n * sizeof(struct prefix);
	_cleanup_close_ int fd = memfd_create("bench-table", MFD_CLOEXEC);
	void *at;

	dpdk->size = sizeof(struct bench_dpdk_table) + list_size;
	if (fd < 0 || ftruncate(fd, (off_t)dpdk->size))
		return bench_fail(-errno, "shared memory");
	at = mmap(NULL, dpdk->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return bench_fail(-errno, "shared memory");
	dpdk->table = at;
	dpdk->table->addresses = *side->table->addresses;
	dpdk->table->n = side->table->n;
	memcpy(dpdk->table->prefixes, side->table->prefixes, list_size);
	return util_take_fd(&fd);
}

static int spawn(struct dpdk *dpdk, const char *path, const char *engine, int memory)
{
	_cleanup_close_ int in = -1, out = -1;
	posix_spawn_file_actions_t actions;
	int fds[2], rc;
	char cpu[16];
	char *argv[] = { (char *)path, (char *)engine, cpu, NULL };

	snprintf(cpu, sizeof(cpu), "%d", bench_cpu(0));
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	in = fds[0];
	dpdk->to = fds[1];
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	dpdk->from = fds[0];
	out = fds[1];
	posix_spawn_file_actions_init(&actions);
	/* Both pipes have found their places before anything is put over their descriptors. */
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, memory, BENCH_DPDK_MEMORY);
	rc = posix_spawn(&dpdk->pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -rc;
}

/* Where no descriptor of the caller's own is in the way of BENCH_DPDK_MEMORY. */
static int high(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 64);

	close(fd);
	return moved < 0 ? -errno : moved;
}

static int open_dpdk(struct bench_side *side)
{
	struct dpdk *dpdk;
	struct bench_dpdk_answer filled = { 0 };
	_cleanup_close_ int memory = -1;
	char path[PATH_MAX];
	int ret;

	if (bench_find_file("bench-dpdk", path, sizeof(path)))
		return -ENOENT;
	dpdk = calloc(1, sizeof(*dpdk));
	if (!dpdk)
		return bench_fail(-ENOMEM, "%s", side->engine->name);
	dpdk->to = dpdk->from = -1;
	/* If it dies, that is an error of writing, not the end of us. */
	signal(SIGPIPE, SIG_IGN);
	side->state = dpdk;
	memory = share_table(side, dpdk);
	if (memory < 0)
		return memory;
	memory = high(memory);
	ret = memory < 0 ? memory : spawn(dpdk, path, side->engine->name, memory);
	if (ret)
		return bench_fail(ret, "%s", path);
	ret = ask(dpdk, NULL, &filled);
	if (ret)
		return ret;
	side->insert_ns = filled.insert_ns;
	side->bytes = filled.bytes;
	return 0;
}

static int measure_dpdk(struct bench_side *side, enum bench_mode mode, unsigned int threads,
			uint64_t lookups, struct bench_time *out)
{
	struct dpdk *dpdk = side->state;
	struct bench_dpdk_question question = {
		.what = mode == BENCH_DEPENDENT ? BENCH_DPDK_DEPENDENT : BENCH_DPDK_INDEPENDENT,
		.cursor = dpdk->cursor,
		.lookups = lookups,
	};
	struct bench_dpdk_answer answer = { 0 };
	int ret;

	(void)threads; /* one */
	ret = ask(dpdk, &question, &answer);
	if (ret)
		return ret;
	dpdk->cursor += (uint32_t)lookups;
	*out = (struct bench_time){
		.gross_ns = answer.gross_ns,
		.dry_ns = answer.dry_ns,
		.elapsed_ns = answer.gross_ns,
	};
	return 0;
}

static int answers_dpdk(struct bench_side *side, uint32_t *out)
{
	struct dpdk *dpdk = side->state;
	struct bench_dpdk_question question = { .what = BENCH_DPDK_ANSWERS,
						.lookups = BENCH_ADDRESSES };
	struct bench_dpdk_answer answer = { 0 };
	int ret = ask(dpdk, &question, &answer);

	if (!ret)
		memcpy(out, dpdk->table->answers.at, sizeof(dpdk->table->answers.at));
	return ret;
}

static void close_dpdk(struct bench_side *side)
{
	struct dpdk *dpdk = side->state;

	if (!dpdk)
		return;
	util_close(&dpdk->to);
	util_close(&dpdk->from);
	if (dpdk->pid > 0 && !kill(dpdk->pid, SIGKILL))
		waitpid(dpdk->pid, NULL, 0);
	if (dpdk->table)
		munmap(dpdk->table, dpdk->size);
	free(dpdk);
	side->state = NULL;
}

const struct bench_engine bench_dpdk_fib6 = {
	.name = "dpdk-fib6",
	.user_space = true,
	.is_optional = true,
	.open = open_dpdk,
	.measure = measure_dpdk,
	.answers = answers_dpdk,
	.close = close_dpdk,
};

const struct bench_engine bench_dpdk_lpm6 = {
	.name = "dpdk-lpm6",
	.user_space = true,
	.is_optional = true,
	.open = open_dpdk,
	.measure = measure_dpdk,
	.answers = answers_dpdk,
	.close = close_dpdk,
};
