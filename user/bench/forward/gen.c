// SPDX-License-Identifier: GPL-2.0-only
/* See gen.h. */
#include "gen.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

#define OBJECT "bench-flood.bpf.o"
/*
 * Several CPUs: so many times their count, and at least so many frames, they may take until all
 * have made theirs. A CPU that others want comes late, and the rest of the frames costs next to
 * nothing.
 */
#define MOST_TIMES 8u
#define LEAST_FRAMES 500000u
#define TRIES 5

struct gen {
	struct bpf_object *object;
	int plain_fd, stamped_fd; /* programs; of the second there is none for sending */
	int into_fd, states_fd, run_fd;
	struct frame frame;
	uint32_t frame_bytes, targets;
	unsigned int cpus;
};

int gen_pin_cpu(int cpu)
{
	cpu_set_t set;

	if (cpu < 0) {
		if (sched_getaffinity(0, sizeof(set), &set))
			return -errno;
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cpu = i;
	}
	/* What else runs on that CPU would be counted as ours. Not having the right is no error. */
	setpriority(PRIO_PROCESS, 0, -20);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : cpu;
}

/* --- programs and maps -------------------------------------------------------------------- */

static bool is_wanted(const struct gen_options *options, const char *program)
{
	if (options->about.frame_bytes)
		return !strcmp(program, "flood_about");
	if (options->send_ifindex)
		return !strcmp(program, "flood_send");
	return !strncmp(program, "flood_into", strlen("flood_into"));
}

static int configure(struct gen *gen, const struct gen_options *options)
{
	struct flood_config config = { .target_mask = gen->targets - 1,
				       .ifindex = options->send_ifindex,
				       .about = options->about };
	struct bpf_program *prog = NULL;
	struct bpf_map *map = NULL;
	int ret = 0;

	if (!options->about.frame_bytes) {
		config.header_bytes = gen->frame.header_bytes;
		config.payload_bytes = gen->frame.bytes - gen->frame.header_bytes;
		memcpy(config.header.bytes, gen->frame.at, config.header_bytes);
	}
	while ((prog = bpf_object__next_program(gen->object, prog)))
		bpf_program__set_autoload(prog, is_wanted(options, bpf_program__name(prog)));
	while ((map = bpf_object__next_map(gen->object, map))) {
		if (!strcmp(bpf_map__name(map), "targets") && !options->about.frame_bytes)
			ret = ret ?: bpf_map__set_max_entries(map, gen->cpus * gen->targets);
		else if (strstr(bpf_map__name(map), ".rodata"))
			ret = ret ?: bpf_map__set_initial_value(map, &config, sizeof(config));
	}
	return ret;
}

static int find_descriptors(struct gen *gen, const struct gen_options *options)
{
	struct bpf_program *prog = NULL;
	struct bpf_map *map = NULL;

	while ((prog = bpf_object__next_program(gen->object, prog))) {
		if (!is_wanted(options, bpf_program__name(prog)))
			continue;
		if (strstr(bpf_program__name(prog), "stamped"))
			gen->stamped_fd = bpf_program__fd(prog);
		else
			gen->plain_fd = bpf_program__fd(prog);
	}
	gen->into_fd = bpf_object__find_map_fd_by_name(gen->object, "into");
	gen->states_fd = bpf_object__find_map_fd_by_name(gen->object, "states");
	while ((map = bpf_object__next_map(gen->object, map)))
		if (strstr(bpf_map__name(map), ".bss"))
			gen->run_fd = bpf_map__fd(map);
	return gen->run_fd > 0 ? 0 : -EPROTO;
}

static int load(struct gen *gen, const struct gen_options *options)
{
	char path[PATH_MAX];
	int ret = bench_find_file(OBJECT, path, sizeof(path));

	if (ret)
		return bench_fail(ret, "%s", path);
	gen->object = bpf_object__open_file(path, NULL);
	if (!gen->object)
		return bench_fail(-errno, "%s", path);
	ret = configure(gen, options) ?: bpf_object__load(gen->object)
						 ?: find_descriptors(gen, options);
	return ret ? bench_fail(ret, "cannot load the generator, %s", path) : 0;
}

static int check_about(const struct gen_options *options)
{
	const struct flood_about *about = &options->about;

	if (!about->frame_bytes)
		return 0;
	if (!options->send_ifindex || about->frame_bytes > FLOOD_ABOUT_BYTES ||
	    about->frame_bytes % 2 || about->n_places > FLOOD_ABOUT_PLACES)
		return bench_bad(-EINVAL, "no such frame can be sent");
	for (uint32_t i = 0; i < about->n_places; i++)
		if (about->places[i] % 2 || about->places[i] + 8 > about->frame_bytes)
			return bench_bad(-EINVAL, "the sequence number does not fit at offset %u",
					 about->places[i]);
	return 0;
}

int gen_new(const struct gen_options *options, struct gen **out)
{
	struct gen *gen;
	int ret = check_about(options);

	if (ret)
		return ret;
	if (!options->about.frame_bytes && options->frame.bytes > FLOOD_FRAME_BYTES_MAX)
		return bench_bad(-EINVAL, "frames are of %u bytes at most", FLOOD_FRAME_BYTES_MAX);
	if (!options->targets || options->targets & (options->targets - 1))
		return bench_bad(-EINVAL, "%u destinations: not a power of 2", options->targets);
	gen = calloc(1, sizeof(*gen));
	if (!gen)
		return bench_fail(-ENOMEM, "generator");
	gen->frame = options->frame;
	gen->frame_bytes = options->about.frame_bytes ?: options->frame.bytes;
	gen->targets = options->targets;
	gen->cpus = options->cpus ?: 1;
	ret = load(gen, options);
	if (ret)
		gen_free(gen);
	else
		*out = gen;
	return ret;
}

void gen_free(struct gen *gen)
{
	if (!gen)
		return;
	bpf_object__close(gen->object);
	free(gen);
}

int gen_aim(struct gen *gen, const union sixlane_addr *addresses)
{
	int fd = bpf_object__find_map_fd_by_name(gen->object, "targets");
	uint32_t n = gen->cpus * gen->targets;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (n * sizeof(struct flood_target) + page - 1) / page * page;
	struct flood_target *target;

	target = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (target == MAP_FAILED)
		return bench_fail(-errno, "destinations of the generator");
	for (uint32_t i = 0; i < n; i++) {
		memcpy(target[i].addr, &addresses[i], sizeof(target[i].addr));
		target[i].sum = frame_sum(&gen->frame, &addresses[i]);
	}
	munmap(target, bytes);
	return 0;
}

int gen_into(struct gen *gen, int prog_fd)
{
	uint32_t zero = 0;

	if (bpf_map_update_elem(gen->into_fd, &zero, &prog_fd, 0))
		return bench_fail(-errno, "cannot call the program under test");
	return 0;
}

/* --- runs --------------------------------------------------------------------------------- */

/* A signal ends a test run early: the kernel looks for one between two batches. */
static void set_limit(uint32_t ms)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 },
	};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_signal(int number)
{
	(void)number;
}

/* states: one for each possible CPU. */
static int reset(const struct gen *gen, const struct gen_run *run, struct flood_state *states)
{
	struct flood_run shared = {
		/* One CPU ends with its frames. */
		.count = gen->cpus > 1 ? run->count : UINT64_MAX,
		.cpus = gen->cpus,
		.port_mask = run->one_port ? 0 : FLOOD_SRC_PORTS - 1,
	};
	uint32_t zero = 0;

	memset(states, 0, (size_t)libbpf_num_possible_cpus() * sizeof(*states));
	for (unsigned int i = 0; i < gen->cpus && gen->cpus > 1; i++)
		states[bench_cpu(i)].first_target = i * gen->targets;
	if (bpf_map_update_elem(gen->states_fd, &zero, states, 0) ||
	    bpf_map_update_elem(gen->run_fd, &zero, &shared, 0))
		return bench_fail(-errno, "cannot reset the generator");
	return 0;
}

struct runner {
	pthread_t thread;
	pthread_barrier_t *begin; /* NULL: it is the only one, and on its CPU already */
	const struct gen *gen;
	const struct gen_run *run;
	unsigned int number;
	uint32_t repeat;
	int error;
};

static void run_test(struct runner *runner)
{
	const struct gen *gen = runner->gen;
	struct xdp_md ctx = {
		.data_end = gen->frame_bytes,
		.ingress_ifindex = runner->run->ingress,
		.rx_queue_index = runner->number,
	};
	static const uint8_t zeros[FLOOD_FRAME_BYTES_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int prog_fd = runner->run->stamped ? gen->stamped_fd : gen->plain_fd;

	opts.data_in = zeros;
	opts.data_size_in = gen->frame_bytes;
	opts.ctx_in = &ctx;
	opts.ctx_size_in = sizeof(ctx);
	opts.repeat = (int)runner->repeat;
	opts.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
	opts.batch_size = 64;
	runner->error = bpf_prog_test_run_opts(prog_fd, &opts) ? -errno : 0;
}

static void *run_thread(void *ctx)
{
	struct runner *runner = ctx;

	if (gen_pin_cpu(bench_cpu(runner->number)) < 0)
		runner->error = -EINVAL;
	/* also after an error: the others wait */
	pthread_barrier_wait(runner->begin);
	if (!runner->error)
		run_test(runner);
	return NULL;
}

/* Those that were started wait for ever if not all can be, and end with the process. */
static int run_threads(struct runner *runners, unsigned int n)
{
	pthread_barrier_t begin;
	int ret = 0;

	pthread_barrier_init(&begin, NULL, n);
	for (unsigned int i = 0; i < n && !ret; i++) {
		runners[i].begin = &begin;
		ret = -pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]);
	}
	if (ret)
		return bench_fail(ret, "threads of the generator");
	for (unsigned int i = 0; i < n; i++)
		pthread_join(runners[i].thread, NULL);
	pthread_barrier_destroy(&begin);
	return 0;
}

static int run_once(const struct gen *gen, const struct gen_run *run, struct runner *runners,
		    uint32_t frames)
{
	int ret = 0;

	for (unsigned int i = 0; i < gen->cpus; i++)
		runners[i] =
			(struct runner){ .gen = gen, .run = run, .number = i, .repeat = frames };
	if (gen->cpus > 1)
		ret = run_threads(runners, gen->cpus);
	else
		run_test(&runners[0]);
	for (unsigned int i = 0; i < gen->cpus && !ret; i++)
		if (runners[i].error && runners[i].error != -EINTR && runners[i].error != -EAGAIN)
			ret = bench_fail(runners[i].error,
					 "test run with live frames (needs Linux 5.18)");
	return ret;
}

static struct gen_result result_of(const struct flood_state *state, const struct runner *runner)
{
	struct gen_result result = { .sent = state->sent, .interrupted = runner->error != 0 };

	if (state->stamp_sent) {
		result.timed = state->stamp_sent - state->first_sent;
		result.timed_ns = state->stamp_ns - state->first_ns;
	}
	return result;
}

/* Of the only CPU, wherever that is, or of each; what they have sent is added to what they had. 1:
 * not all have made their count. */
static int read_results(const struct gen *gen, struct flood_state *states,
			const struct runner *runners, struct gen_result *results)
{
	int n = libbpf_num_possible_cpus(), ret = 0;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(gen->states_fd, &zero, states))
		return bench_fail(-errno, "cannot read the generator's counters");
	for (unsigned int i = 0; i < gen->cpus && gen->cpus > 1; i++) {
		const struct flood_state *state = &states[bench_cpu(i)];
		uint64_t before = results[i].sent;

		results[i] = result_of(state, &runners[i]);
		results[i].sent += before;
		if (!state->done && !results[i].interrupted)
			ret = 1;
	}
	for (int cpu = 0; cpu < n && gen->cpus == 1; cpu++)
		if (!cpu || states[cpu].sent)
			results[0] = result_of(&states[cpu], &runners[0]);
	return ret;
}

static int run_with(struct gen *gen, const struct gen_run *run, struct gen_result *results,
		    struct flood_state *states, struct runner *runners)
{
	uint64_t frames = run->count;
	int ret = 1;

	if (gen->cpus > 1)
		frames = frames * MOST_TIMES < LEAST_FRAMES ? LEAST_FRAMES : frames * MOST_TIMES;
	memset(results, 0, gen->cpus * sizeof(*results));
	for (int i = 0; i < TRIES && ret == 1 && frames <= INT_MAX; i++, frames *= 2)
		ret = reset(gen, run, states) ?: run_once(gen, run, runners, (uint32_t)frames)
							 ?: read_results(gen, states, runners,
									 results);
	return ret == 1 ? bench_bad(-EBUSY, "the CPUs do not get to make packets at the same time: "
					    "what else runs here?")
			: ret;
}

int gen_run(struct gen *gen, const struct gen_run *run, struct gen_result *results)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct flood_state *states;
	struct runner *runners;
	int ret = -ENOMEM;

	if (!run->count || run->count > INT_MAX)
		return bench_bad(-EINVAL, "%u packets: from 1 to %d", run->count, INT_MAX);
	states = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*states));
	runners = calloc(gen->cpus, sizeof(*runners));
	sigaction(SIGALRM, &action, NULL);
	set_limit(gen->cpus > 1 ? 0 : run->limit_ms);
	if (states && runners)
		ret = run_with(gen, run, results, states, runners);
	else
		bench_fail(ret, "generator");
	set_limit(0);
	free(runners);
	free(states);
	return ret;
}
