// SPDX-License-Identifier: GPL-2.0-only
/* A run: one thread for each lane, on the lane's CPU, until every lane is done or input comes. */
#include "packets_user.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

#define MOST_LANES 1024
#define POLL_MS 5
#define SOCKET_BATCH 32u /* frames a system call; fewer than a veth's ring holds */
#define SOCKET_MOST_BYTES 9216

struct lane {
	struct packets_state state;
	pthread_t thread;
	const char *program;
	uint32_t cpu, number;
	int prog, states;	 /* descriptors of the generator's program and its map "states" */
	struct packets_run *run; /* the generator's, mapped */
};

/* Of the run that is under way. */
static struct packets_run run;
static struct lane lanes[MOST_LANES];
static uint32_t frame_bytes;
static unsigned int ingress; /* 0: none */
static bool is_over;	     /* atomic */
static pthread_barrier_t begin;
static int ended; /* an eventfd that each lane writes to at its end */

static bool run_is_over(void)
{
	return __atomic_load_n(&is_over, __ATOMIC_ACQUIRE);
}

/* --- lanes of test runs --------------------------------------------------------------------- */

static void read_state(const struct lane *lane, struct packets_state *out)
{
	_cleanup_free_ struct packets_state *states =
		plan_alloc((size_t)libbpf_num_possible_cpus(), sizeof(*states));
	uint32_t zero = 0;

	plan_check(bpf_map_lookup_elem(lane->states, &zero, states), "counters of the generator");
	*out = states[plan_cpu(lane->cpu)];
}

static bool is_done(const struct packets_state *state)
{
	uint64_t sent = state->made - state->refused;

	/* A device that refused every frame so far takes none at all. */
	return state->over || sent >= state->most || (state->made && !sent) || run_is_over() ||
	       (run.length_ns && state->first_ns &&
		util_now_ns() - state->first_ns >= run.length_ns);
}

/* A paced lane, and one of several together, runs until a signal ends it. */
static void run_test(const struct lane *lane)
{
	static const uint8_t zeros[PACKETS_MOST_BYTES];
	uint64_t left = lane->state.most - (lane->state.made - lane->state.refused);
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct xdp_md packet = {
		.data_end = frame_bytes,
		.ingress_ifindex = ingress,
		.rx_queue_index = lane->number,
	};
	int ret;

	options.data_in = zeros;
	options.data_size_in = frame_bytes;
	options.repeat = run.delay_ns || left > INT_MAX ? INT_MAX : (int)left;
	options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
	options.batch_size = 64;
	if (ingress) {
		options.ctx_in = &packet;
		options.ctx_size_in = sizeof(packet);
	}
	ret = bpf_prog_test_run_opts(lane->prog, &options);
	if (ret && errno != EINTR && errno != EAGAIN)
		plan_check(errno, "a test run with live frames (Linux 5.18)");
}

static void make_frames(struct lane *lane)
{
	while (!is_done(&lane->state)) {
		run_test(lane);
		read_state(lane, &lane->state);
		if (!lane->state.made && !run.delay_ns && !run_is_over())
			plan_die("the generator has no such frames");
	}
}

static void find_generator(struct lane *lane)
{
	size_t n = strcspn(lane->program, "."), bytes;
	const struct bpf_map *states = packets_map(lane->program, n, "states");
	struct bpf_map *bss = packets_map(lane->program, n, ".bss");

	lane->prog = packets_program(lane->program);
	lane->states = bpf_map__fd(states);
	lane->run = (void *)(uintptr_t)bpf_map__initial_value(bss, &bytes);
	if (!lane->run || bytes != sizeof(run) ||
	    bpf_map__value_size(states) != sizeof(lane->state))
		plan_die("%s is not a generator of this version", lane->program);
}

/* Write the run and the states of its lanes to their generators. */
static void open_generators(void)
{
	_cleanup_free_ struct packets_state *states =
		plan_alloc((size_t)libbpf_num_possible_cpus(), sizeof(*states));
	uint32_t zero = 0;

	for (uint32_t i = 0; i < run.lanes; i++)
		find_generator(&lanes[i]);
	for (uint32_t i = 0; i < run.lanes; i++) {
		memset(states, 0, (size_t)libbpf_num_possible_cpus() * sizeof(*states));
		for (uint32_t k = 0; k < run.lanes; k++)
			if (lanes[k].states == lanes[i].states)
				states[plan_cpu(lanes[k].cpu)] = lanes[k].state;
		*lanes[i].run = run;
		plan_check(bpf_map_update_elem(lanes[i].states, &zero, states, BPF_ANY),
			   "counters of the generator");
	}
}

/* --- lanes of packet sockets ---------------------------------------------------------------- */

/* They send past the device's queueing discipline: frames that are too large for a test run, which
 * has one page for each. */
static struct socket_frames {
	uint8_t header[PACKETS_HEADER_MOST];
	size_t header_bytes; /* 0: the lanes are of test runs */
	uint32_t target_mask;
	unsigned int ifindex;
	const struct packets_target *targets;
	size_t n_targets;
	uint32_t done; /* lanes that have made their count; atomic */
} by_socket;

struct sender {
	uint8_t frames[SOCKET_BATCH][SOCKET_MOST_BYTES];
	struct iovec parts[SOCKET_BATCH];
	struct mmsghdr messages[SOCKET_BATCH];
	int fd;
};

static void take_socket_frames(json_t *arguments)
{
	const char *header = "", *device, *path;
	int n;

	by_socket = (struct socket_frames){ 0 };
	plan_take(arguments, "{s?s}", "header", &header);
	by_socket.header_bytes = packets_hex(header, by_socket.header, sizeof(by_socket.header));
	if (!by_socket.header_bytes)
		return;
	plan_take(arguments, "{s:s, s:s, s:i}", "device", &device, "targets", &path, "n", &n);
	by_socket.target_mask = (uint32_t)n - 1;
	by_socket.ifindex = packets_ifindex(device);
	by_socket.targets = plan_map(path, sizeof(*by_socket.targets), &by_socket.n_targets);
}

static struct sender *open_sender(void)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)by_socket.ifindex };
	struct sender *sender = plan_alloc(1, sizeof(*sender));
	int one = 1;

	for (unsigned int i = 0; i < SOCKET_BATCH; i++) {
		memcpy(sender->frames[i], by_socket.header, by_socket.header_bytes);
		sender->parts[i] = (struct iovec){ sender->frames[i], frame_bytes };
		sender->messages[i].msg_hdr =
			(struct msghdr){ .msg_iov = &sender->parts[i], .msg_iovlen = 1 };
	}
	sender->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (sender->fd < 0 || bind(sender->fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(sender->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		plan_check(errno, "a packet socket");
	return sender;
}

/* Write what differs from frame to frame. */
static void write_frame(const struct packets_state *state, uint64_t number, uint8_t *frame)
{
	const struct packets_target *target =
		&by_socket.targets[state->first_target + (number & by_socket.target_mask)];
	uint16_t port = htons((uint16_t)(PACKETS_PORT_FIRST + (number & run.port_mask)));
	bool has_room = frame_bytes >= by_socket.header_bytes + PACKETS_STAMP_BYTES;
	uint64_t now = run.stamped && has_room ? util_now_ns() : 0;
	uint16_t stamp[3] = { (uint16_t)now, (uint16_t)(now >> 16), (uint16_t)(now >> 32) };
	uint16_t sum = packets_fold(target->sum + port + stamp[0] + stamp[1] + stamp[2]);
	size_t l4 = by_socket.header_bytes - PACKETS_IP6_BYTES;

	memcpy(frame + PACKETS_DST, target->addr, sizeof(target->addr));
	if (has_room)
		memcpy(frame + by_socket.header_bytes, stamp, sizeof(stamp));
	if (!l4)
		return;
	memcpy(frame + PACKETS_IP6_BYTES, &port, sizeof(port));
	memcpy(frame + PACKETS_IP6_BYTES + (l4 == PACKETS_TCP_BYTES ? 16 : 6), &sum, sizeof(sum));
}

static void send_batch(struct packets_state *state, struct sender *sender)
{
	uint64_t left = state->most - state->made;
	unsigned int n = left < SOCKET_BATCH ? (unsigned int)left : SOCKET_BATCH, sent = 0;

	for (unsigned int i = 0; i < n; i++)
		write_frame(state, state->made + i, sender->frames[i]);
	while (sent < n && !run_is_over()) {
		int ret = sendmmsg(sender->fd, sender->messages + sent, n - sent, 0);

		if (ret > 0)
			sent += (unsigned int)ret;
		else if (errno == ENOBUFS || errno == EAGAIN)
			sched_yield(); /* the ring is full; this CPU has to empty it */
		else if (errno != EINTR)
			plan_check(errno, "sending by a packet socket");
	}
	state->made += sent;
}

/* Until its frames are sent, or all lanes have made their count; the time is until its own. */
static void send_frames(struct packets_state *state)
{
	_cleanup_free_ struct sender *sender = open_sender();

	state->first_ns = util_now_ns();
	while (state->made < state->most && !run_is_over() &&
	       __atomic_load_n(&by_socket.done, __ATOMIC_RELAXED) < run.lanes) {
		send_batch(state, sender);
		if (state->done)
			continue;
		state->last_ns = util_now_ns();
		state->last_made = state->made;
		state->done = state->made >= (run.together ? run.count : state->most);
		__atomic_add_fetch(&by_socket.done, state->done, __ATOMIC_RELAXED);
	}
	close(sender->fd);
}

/* --- threads -------------------------------------------------------------------------------- */

static void *run_lane(void *arg)
{
	struct lane *lane = arg;

	plan_pin(lane->cpu);
	/* What else runs on this CPU would be measured, too. Without the right to, it is. */
	setpriority(PRIO_PROCESS, 0, -20);
	pthread_barrier_wait(&begin);
	if (by_socket.header_bytes)
		send_frames(&lane->state);
	else
		make_frames(lane);
	eventfd_write(ended, 1);
	return NULL;
}

/* The kernel ends a test run at a signal, which it looks for between two batches. */
static void end_done_lanes(void)
{
	struct packets_state state;

	for (uint32_t i = 0; i < run.lanes && !by_socket.header_bytes; i++) {
		read_state(&lanes[i], &state);
		if (is_done(&state))
			pthread_kill(lanes[i].thread, SIGUSR1);
	}
}

static void stop(void)
{
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < run.lanes; i++)
		if (lanes[i].run)
			__atomic_store_n(&lanes[i].run->over, 1, __ATOMIC_RELEASE);
}

/* Input, the plan's next step or its end, means that nobody wants this run any more. */
static void wait_for_lanes(void)
{
	struct pollfd fds[] = { { ended, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
	/* A lane with a fixed number of frames ends by itself. */
	bool looks = run.together || run.delay_ns || run.length_ns;
	uint64_t n_ended = 0;
	eventfd_t n;

	while (n_ended < run.lanes) {
		if (!poll(fds, fds[1].revents ? 1 : 2, looks ? POLL_MS : -1))
			end_done_lanes();
		if (fds[1].revents) {
			stop();
			looks = true;
		}
		if (fds[0].revents && !eventfd_read(ended, &n))
			n_ended += n;
	}
}

static void on_signal(int number)
{
	(void)number;
}

static void run_threads(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	ended = eventfd(0, EFD_CLOEXEC);
	plan_check(ended < 0 ? errno : 0, "a run");
	pthread_barrier_init(&begin, NULL, run.lanes);
	for (uint32_t i = 0; i < run.lanes; i++)
		plan_check(pthread_create(&lanes[i].thread, NULL, run_lane, &lanes[i]), "threads");
	wait_for_lanes();
	for (uint32_t i = 0; i < run.lanes; i++)
		pthread_join(lanes[i].thread, NULL);
	pthread_barrier_destroy(&begin);
	close(ended);
}

/* --- the step ------------------------------------------------------------------------------- */

static void take_lane(json_t *arguments, uint32_t number)
{
	json_int_t cpu, most, first;
	const char *program;

	plan_take(arguments, "[s, I, I, I]", &program, &cpu, &most, &first);
	lanes[number] = (struct lane){
		.program = program,
		.cpu = (uint32_t)cpu,
		.number = number,
		.state.most = run.together ? UINT64_MAX : (uint64_t)most,
		.state.first_target = (uint32_t)first,
	};
}

static void take(json_t *arguments)
{
	int bytes, ports = 16384, stamped = 0;
	const char *device = NULL;
	json_int_t count = 0, ns = 0;
	double rate = 0;
	json_t *list;

	plan_take(arguments, "{s:o, s:i, s?I, s?I, s?F, s?i, s?b, s?s}", "lanes", &list, "bytes",
		  &bytes, "count", &count, "ns", &ns, "rate", &rate, "ports", &ports, "stamped",
		  &stamped, "ingress", &device);
	run = (struct packets_run){
		.count = (uint64_t)count,
		.length_ns = (uint64_t)ns,
		.lanes = (uint32_t)json_array_size(list),
		.port_mask = (uint32_t)ports - 1,
		.together = count > 0,
		.stamped = (uint32_t)stamped,
	};
	if (!run.lanes || run.lanes > MOST_LANES)
		plan_die("from 1 to %d lanes are wanted", MOST_LANES);
	if (rate > 0)
		run.delay_ns = (uint64_t)(run.lanes * 1e9 / rate);
	frame_bytes = (uint32_t)bytes;
	ingress = device ? packets_ifindex(device) : 0;
	is_over = false;
	for (uint32_t i = 0; i < run.lanes; i++)
		take_lane(json_array_get(list, i), i);
	take_socket_frames(arguments);
}

/*
 * {"lanes": [[PROGRAM, CPU, MOST, FIRST], …], "bytes"}: each lane makes frames of so many bytes by
 * a generator's program on the CPU (plan_cpu()), at most so many, to the targets from FIRST on.
 *   "count": until every lane has made so many while all others ran, too
 *   "ns": for so long. "rate": so many frames a second by all lanes together
 *   "ingress": the device that frames seem to come in by, if they go into a program
 *   "ports": number of source ports, a power of 2. "stamped": BOOL
 *   "header": HEX, "device", "targets": PATH, "n" of a lane: by packet sockets, without PROGRAM,
 *   "ns" and "rate"
 * Input ends the run early. Answers {"lanes": [[MADE, REFUSED, FIRST_NS, FIRST_MADE, LAST_NS,
 * LAST_MADE, DONE], …]}, as in struct packets_state.
 */
json_t *packets_run(json_t *arguments)
{
	json_t *list = json_array();

	take(arguments);
	if (!by_socket.header_bytes)
		open_generators();
	run_threads();
	for (uint32_t i = 0; i < run.lanes; i++) {
		const struct packets_state *s = &lanes[i].state;

		json_array_append_new(list, json_pack("[I, I, I, I, I, I, b]", s->made, s->refused,
						      s->first_ns, s->first_made, s->last_ns,
						      s->last_made, s->done));
	}
	if (by_socket.targets)
		munmap((void *)(uintptr_t)by_socket.targets,
		       by_socket.n_targets * sizeof(*by_socket.targets));
	return json_pack("{s:o}", "lanes", list);
}
