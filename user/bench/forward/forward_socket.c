// SPDX-License-Identifier: GPL-2.0-only
/* See forward_socket.h. */
#include "forward_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../kernel_net.h"
#include "../progress.h"

/* Frames of one system call; fewer than a veth's ring holds. */
#define BATCH 32u

/* A CPU's own. */
struct sender {
	struct frame frames[BATCH];
	struct iovec parts[BATCH];
	struct mmsghdr messages[BATCH];
	int fd;
};

struct forward_sockets {
	unsigned int threads;
	struct sender senders[];
};

/* What the senders of a run have in common. */
struct shared {
	const struct forward_sockets *sockets;
	const struct gen_run *run;
	pthread_barrier_t begin;
	unsigned int done; /* have sent their count */
};

struct runner {
	pthread_t thread;
	struct shared *shared;
	struct sender *sender;
	const union sixlane_addr *addresses;
	unsigned int number;
	struct gen_result result;
	int error;
};

/* --- sockets -------------------------------------------------------------------------------- */

int forward_socket_open(uint32_t ifindex)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)ifindex };
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return -errno;
	return util_take_fd(&fd);
}

static int open_sender(const struct forward_net *net, const struct frame *frame,
		       struct sender *sender)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		sender->frames[i] = *frame;
		sender->parts[i] = (struct iovec){ sender->frames[i].at, frame->bytes };
		sender->messages[i].msg_hdr =
			(struct msghdr){ .msg_iov = &sender->parts[i], .msg_iovlen = 1 };
	}
	sender->fd = forward_socket_open(net->a_h0);
	return sender->fd < 0 ? sender->fd : 0;
}

int forward_sockets_open(const struct forward_net *net, const struct frame *frame,
			 unsigned int threads, struct forward_sockets **out)
{
	struct forward_sockets *sockets =
		calloc(1, sizeof(*sockets) + threads * sizeof(sockets->senders[0]));
	int back, left, ret = 0;

	if (!sockets)
		return bench_fail(-ENOMEM, "packet sockets");
	for (; sockets->threads < threads; sockets->threads++)
		sockets->senders[sockets->threads].fd = -1;
	ret = bench_net_enter(net->a, &back);
	for (unsigned int i = 0; i < threads && !ret; i++) {
		ret = open_sender(net, frame, &sockets->senders[i]);
		if (ret)
			bench_fail(ret, "packet sockets");
	}
	left = bench_net_leave(&back);
	ret = ret ?: left;
	if (ret)
		forward_sockets_close(sockets);
	else
		*out = sockets;
	return ret;
}

void forward_sockets_close(struct forward_sockets *sockets)
{
	if (!sockets)
		return;
	for (unsigned int i = 0; i < sockets->threads; i++)
		util_close(&sockets->senders[i].fd);
	free(sockets);
}

/* --- runs ----------------------------------------------------------------------------------- */

static void address_batch(struct runner *runner, unsigned int n)
{
	const struct gen_run *run = runner->shared->run;
	uint64_t number = runner->result.sent;
	uint64_t now_ns = run->stamped ? util_now_ns() : 0;

	for (unsigned int i = 0; i < n; i++, number++) {
		uint64_t port = run->one_port ? 0 : number % FLOOD_SRC_PORTS;

		frame_address(&runner->sender->frames[i], &runner->addresses[number % GEN_TARGETS],
			      (uint16_t)(FLOOD_SRC_PORT_FIRST + port), now_ns);
	}
}

/* The port takes no more for now: what it has is for this CPU to do, if only later. */
static bool is_full(int error)
{
	return error == ENOBUFS || error == EAGAIN;
}

static int send_batch(struct runner *runner, unsigned int n)
{
	struct sender *sender = runner->sender;
	unsigned int sent = 0;

	address_batch(runner, n);
	while (sent < n) {
		int ret = sendmmsg(sender->fd, sender->messages + sent, n - sent, 0);

		if (ret > 0)
			sent += (unsigned int)ret;
		else if (errno == EINTR && bench_interrupted())
			break;
		else if (is_full(errno))
			sched_yield();
		else if (errno != EINTR)
			return -errno;
	}
	runner->result.sent += sent;
	return sent < n ? -EINTR : 0;
}

/* One: exactly the count. Several: on and on until each has sent its count beside the others. */
static int send_all(struct runner *runner)
{
	struct shared *shared = runner->shared;
	struct gen_result *result = &runner->result;
	unsigned int threads = shared->sockets->threads;
	uint64_t start_ns = util_now_ns();
	int ret = 0;

	while (!ret && __atomic_load_n(&shared->done, __ATOMIC_RELAXED) < threads) {
		uint64_t left = shared->run->count - result->sent;

		ret = send_batch(runner, threads == 1 && left < BATCH ? (unsigned int)left : BATCH);
		if (result->timed || result->sent < shared->run->count)
			continue;
		result->timed = result->sent;
		result->timed_ns = util_now_ns() - start_ns;
		__atomic_add_fetch(&shared->done, 1, __ATOMIC_RELAXED);
	}
	return ret;
}

static void *run_thread(void *ctx)
{
	struct runner *runner = ctx;
	struct shared *shared = runner->shared;
	bool one = shared->sockets->threads == 1;

	if (gen_pin_cpu(one ? -1 : bench_cpu(runner->number)) < 0)
		runner->error = -EINVAL;
	/* also after an error: the others wait */
	pthread_barrier_wait(&shared->begin);
	runner->error = runner->error ?: send_all(runner);
	/* who ends early must not be waited for */
	if (runner->error)
		__atomic_store_n(&shared->done, shared->sockets->threads, __ATOMIC_RELAXED);
	return NULL;
}

static int run_all(struct shared *shared, struct runner *runners)
{
	unsigned int threads = shared->sockets->threads;
	int ret = 0;

	pthread_barrier_init(&shared->begin, NULL, threads);
	/* Those that were started wait for ever if not all can be, and end with the process. */
	for (unsigned int i = 0; i < threads && !ret; i++)
		ret = -pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(runners[i].thread, NULL);
		if (runners[i].error && runners[i].error != -EINTR)
			ret = runners[i].error;
	}
	pthread_barrier_destroy(&shared->begin);
	return ret;
}

int forward_sockets_run(struct forward_sockets *sockets, const union sixlane_addr *addresses,
			const struct gen_run *run, struct gen_result *results)
{
	_cleanup_free_ struct runner *runners = calloc(sockets->threads, sizeof(*runners));
	struct shared shared = { .sockets = sockets, .run = run };
	int ret;

	if (!runners)
		return bench_fail(-ENOMEM, "packet sockets");
	for (unsigned int i = 0; i < sockets->threads; i++) {
		runners[i].shared = &shared;
		runners[i].sender = &sockets->senders[i];
		runners[i].addresses = addresses + (size_t)i * GEN_TARGETS;
		runners[i].number = i;
	}
	ret = run_all(&shared, runners);
	for (unsigned int i = 0; i < sockets->threads; i++) {
		results[i] = runners[i].result;
		results[i].interrupted = runners[i].error == -EINTR;
	}
	return ret ? bench_fail(ret, "sending by packet sockets") : 0;
}
