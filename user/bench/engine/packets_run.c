// SPDX-License-Identifier: GPL-2.0-only
/* A run: one thread for each lane, on the lane's CPU, until every lane is done or input comes. */
#include "packets_user.h"

#include <limits.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

#define MOST_LANES 1024
#define POLL_MS 5

/* --- test runs ------------------------------------------------------------------------------ */

static int read_state(const struct lane *lane, struct packets_state *out)
{
	_cleanup_free_ struct packets_state *states =
		calloc((size_t)libbpf_num_possible_cpus(), sizeof(*states));
	uint32_t zero = 0;

	if (!states || bpf_map_lookup_elem(lane->states, &zero, states))
		return plan_fail(states ? -errno : -ENOMEM, "counters of the generator");
	*out = states[plan_cpu(lane->cpu)];
	return 0;
}

static bool is_done(const struct lane *lane, const struct packets_state *state)
{
	const struct packets_run *run = &lane->all->run;
	uint64_t sent = state->made - state->refused;

	/* A device that refused every frame so far takes none at all. */
	return state->over || sent >= state->most || (state->made && !sent) || lane_is_over(lane) ||
	       (run->length_ns && state->first_ns &&
		util_now_ns() - state->first_ns >= run->length_ns);
}

/* A paced lane, and one of several together, runs until a signal ends it. */
static int run_test(const struct lane *lane)
{
	static const uint8_t zeros[PACKETS_MOST_BYTES];
	uint64_t left = lane->state.most - (lane->state.made - lane->state.refused);
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct xdp_md packet = {
		.data_end = lane->all->bytes,
		.ingress_ifindex = lane->all->ingress,
		.rx_queue_index = lane->number,
	};

	options.data_in = zeros;
	options.data_size_in = lane->all->bytes;
	options.repeat = lane->all->run.delay_ns || left > INT_MAX ? INT_MAX : (int)left;
	options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
	options.batch_size = 64;
	if (lane->all->ingress) {
		options.ctx_in = &packet;
		options.ctx_size_in = sizeof(packet);
	}
	if (!bpf_prog_test_run_opts(lane->prog, &options) || errno == EINTR || errno == EAGAIN)
		return 0;
	return plan_fail(-errno, "a test run with live frames (Linux 5.18)");
}

static int make_frames(struct lane *lane)
{
	int ret = 0;

	while (!ret && !is_done(lane, &lane->state)) {
		ret = run_test(lane) ?: read_state(lane, &lane->state);
		if (!ret && !lane->state.made && !lane->all->run.delay_ns && !lane_is_over(lane))
			ret = plan_bad(-EPROTO, "the generator has no such frames");
	}
	return ret;
}

/* The kernel ends a test run at a signal, which it looks for between two batches. */
static void end_done_lanes(const struct lanes *lanes)
{
	struct packets_state state;

	for (uint32_t i = 0; i < lanes->run.lanes && !lanes->frame; i++)
		if (!read_state(&lanes->at[i], &state) && is_done(&lanes->at[i], &state))
			pthread_kill(lanes->at[i].thread, SIGUSR1);
}

static void on_signal(int number)
{
	(void)number;
}

/* --- generators ----------------------------------------------------------------------------- */

static int find_generator(struct lane *lane)
{
	size_t n = strcspn(lane->program, ".");
	struct bpf_map *states = object_map(lane->program, n, "states");
	struct bpf_map *run = states ? object_map(lane->program, n, ".bss") : NULL;
	void *at;

	lane->prog = run ? object_program(lane->program) : -ENOENT;
	if (lane->prog < 0)
		return lane->prog;
	if (bpf_map__value_size(run) != sizeof(*lane->run) ||
	    bpf_map__value_size(states) != sizeof(lane->state))
		return plan_bad(-EINVAL, "%s is not a generator of this version", lane->program);
	lane->states = bpf_map__fd(states);
	at = mmap(NULL, sizeof(*lane->run), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(run),
		  0);
	if (at == MAP_FAILED)
		return plan_fail(-errno, "a run");
	lane->run = at;
	return 0;
}

/* Write the run and the states of its lanes to a lane's generator. states: one for each CPU. */
static int reset(const struct lanes *lanes, const struct lane *one, struct packets_state *states)
{
	uint32_t zero = 0;

	memset(states, 0, (size_t)libbpf_num_possible_cpus() * sizeof(*states));
	for (uint32_t i = 0; i < lanes->run.lanes; i++)
		if (lanes->at[i].states == one->states)
			states[plan_cpu(lanes->at[i].cpu)] = lanes->at[i].state;
	*one->run = lanes->run;
	if (bpf_map_update_elem(one->states, &zero, states, BPF_ANY))
		return plan_fail(-errno, "counters of the generator");
	return 0;
}

static int open_generators(struct lanes *lanes)
{
	struct packets_state *states = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*states));
	int ret = states ? 0 : -ENOMEM;

	if (ret)
		plan_fail(ret, "a run");
	for (uint32_t i = 0; i < lanes->run.lanes && !ret; i++)
		ret = find_generator(&lanes->at[i]);
	for (uint32_t i = 0; i < lanes->run.lanes && !ret; i++)
		ret = reset(lanes, &lanes->at[i], states);
	free(states);
	return ret;
}

/* --- threads -------------------------------------------------------------------------------- */

static void *run_lane(void *arg)
{
	struct lane *lane = arg;

	lane->error = plan_pin(lane->cpu);
	/* What else runs on this CPU would be measured, too. Without the right to, it is. */
	setpriority(PRIO_PROCESS, 0, -20);
	/* After an error as well: the other lanes wait here. */
	pthread_barrier_wait(&lane->all->begin);
	lane->error = lane->error ?: lane->all->frame ? socket_lane(lane) : make_frames(lane);
	eventfd_write(lane->all->ended, 1);
	return NULL;
}

static void stop(struct lanes *lanes)
{
	__atomic_store_n(&lanes->over, true, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < lanes->run.lanes; i++)
		if (lanes->at[i].run)
			__atomic_store_n(&lanes->at[i].run->over, 1, __ATOMIC_RELEASE);
}

/* Input, the plan's next step or its end, means that nobody wants this run any more. */
static void wait_for_lanes(struct lanes *lanes)
{
	struct pollfd fds[] = { { lanes->ended, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
	/* A lane with a fixed number of frames ends by itself. */
	bool looks = lanes->run.together || lanes->run.delay_ns || lanes->run.length_ns;
	uint64_t ended = 0;
	eventfd_t n;

	while (ended < lanes->run.lanes) {
		if (!poll(fds, fds[1].revents ? 1 : 2, looks ? POLL_MS : -1))
			end_done_lanes(lanes);
		if (fds[1].revents) {
			stop(lanes);
			looks = true;
		}
		if (fds[0].revents && !eventfd_read(lanes->ended, &n))
			ended += n;
	}
}

static int run_threads(struct lanes *lanes)
{
	int ret = 0;

	pthread_barrier_init(&lanes->begin, NULL, lanes->run.lanes);
	for (uint32_t i = 0; i < lanes->run.lanes && !ret; i++)
		ret = -pthread_create(&lanes->at[i].thread, NULL, run_lane, &lanes->at[i]);
	if (ret) /* threads that exist wait at the barrier until the process ends */
		return plan_fail(ret, "threads");
	wait_for_lanes(lanes);
	for (uint32_t i = 0; i < lanes->run.lanes; i++) {
		pthread_join(lanes->at[i].thread, NULL);
		ret = ret ?: lanes->at[i].error;
	}
	pthread_barrier_destroy(&lanes->begin);
	return ret;
}

/* --- the step ------------------------------------------------------------------------------- */

static int take_lanes(struct lanes *lanes, json_t *list)
{
	int ret = 0;

	if (lanes->run.lanes && lanes->run.lanes <= MOST_LANES)
		lanes->at = calloc(lanes->run.lanes, sizeof(*lanes->at));
	if (!lanes->at) {
		plan_bad(-EINVAL, "from 1 to %d lanes are wanted", MOST_LANES);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < lanes->run.lanes && !ret; i++) {
		struct lane *lane = &lanes->at[i];
		json_int_t cpu = 0, most = 0, first = 0;

		ret = plan_take(json_array_get(list, i), "[s, I, I, I]", &lane->program, &cpu,
				&most, &first);
		lane->all = lanes;
		lane->number = i;
		lane->cpu = (uint32_t)cpu;
		lane->state.most = lanes->run.together ? UINT64_MAX : (uint64_t)most;
		lane->state.first_target = (uint32_t)first;
	}
	return ret;
}

static int take(struct lanes *lanes, json_t *arguments)
{
	int bytes, ports = 16384, stamped = 0, ifindex = 0, ret;
	const char *ingress = NULL;
	json_int_t count = 0, ns = 0;
	double rate = 0;
	json_t *list;

	ret = plan_take(arguments, "{s:o, s:i, s?I, s?I, s?F, s?i, s?b, s?s}", "lanes", &list,
			"bytes", &bytes, "count", &count, "ns", &ns, "rate", &rate, "ports", &ports,
			"stamped", &stamped, "ingress", &ingress);
	if (!ret && ingress)
		ifindex = object_ifindex(ingress);
	if (ret || ifindex < 0)
		return ret ?: ifindex;
	lanes->ingress = (uint32_t)ifindex;
	lanes->bytes = (uint32_t)bytes;
	lanes->run = (struct packets_run){
		.count = (uint64_t)count,
		.length_ns = (uint64_t)ns,
		.lanes = (uint32_t)json_array_size(list),
		.port_mask = (uint32_t)ports - 1,
		.together = count > 0,
		.stamped = (uint32_t)stamped,
	};
	if (rate > 0)
		lanes->run.delay_ns = (uint64_t)(lanes->run.lanes * 1e9 / rate);
	return take_lanes(lanes, list);
}

static int run(struct lanes *lanes, json_t *answer)
{
	struct sigaction action = { .sa_handler = on_signal };
	json_t *list = json_array();
	int ret;

	sigaction(SIGUSR1, &action, NULL);
	lanes->ended = eventfd(0, EFD_CLOEXEC);
	ret = lanes->ended < 0 ? plan_fail(-errno, "a run") : run_threads(lanes);
	for (uint32_t i = 0; i < lanes->run.lanes; i++) {
		const struct packets_state *s = &lanes->at[i].state;

		json_array_append_new(list, json_pack("[I, I, I, I, I, I, b]", s->made, s->refused,
						      s->first_ns, s->first_made, s->last_ns,
						      s->last_made, s->done));
	}
	json_object_set_new(answer, "lanes", list);
	return ret;
}

static void close_lanes(struct lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->run.lanes && lanes->at; i++)
		if (lanes->at[i].run)
			munmap(lanes->at[i].run, sizeof(struct packets_run));
	socket_close(lanes);
	util_close(&lanes->ended);
	free(lanes->at);
}

int run_lanes(void *ctx, json_t *arguments, json_t *answer)
{
	_cleanup_(close_lanes) struct lanes lanes = { .ended = -1 };
	int ret = take(&lanes, arguments);

	(void)ctx;
	if (ret)
		return ret;
	ret = json_object_get(arguments, "header") ? socket_open(&lanes, arguments)
						   : open_generators(&lanes);
	return ret ?: run(&lanes, answer);
}
