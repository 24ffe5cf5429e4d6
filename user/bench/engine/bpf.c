// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines whose lookup is a BPF program, run by BPF_PROG_TEST_RUN. The time of a run is the
 * kernel's own figure: a clock around the system call would count its preparations, which wait for
 * RCU.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>

#include "lookup.h"

/* An empty run's time, in whole nanoseconds, needs many lookups to be exact. */
#define DRY_LOOKUPS (1u << 20)

/* --- loading -------------------------------------------------------------------------------- */

void bpf_open(struct lookup_side *side, const char *file)
{
	char path[PATH_MAX] = "", *name;
	struct bpf_map *lists;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		plan_check(errno, "/proc");
	name = strrchr(path, '/') + 1;
	snprintf(name, sizeof(path) - (size_t)(name - path), "%s", file);
	side->bpf.object = bpf_object__open_file(path, NULL);
	plan_check(side->bpf.object ? 0 : errno, "%s", path);
	lists = bpf_object__find_map_by_name(side->bpf.object, "addresses");
	plan_check(bpf_map__set_max_entries(lists, side->threads), "%u threads", side->threads);
}

static int program(const struct lookup_side *side, const char *engine, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", engine, what);
	return bpf_program__fd(bpf_object__find_program_by_name(side->bpf.object, name));
}

void bpf_load(struct lookup_side *side, const char *engine)
{
	struct lookup_bpf *bpf = &side->bpf;
	struct bpf_program *prog;

	/* Only the programs of this engine, and the dry ones. */
	bpf_object__for_each_program(prog, bpf->object)
	{
		const char *name = bpf_program__name(prog);
		size_t n = strcspn(name, "_");

		bpf_program__set_autoload(prog, !strncmp(name, "dry", n) ||
							(!strncmp(name, engine, n) && !engine[n]));
	}
	plan_check(bpf_object__load(bpf->object), "%s: cannot load its programs", engine);
	for (uint32_t i = 0; i < side->threads; i++)
		if (bpf_map_update_elem(bpf_map_of(side, "addresses"), &i, &side->lists[i],
					BPF_ANY))
			plan_check(errno, "addresses");
	bpf->run[0] = program(side, engine, "independent");
	bpf->run[1] = program(side, engine, "dependent");
	bpf->answers = program(side, engine, "answers");
	bpf->dry[0] = program(side, "dry", "independent");
	bpf->dry[1] = program(side, "dry", "dependent");
}

int bpf_map_of(const struct lookup_side *side, const char *name)
{
	return bpf_object__find_map_fd_by_name(side->bpf.object, name);
}

/* --- runs ----------------------------------------------------------------------------------- */

struct runner {
	pthread_t thread;
	pthread_barrier_t *begin;
	struct walk_packet packet;
	int prog;
	uint32_t repeat;
	double ns;
};

static void *run(void *ctx)
{
	struct runner *runner = ctx;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	opts.data_in = &runner->packet;
	opts.data_size_in = sizeof(runner->packet);
	opts.repeat = (int)runner->repeat;
	plan_pin(runner->packet.list);
	pthread_barrier_wait(runner->begin);
	plan_check(bpf_prog_test_run_opts(runner->prog, &opts), "cannot run the measured program");
	if (opts.retval != XDP_DROP)
		plan_die("the measured program failed");
	runner->ns = opts.duration;
	return NULL;
}

/* Returns the mean of all threads' times. longest: that of the one that took longest. */
static double run_all(const struct lookup_side *side, int prog, unsigned int threads,
		      uint64_t lookups, double *longest)
{
	_cleanup_free_ struct runner *runners = plan_alloc(threads, sizeof(*runners));
	pthread_barrier_t begin;
	double sum = 0;

	pthread_barrier_init(&begin, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		runners[i] = (struct runner){ .begin = &begin,
					      .packet = side->bpf.packet,
					      .prog = prog,
					      .repeat = (uint32_t)(lookups / WALK_BATCH) ?: 1 };
		runners[i].packet.list = i;
		plan_check(pthread_create(&runners[i].thread, NULL, run, &runners[i]), "threads");
	}
	*longest = 0;
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(runners[i].thread, NULL);
		sum += runners[i].ns;
		*longest = runners[i].ns > *longest ? runners[i].ns : *longest;
	}
	pthread_barrier_destroy(&begin);
	return sum / threads;
}

void bpf_measure(struct lookup_side *side, bool dependent, unsigned int threads, uint64_t lookups,
		 struct lookup_times *out)
{
	const struct lookup_bpf *bpf = &side->bpf;
	double longest;

	out->dry_ns =
		run_all(side, bpf->dry[dependent], threads, DRY_LOOKUPS, &longest) / WALK_BATCH;
	/* Another engine has had the caches: all addresses once before time is taken. */
	run_all(side, bpf->run[dependent], threads, WALK_ADDRESSES, &longest);
	out->gross_ns = run_all(side, bpf->run[dependent], threads, lookups, &longest) / WALK_BATCH;
	out->elapsed_ns = longest / WALK_BATCH / threads;
	/* The next measurement begins where this one ended. */
	side->bpf.packet.cursor += (uint32_t)lookups;
}

void bpf_answers(struct lookup_side *side, uint32_t *out)
{
	uint32_t cursor = side->bpf.packet.cursor, key = 0;
	double longest;

	side->bpf.packet.cursor = 0;
	/* One answer a run. */
	run_all(side, side->bpf.answers, 1, (uint64_t)WALK_ADDRESSES * WALK_BATCH, &longest);
	side->bpf.packet.cursor = cursor;
	plan_check(bpf_map_lookup_elem(bpf_map_of(side, "answers"), &key, out), "answers");
}
