// SPDX-License-Identifier: GPL-2.0-only
/* See bpf.h. */
#include "bpf.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* An empty run's time, in whole nanoseconds, needs many lookups to be exact. */
#define DRY_LOOKUPS (1u << 20)
#define MOST_THREADS 256

static const char *const modes[] = { "independent", "dependent" };

uint64_t bpf_map_bytes(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "memlock: %llu", &bytes);
	return bytes;
}

int bpf_netns_enter(int netns, int *back)
{
	*back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*back < 0 || (netns >= 0 ? setns(netns, CLONE_NEWNET) : unshare(CLONE_NEWNET)))
		return plan_fail(-errno, "network namespace");
	return 0;
}

int bpf_netns_leave(int *back)
{
	int ret = *back >= 0 && setns(*back, CLONE_NEWNET) ? -errno : 0;

	util_close(back);
	return ret ? plan_fail(ret, "network namespace") : 0;
}

/* --- loading -------------------------------------------------------------------------------- */

static struct bpf_program *program(const struct bpf_object *object, const char *engine,
				   const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", engine, what);
	return bpf_object__find_program_by_name(object, name);
}

/* Only the programs of this engine, and the dry ones. */
static int choose_programs(struct bpf_object *object, const char *engine)
{
	const char *const wanted[][2] = { { engine, modes[0] },
					  { engine, modes[1] },
					  { engine, "answers" },
					  { "dry", modes[0] },
					  { "dry", modes[1] } };
	struct bpf_program *prog = NULL;

	while ((prog = bpf_object__next_program(object, prog)))
		bpf_program__set_autoload(prog, false);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		prog = program(object, wanted[i][0], wanted[i][1]);
		if (!prog)
			return plan_bad(-ENOENT, "there is no program %s_%s", wanted[i][0],
					wanted[i][1]);
		bpf_program__set_autoload(prog, true);
	}
	return 0;
}

/* The engine's prepare() adds those that it needs. */
static int choose_maps(struct bpf_object *object, unsigned int threads)
{
	struct bpf_map *map;
	int ret = 0;

	bpf_object__for_each_map(map, object)
	{
		if (!strcmp(bpf_map__name(map), "addresses"))
			ret = bpf_map__set_max_entries(map, threads);
		else if (strcmp(bpf_map__name(map), "answers") != 0)
			bpf_map__set_autocreate(map, false);
	}
	return ret;
}

static int put_addresses(const struct lookup_side *side, const struct bpf_object *object)
{
	int fd = bpf_object__find_map_fd_by_name(object, "addresses"), ret = 0;

	for (uint32_t key = 0; key < side->threads && !ret; key++)
		ret = bpf_map_update_elem(fd, &key, &side->lists[key], BPF_ANY) ? -errno : 0;
	return ret;
}

static int load(struct lookup_side *side, struct bpf_side *bpf, const struct bpf_engine *engine)
{
	struct bpf_object *object = bpf->object;
	int ret = choose_programs(object, engine->programs) ?: choose_maps(object, side->threads);

	ret = ret ?: engine->prepare(side, object);
	if (ret)
		return ret;
	ret = bpf_object__load(object) ?: put_addresses(side, object);
	if (ret)
		return plan_fail(ret, "%s: cannot load its programs", engine->file);
	for (int mode = 0; mode < 2; mode++) {
		bpf->run[mode] = bpf_program__fd(program(object, engine->programs, modes[mode]));
		bpf->dry[mode] = bpf_program__fd(program(object, "dry", modes[mode]));
	}
	bpf->answers = bpf_program__fd(program(object, engine->programs, "answers"));
	return 0;
}

int bpf_side_open(struct lookup_side *side, const struct bpf_engine *engine, size_t bytes)
{
	struct bpf_side *bpf = calloc(1, bytes);
	char path[PATH_MAX];

	if (!bpf)
		return plan_fail(-ENOMEM, "%s", side->engine->name);
	side->state = bpf;
	bpf->netns = -1;
	plan_beside(engine->file, path, sizeof(path));
	bpf->object = bpf_object__open_file(path, NULL);
	return bpf->object ? load(side, bpf, engine) : plan_fail(-errno, "%s", path);
}

/* --- runs ----------------------------------------------------------------------------------- */

struct runner {
	pthread_t thread;
	pthread_barrier_t *begin;
	struct walk_packet packet;
	unsigned int number;
	int prog, error;
	uint32_t repeat;
	double ns;
};

/* What a run took: the mean of all threads, and that of the one that took longest. */
struct runs {
	double mean_ns, longest_ns;
};

static int run(struct runner *runner)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc;

	opts.data_in = &runner->packet;
	opts.data_size_in = sizeof(runner->packet);
	opts.repeat = (int)runner->repeat;
	rc = bpf_prog_test_run_opts(runner->prog, &opts);
	runner->ns = opts.duration;
	if (rc)
		return plan_fail(rc, "cannot run the measured program");
	return opts.retval == XDP_DROP ? 0 : plan_bad(-EPROTO, "the measured program failed");
}

static void *run_thread(void *ctx)
{
	struct runner *runner = ctx;

	runner->error = plan_pin(runner->number);
	/* Also after an error: the others wait. */
	pthread_barrier_wait(runner->begin);
	runner->error = runner->error ?: run(runner);
	return NULL;
}

/* Threads that were started wait for ever if one cannot be, and end with the process. */
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
		return plan_fail(ret, "threads");
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(runners[i].thread, NULL);
		ret = ret ?: runners[i].error;
	}
	pthread_barrier_destroy(&begin);
	return ret;
}

/*
 * In the namespace of the side, since bpf_fib_lookup() asks the tables of that in which a test run
 * is begun. Threads inherit it.
 */
static int run_all(const struct bpf_side *bpf, int prog, unsigned int threads, uint64_t lookups,
		   struct runs *out)
{
	struct runner runners[MOST_THREADS];
	int back = -1, ret, left;

	if (threads > MOST_THREADS)
		return plan_bad(-EINVAL, "%u threads are too many", threads);
	for (unsigned int i = 0; i < threads; i++) {
		runners[i] = (struct runner){ .packet = bpf->packet,
					      .number = i,
					      .prog = prog,
					      .repeat = (uint32_t)(lookups / WALK_BATCH) ?: 1 };
		runners[i].packet.list = i;
	}
	ret = bpf->netns < 0 ? 0 : bpf_netns_enter(bpf->netns, &back);
	ret = ret ?: threads == 1 ? run(&runners[0]) : run_threads(runners, threads);
	left = bpf->netns < 0 ? 0 : bpf_netns_leave(&back);
	*out = (struct runs){ 0 };
	for (unsigned int i = 0; i < threads; i++) {
		out->mean_ns += runners[i].ns / threads;
		if (runners[i].ns > out->longest_ns)
			out->longest_ns = runners[i].ns;
	}
	return ret ?: left;
}

int bpf_side_measure(struct lookup_side *side, bool dependent, unsigned int threads,
		     uint64_t lookups, struct lookup_times *out)
{
	struct bpf_side *bpf = side->state;
	struct runs gross = { 0 }, dry = { 0 }, cold = { 0 };
	int ret;

	/* Another engine has had the caches: all addresses once before time is taken. */
	ret = run_all(bpf, bpf->dry[dependent], threads, DRY_LOOKUPS, &dry)
		      ?: run_all(bpf, bpf->run[dependent], threads, WALK_ADDRESSES, &cold)
		      ?: run_all(bpf, bpf->run[dependent], threads, lookups, &gross);
	if (ret)
		return ret;
	/* The next measurement begins where this one ended. */
	bpf->packet.cursor += (uint32_t)lookups;
	*out = (struct lookup_times){
		.gross_ns = gross.mean_ns / WALK_BATCH,
		.dry_ns = dry.mean_ns / WALK_BATCH,
		.elapsed_ns = gross.longest_ns / WALK_BATCH / threads,
	};
	return 0;
}

int bpf_side_answers(struct lookup_side *side, uint32_t *out)
{
	struct bpf_side *bpf = side->state;
	uint32_t cursor = bpf->packet.cursor, key = 0;
	struct runs runs;
	int fd = bpf_object__find_map_fd_by_name(bpf->object, "answers"), ret;

	bpf->packet.cursor = 0;
	/* One answer a run. */
	ret = run_all(bpf, bpf->answers, 1, (uint64_t)WALK_ADDRESSES * WALK_BATCH, &runs);
	bpf->packet.cursor = cursor;
	if (!ret && bpf_map_lookup_elem(fd, &key, out))
		ret = plan_fail(-errno, "%s: answers", side->engine->name);
	return ret;
}
