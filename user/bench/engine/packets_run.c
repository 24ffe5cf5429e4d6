// SPDX-License-Identifier: GPL-2.0-only
/* A run: one thread for each lane, on the lane's CPU, until every lane is done or input comes. */
#include "packets_user.h"

#include <limits.h>
#include <linux/bpf.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MOST_LANES 1024
#define POLL_MS 5

struct lane {
	struct packets_state own, *state; /* at the start; as the generator's program sees it */
	pthread_t thread;
	const char *program;
	uint32_t cpu, number;
	int prog; /* of the generator, as the following */
	struct packets_run *run;
	struct packets_state *states;
	size_t states_bytes;
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

/* --- lanes ---------------------------------------------------------------------------------- */

static bool is_done(const struct packets_state *state)
{
	uint64_t sent = state->made - state->refused;

	/* A device that refused all frames so far will refuse the others. */
	return state->over || sent >= state->most || (state->made && !sent) || run_is_over() ||
	       (run.length_ns && state->first_ns &&
		util_now_ns() - state->first_ns >= run.length_ns);
}

/* A paced lane, and one of several together, runs until a signal ends it. */
static void run_test(const struct lane *lane)
{
	static const uint8_t zeros[PACKETS_MOST_BYTES];
	uint64_t left = lane->state->most - (lane->state->made - lane->state->refused);
	struct xdp_md packet = {
		.data_end = frame_bytes,
		.ingress_ifindex = ingress,
		.rx_queue_index = lane->number,
	};
	LIBBPF_OPTS(bpf_test_run_opts, options);
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
	while (!is_done(lane->state)) {
		run_test(lane);
		if (!lane->state->made && !run.delay_ns && !run_is_over())
			plan_die("the generator has no such frames");
	}
}

/* Map the lane's state and the run, which are variables of the generator's program. */
static void open_generator(struct lane *lane)
{
	size_t n = strcspn(lane->program, "."), run_bytes;
	const struct bpf_map *states = packets_map(lane->program, n, "states");
	const struct bpf_map *bss = packets_map(lane->program, n, ".bss");
	uint32_t cpu = plan_cpu(lane->cpu);

	lane->prog = packets_program(lane->program);
	lane->run = packets_values(bss, &run_bytes);
	lane->states = packets_values(states, &lane->states_bytes);
	if (run_bytes != sizeof(run) || bpf_map__value_size(states) != sizeof(lane->own))
		plan_die("%s is not a generator of this version", lane->program);
	*lane->run = run;
	lane->states[cpu] = lane->own;
	lane->state = &lane->states[cpu];
}

/* --- threads -------------------------------------------------------------------------------- */

static void *run_lane(void *arg)
{
	struct lane *lane = arg;

	plan_pin(lane->cpu);
	/* Keep other work off this CPU. Without the privilege, that work is measured, too. */
	setpriority(PRIO_PROCESS, 0, -20);
	pthread_barrier_wait(&begin);
	make_frames(lane);
	eventfd_write(ended, 1);
	return NULL;
}

/* The kernel ends a test run at a signal, which it looks for between two batches. */
static void end_done_lanes(void)
{
	for (uint32_t i = 0; i < run.lanes; i++)
		if (is_done(lanes[i].state))
			pthread_kill(lanes[i].thread, SIGUSR1);
}

static void stop(void)
{
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < run.lanes; i++)
		__atomic_store_n(&lanes[i].run->over, 1, __ATOMIC_RELEASE);
}

/* Any input, the next step or the end, ends the run. */
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
	signal(SIGUSR1, on_signal);
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

static void take(json_t *arguments)
{
	int bytes, ports = 16384;
	const char *device = NULL;
	json_int_t count = 0, ns = 0;
	double rate = 0;
	json_t *list;

	plan_take(arguments, "{s:o, s:i, s?I, s?I, s?F, s?i, s?s}", "lanes", &list, "bytes", &bytes,
		  "count", &count, "ns", &ns, "rate", &rate, "ports", &ports, "ingress", &device);
	run = (struct packets_run){
		.count = (uint64_t)count,
		.length_ns = (uint64_t)ns,
		.lanes = (uint32_t)json_array_size(list),
		.port_mask = (uint32_t)ports - 1,
		.together = count > 0,
	};
	if (!run.lanes || run.lanes > MOST_LANES)
		plan_die("from 1 to %d lanes are wanted", MOST_LANES);
	if (bytes > PACKETS_MOST_BYTES)
		plan_die("frames of at most %d bytes are wanted", PACKETS_MOST_BYTES);
	if (rate > 0)
		run.delay_ns = (uint64_t)(run.lanes * 1e9 / rate);
	frame_bytes = (uint32_t)bytes;
	ingress = device ? packets_ifindex(device) : 0;
	is_over = false;
	for (uint32_t i = 0; i < run.lanes; i++) {
		json_int_t cpu, most, first;
		const char *program;

		plan_take(json_array_get(list, i), "[s, I, I, I]", &program, &cpu, &most, &first);
		lanes[i] = (struct lane){
			.program = program,
			.cpu = (uint32_t)cpu,
			.number = i,
			.own.most = run.together ? UINT64_MAX : (uint64_t)most,
			.own.first_target = (uint32_t)first,
		};
	}
}

/*
 * {"lanes": [[PROGRAM, CPU, MOST, FIRST], …], "bytes"}: each lane makes frames of so many bytes by
 * a generator's program on the CPU (plan_cpu()), at most so many, to the targets from FIRST on.
 *   "count": until every lane has made so many while all others ran, too
 *   "ns": for so long. "rate": so many frames a second by all lanes together
 *   "ingress": the device that frames seem to come in by, if they go into a program
 *   "ports": number of source ports, a power of 2
 * Input ends the run early. Answers {"lanes": [[MADE, REFUSED, FIRST_NS, FIRST_MADE, LAST_NS,
 * LAST_MADE], …]}, as in struct packets_state.
 */
static json_t *run_step(json_t *arguments)
{
	json_t *list = json_array();

	take(arguments);
	for (uint32_t i = 0; i < run.lanes; i++)
		open_generator(&lanes[i]);
	run_threads();
	for (uint32_t i = 0; i < run.lanes; i++) {
		const struct packets_state *s = lanes[i].state;

		json_array_append_new(list, json_pack("[I, I, I, I, I, I]", s->made, s->refused,
						      s->first_ns, s->first_made, s->last_ns,
						      s->last_made));
		munmap(lanes[i].run, sizeof(run));
		munmap(lanes[i].states, lanes[i].states_bytes);
	}
	return json_pack("{s:o}", "lanes", list);
}

int main(void)
{
	static const struct plan_step steps[] = {
		{ "load", packets_load_step }, { "attach", packets_attach_step },
		{ "fill", packets_fill_step }, { "sums", packets_sums_step },
		{ "run", run_step },	       { NULL, NULL },
	};

	/* poll() does not see what stdio has read ahead. */
	setvbuf(stdin, NULL, _IONBF, 0);
	return plan_serve(steps);
}
