// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench-kinds: which kind of map exceptions should stand in. For each kind: what it costs in memory
 * empty and full, how many of the entries it was given it still has, and what a hit costs on
 * one CPU and on all CPUs at once. The kinds are run in turn, round by round.
 *
 * A line of JSON for each kind, and one for each run. Says nothing about what is good or bad.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../../user/bench/forward/gen.h"
#include "kinds.h"

#define RUNS 3000000
#define RUNS_BESIDE 10000 /* at a time, while others are measured */
#define MAX_CPUS 64
#define REFILL_STEP_NS 500000
#define REFILL_STEPS 2000

/* Entries that packets are for: all, as many as a busy router has, and one that all CPUs hit. */
static const uint32_t spreads[] = { KINDS_ENTRIES, 1024, 1 };
static const char *const kinds[] = { "none", "shared", "percpu", "percpu_full", "percpu_lru" };

struct runner {
	pthread_t thread;
	pthread_barrier_t *barrier;
	int *n_measured, n;
	int prog_fd, cpu, err;
	uint64_t ns; /* a run */
};

static int complain(int err, const char *what)
{
	fprintf(stderr, "bench-kinds: %s: %s\n", what, strerror(-err));
	return err;
}

/* As the kernel accounts for it; 0: it does not say. */
static unsigned long long memory_bytes(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static union sixlane_addr key_of(uint32_t number)
{
	return (union sixlane_addr){ .words = { [3] = number } };
}

/* What is not preallocated comes from a reserve that a kernel thread refills. */
static int insert(int fd, const union sixlane_addr *key, const void *value)
{
	const struct timespec step = { .tv_nsec = REFILL_STEP_NS };

	for (int i = 0; i < REFILL_STEPS; i++) {
		if (!bpf_map_update_elem(fd, key, value, BPF_ANY))
			return 0;
		if (errno != ENOMEM)
			break;
		nanosleep(&step, NULL);
	}
	return -errno;
}

static int fill(int fd)
{
	struct sixlane_exception values[MAX_CPUS] = { 0 };
	int ret = 0;

	for (uint32_t i = 0; !ret && i < KINDS_ENTRIES; i++) {
		union sixlane_addr key = key_of(i);

		ret = insert(fd, &key, values);
	}
	return ret;
}

static uint32_t count(int fd)
{
	struct sixlane_exception values[MAX_CPUS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < KINDS_ENTRIES; i++) {
		union sixlane_addr key = key_of(i);

		n += !bpf_map_lookup_elem(fd, &key, values);
	}
	return n;
}

static int fill_and_tell(const struct bpf_object *object, const char *kind)
{
	int fd = bpf_object__find_map_fd_by_name(object, kind);
	unsigned long long empty;
	int ret;

	if (fd < 0)
		return 0;
	empty = memory_bytes(fd);
	ret = fill(fd);
	if (ret)
		return complain(ret, kind);
	printf("{\"kind\": \"%s\", \"entries\": %u, \"kept\": %u, \"empty_bytes\": %llu, "
	       "\"full_bytes\": %llu}\n",
	       kind, KINDS_ENTRIES, count(fd), empty, memory_bytes(fd));
	return 0;
}

static void run(struct runner *runner, int repeat)
{
	uint8_t frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = repeat);

	if (!runner->err && bpf_prog_test_run_opts(runner->prog_fd, &opts))
		runner->err = -errno;
	runner->ns = opts.duration;
}

/*
 * Goes on until all are measured, so that each is beside all others, to its end. What else wants
 * the CPU would leave the others alone meanwhile; a priority among the ordinary is one within a
 * session.
 */
static void *run_on_cpu(void *arg)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct runner *runner = arg;
	uint64_t ns;

	runner->err = gen_pin_cpu(runner->cpu) < 0 ? -EINVAL : 0;
	if (!runner->err && sched_setscheduler(0, SCHED_FIFO, &first))
		runner->err = -errno;
	run(runner, RUNS_BESIDE);
	pthread_barrier_wait(runner->barrier);
	run(runner, RUNS);
	ns = runner->ns;
	__atomic_add_fetch(runner->n_measured, 1, __ATOMIC_RELAXED);
	while (!runner->err && __atomic_load_n(runner->n_measured, __ATOMIC_RELAXED) < runner->n)
		run(runner, RUNS_BESIDE);
	runner->ns = ns;
	return NULL;
}

static int set_spread(const struct bpf_object *object, uint32_t n)
{
	uint32_t zero = 0;
	int fd = bpf_object__find_map_fd_by_name(object, "spread");

	return bpf_map_update_elem(fd, &zero, &n, BPF_ANY) ? complain(-errno, "spread") : 0;
}

static int run_kind(const struct bpf_object *object, const char *kind, uint32_t spread,
		    unsigned int round, int n_cpus)
{
	struct runner runners[MAX_CPUS] = { 0 };
	pthread_barrier_t barrier;
	char name[32];
	int n_measured = 0, ret = 0;

	snprintf(name, sizeof(name), "hit_%s", kind);
	pthread_barrier_init(&barrier, NULL, (unsigned int)n_cpus);
	for (int i = 0; i < n_cpus; i++) {
		runners[i].barrier = &barrier;
		runners[i].n_measured = &n_measured;
		runners[i].n = n_cpus;
		runners[i].cpu = i;
		runners[i].prog_fd =
			bpf_program__fd(bpf_object__find_program_by_name(object, name));
		if (pthread_create(&runners[i].thread, NULL, run_on_cpu, &runners[i]))
			return complain(-EAGAIN, "thread");
	}
	for (int i = 0; i < n_cpus; i++) {
		pthread_join(runners[i].thread, NULL);
		if (!ret && runners[i].err)
			ret = complain(runners[i].err, name);
	}
	pthread_barrier_destroy(&barrier);
	for (int i = 0; !ret && i < n_cpus; i++)
		printf("{\"kind\": \"%s\", \"spread\": %u, \"round\": %u, \"cpus\": %d, \"ns\": %llu}\n",
		       kind, spread, round, n_cpus, (unsigned long long)runners[i].ns);
	fflush(stdout);
	return ret;
}

static int run_round(const struct bpf_object *object, uint32_t spread, unsigned int round,
		     int n_cpus)
{
	int ret = set_spread(object, spread);

	for (size_t i = 0; !ret && i < ARRAY_SIZE(kinds); i++)
		ret = run_kind(object, kinds[i], spread, round, 1)
			      ?: run_kind(object, kinds[i], spread, round, n_cpus);
	return ret;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 5;
	int n_cpus = libbpf_num_possible_cpus(), ret;
	struct bpf_object *object;
	char path[PATH_MAX];

	if (n_cpus > MAX_CPUS)
		return complain(-E2BIG, "CPUs"), 1;
	bench_find_file("kinds.bpf.o", path, sizeof(path));
	object = bpf_object__open_file(path, NULL);
	ret = object ? bpf_object__load(object) : -errno;
	if (ret)
		return complain(ret, path), 1;
	for (size_t i = 0; !ret && i < ARRAY_SIZE(kinds); i++)
		ret = fill_and_tell(object, kinds[i]);
	for (unsigned int round = 0; !ret && round < rounds; round++) {
		for (size_t i = 0; !ret && i < ARRAY_SIZE(spreads); i++)
			ret = run_round(object, spreads[i], round, n_cpus);
	}
	bpf_object__close(object);
	return ret ? 1 : 0;
}
