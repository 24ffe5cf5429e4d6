// SPDX-License-Identifier: GPL-2.0-only
/* See bpf.h. */
#include "bpf.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../../loader/arena.h"
#include "../kernel_net.h"

/* An empty run is so short that its time, in whole nanoseconds, needs many lookups to be exact. */
#define DRY_LOOKUPS (1u << 20)

struct bpf_map *bench_bpf_map(const struct bench_bpf *bpf, const char *name)
{
	return bpf_object__find_map_by_name(bpf->object, name);
}

uint64_t bench_bpf_map_bytes(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "memlock:", 8))
			bytes = strtoull(line + 8, NULL, 10);
	return bytes;
}

uint64_t bench_bpf_mapped_bytes(const void *at)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/smaps", "re");
	unsigned long long start, end, kilobytes;
	char line[256];
	bool here = false;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx ", &start, &end) == 2)
			here = start == (uintptr_t)at;
		else if (here && sscanf(line, "Rss: %llu", &kilobytes) == 1)
			return kilobytes * 1024;
	}
	return 0;
}

/* --- loading -------------------------------------------------------------------------------- */

static struct bpf_program *program(const struct bench_bpf *bpf, const char *engine,
				   const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", engine, what);
	return bpf_object__find_program_by_name(bpf->object, name);
}

/* Only the programs of this engine, and the dry ones. */
static int choose_programs(struct bench_bpf *bpf, const char *engine)
{
	const char *const names[] = { engine, "dry" };
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, bpf->object)
	{
		bpf_program__set_autoload(prog, false);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (int mode = 0; mode < BENCH_N_MODES; mode++) {
			prog = program(bpf, names[i], bench_mode_names[mode]);
			if (!prog)
				return -ENOENT;
			bpf_program__set_autoload(prog, true);
		}
	prog = program(bpf, engine, "answers");
	return prog ? bpf_program__set_autoload(prog, true) : -ENOENT;
}

/* Maps of other engines in the same object are not made. */
static void leave_out_maps(struct bench_bpf *bpf)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bpf->object)
	{
		const char *name = bpf_map__name(map);

		if (strcmp(name, "addresses") && strcmp(name, "answers"))
			bpf_map__set_autocreate(map, false);
	}
}

/* The first list is the one to which the answers are known. */
static int put_addresses(const struct bench_bpf *bpf, const struct bench_side *side)
{
	static struct bench_addresses list; /* too large for the stack */
	int fd = bpf_map__fd(bench_bpf_map(bpf, "addresses")), ret = 0;

	for (uint32_t key = 0; key < side->threads && !ret; key++) {
		ret = bench_table_addresses(side->table, key, &list)
			      ?: bpf_map_update_elem(fd, &key, &list, BPF_ANY);
	}
	return ret;
}

static int load(struct bench_side *side, struct bench_bpf *bpf,
		const struct bench_bpf_engine *engine, const char *path)
{
	int ret;

	bpf->object = bpf_object__open_file(path, NULL);
	if (!bpf->object)
		return bench_fail(-errno, "%s", path);
	ret = choose_programs(bpf, engine->programs);
	if (ret)
		return bench_bad(ret, "%s has no programs of %s", path, engine->programs);
	leave_out_maps(bpf);
	ret = engine->prepare ? engine->prepare(side, bpf) : 0;
	if (ret)
		return ret;
	ret = bpf_map__set_max_entries(bench_bpf_map(bpf, "addresses"), side->threads)
		      ?: bpf_object__load(bpf->object)
		      ?: put_addresses(bpf, side);
	if (ret)
		return bench_fail(ret, "%s: cannot load its programs (root is needed)", path);
	for (int mode = 0; mode < BENCH_N_MODES; mode++) {
		const char *name = bench_mode_names[mode];

		bpf->run[mode] = bpf_program__fd(program(bpf, engine->programs, name));
		bpf->dry[mode] = bpf_program__fd(program(bpf, "dry", name));
	}
	bpf->answers = bpf_program__fd(program(bpf, engine->programs, "answers"));
	return 0;
}

int bench_bpf_open(struct bench_side *side)
{
	const struct bench_bpf_engine *engine = side->engine->bpf;
	struct bench_bpf *bpf = calloc(1, sizeof(*bpf));
	char path[PATH_MAX];
	const char *file;
	uint64_t start;
	int ret;

	if (!bpf)
		return bench_fail(-ENOMEM, "%s", side->engine->name);
	bpf->netns = -1;
	side->state = bpf;
	file = engine->arena_file && loader_arena_usable() > 0 ? engine->arena_file : engine->file;
	ret = bench_find_file(file, path, sizeof(path));
	if (ret)
		return bench_fail(ret, "%s", path);
	ret = load(side, bpf, engine, path);
	if (ret)
		return ret;
	start = util_now_ns();
	ret = engine->fill(side, bpf);
	if (!side->insert_ns)
		side->insert_ns = util_now_ns() - start;
	return ret;
}

void bench_bpf_close(struct bench_side *side)
{
	struct bench_bpf *bpf = side->state;

	if (!bpf)
		return;
	if (bpf->own)
		bpf->free_own(bpf->own);
	bpf_object__close(bpf->object);
	util_close(&bpf->netns);
	free(bpf);
	side->state = NULL;
}

/* --- running -------------------------------------------------------------------------------- */

/*
 * In the namespace of the side, since bpf_fib_lookup asks the tables of that in which a test run
 * is begun. Threads inherit it.
 */
static int run(const struct bench_bpf *bpf, int prog, unsigned int threads, uint32_t repeat,
	       struct bench_runs *out)
{
	int back, left, ret;

	if (bpf->netns < 0)
		return bench_run(prog, &bpf->packet, threads, repeat, out);
	ret = bench_net_enter(bpf->netns, &back)
		      ?: bench_run(prog, &bpf->packet, threads, repeat, out);
	left = bench_net_leave(&back);
	return ret ?: left;
}

int bench_bpf_measure(struct bench_side *side, enum bench_mode mode, unsigned int threads,
		      uint64_t lookups, struct bench_time *out)
{
	struct bench_bpf *bpf = side->state;
	uint32_t repeat = (uint32_t)(lookups / BENCH_BATCH) ?: 1;
	struct bench_runs gross, dry, cold;
	int ret;

	/* Another engine has had the caches: once through all addresses before time is taken. */
	ret = run(bpf, bpf->dry[mode], threads, DRY_LOOKUPS / BENCH_BATCH, &dry)
		      ?: run(bpf, bpf->run[mode], threads, BENCH_ADDRESSES / BENCH_BATCH, &cold)
		      ?: run(bpf, bpf->run[mode], threads, repeat, &gross);
	if (ret)
		return ret;
	/* Each time from where the last ended. */
	bpf->packet.cursor += repeat * BENCH_BATCH;
	*out = (struct bench_time){
		.gross_ns = gross.mean_ns / BENCH_BATCH,
		.dry_ns = dry.mean_ns / BENCH_BATCH,
		.elapsed_ns = gross.longest_ns / BENCH_BATCH / threads,
	};
	return 0;
}

int bench_bpf_answers(struct bench_side *side, uint32_t *out)
{
	struct bench_bpf *bpf = side->state;
	uint32_t cursor = bpf->packet.cursor, key = 0;
	struct bench_runs runs;
	int ret;

	bpf->packet.cursor = 0;
	ret = run(bpf, bpf->answers, 1, BENCH_ADDRESSES, &runs);
	bpf->packet.cursor = cursor;
	if (!ret && bpf_map_lookup_elem(bpf_map__fd(bench_bpf_map(bpf, "answers")), &key, out))
		ret = bench_fail(-errno, "%s: answers", side->engine->name);
	return ret;
}
