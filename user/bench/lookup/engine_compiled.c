// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB, built by the daemon's own code over maps of the bench's own, which are no one
 * else's: nothing is pinned.
 */
#include "../../compiled/compiled.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "../../loader/arena.h"
#include "../../maps/maps_internal.h"
#include "bpf.h"
#include "user_walk.h"

struct own {
	struct maps maps; /* of the compiled FIB only, and sl_meta */
	struct compiled *compiled;
};

static uint32_t value_of(const struct radix_node *node)
{
	return container_of(node, const struct bench_entry, node)->value;
}

static void free_own(void *ptr)
{
	struct own *own = ptr;

	if (own->compiled)
		compiled_free(own->compiled);
	maps_fib_close(&own->maps);
	if (own->maps.meta)
		munmap(own->maps.meta, sizeof(*own->maps.meta));
	free(own);
}

/* Each arena of this process is elsewhere, where its addresses of 32 bits are the same. */
static int make_arena(struct bpf_map *map)
{
	static uint64_t n;
	_cleanup_close_ int fd = loader_arena_new(++n << 32 | SIXLANE_FIB_ARENA);

	return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

static int prepare(struct bench_side *side, struct bench_bpf *bpf)
{
	static const char *const names[] = { "sl_fib", "sl_fib_first", "sl_fib_arena", "sl_meta" };
	int ret = 0;

	(void)side;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !ret; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(bpf->object, names[i]);

		/* the object knows of no arena */
		if (!map)
			continue;
		ret = bpf_map__set_autocreate(map, true) ?: bpf_map__set_pin_path(map, NULL);
		if (!ret && bpf_map__type(map) == (enum bpf_map_type)SIXLANE_MAP_TYPE_ARENA)
			ret = make_arena(map);
	}
	return ret;
}

/* 0 or -errno. */
static int open_maps(struct bench_bpf *bpf, struct maps *maps)
{
	void *meta = mmap(NULL, sizeof(*maps->meta), PROT_READ | PROT_WRITE, MAP_SHARED,
			  bpf_map__fd(bench_bpf_map(bpf, "sl_meta")), 0);

	if (meta == MAP_FAILED)
		return -errno;
	maps->meta = meta;
	maps->fd[LOADER_FIB] = bpf_map__fd(bench_bpf_map(bpf, "sl_fib"));
	maps->fd[LOADER_FIB_FIRST] = bpf_map__fd(bench_bpf_map(bpf, "sl_fib_first"));
	maps->fd[LOADER_FIB_ARENA] = bpf_object__find_map_fd_by_name(bpf->object, "sl_fib_arena");
	return maps_fib_open(maps, maps->fd[LOADER_FIB_ARENA] >= 0, true);
}

static int build(struct own *own, const struct radix *routes)
{
	const struct compiled_memory memory = {
		.ctx = &own->maps,
		.chunk = maps_write_fib_chunk,
		.publish = maps_write_fib,
		.grace = maps_write_grace,
	};

	own->compiled = compiled_new(&memory, value_of);
	if (!own->compiled)
		return -ENOMEM;
	return compiled_begin(own->compiled) ?:
	       compiled_add(own->compiled, SIXLANE_TABLE_MAIN, routes) ?:
	       compiled_end(own->compiled);
}

static uint64_t bytes_of_chunks(int fd)
{
	uint64_t sum = 0;
	uint32_t id;

	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS; n++) {
		_cleanup_close_ int chunk = -1;

		if (!bpf_map_lookup_elem(fd, &n, &id))
			chunk = bpf_map_get_fd_by_id(id);
		if (chunk >= 0)
			sum += bench_bpf_map_bytes(chunk);
	}
	return sum;
}

/* The kernel's account. Of an arena its fdinfo has none (memlock is 0 up to Linux 6.18), but all
 * its pages were asked for by this process. */
static uint64_t bytes_of(const struct maps *maps)
{
	return maps->arena ? bench_bpf_mapped_bytes(maps->arena)
			   : bytes_of_chunks(maps->fd[LOADER_FIB]);
}

static int fill(struct bench_side *side, struct bench_bpf *bpf)
{
	struct own *own = calloc(1, sizeof(*own));
	uint64_t start = util_now_ns();
	struct compiled_stats stats;
	int ret;

	if (!own)
		return bench_fail(-ENOMEM, "compiled");
	bpf->own = own;
	bpf->free_own = free_own;
	ret = open_maps(bpf, &own->maps);
	if (ret)
		return bench_fail(ret, "compiled: mapping its memory");
	ret = build(own, &side->table->radix);
	if (ret)
		return bench_fail(ret, "compiled: table %s", side->table->name);
	side->insert_ns = util_now_ns() - start;
	side->bytes = bytes_of(&own->maps);
	compiled_get_stats(own->compiled, &stats);
	own->maps.meta->fib_used_bytes = stats.used_bytes;
	return 0;
}

/* A prefix without a value is one that the trie does not have. */
static int change(struct bench_side *side, size_t i, bool back)
{
	const struct bench_bpf *bpf = side->state;
	struct own *own = bpf->own;
	const struct prefix *prefix = &side->table->prefixes[i];
	struct radix_node *node = radix_find(&side->table->radix, prefix);

	container_of(node, struct bench_entry, node)->value = back ? (uint32_t)i + 1 : 0;
	return compiled_change(own->compiled, SIXLANE_TABLE_MAIN, &side->table->radix, prefix,
			       false);
}

/* That of no address is longer than that of the longest prefix on it. */
static int depth(struct bench_side *side, uint32_t *nodes)
{
	const struct bench_bpf *bpf = side->state;
	const struct own *own = bpf->own;
	struct compiled_view view;
	int ret = maps_view(&own->maps, &view);

	if (ret)
		return bench_fail(ret, "compiled: looking at it");
	*nodes = 0;
	for (size_t i = 0; i < side->table->n; i++) {
		uint32_t at =
			compiled_depth(&view, SIXLANE_TABLE_MAIN, &side->table->prefixes[i].addr);

		*nodes = at > *nodes ? at : *nodes;
	}
	maps_unview(&view);
	return 0;
}

#define CHUNKS "bench-compiled.bpf.o"
#define ARENA "bench-compiled.arena.bpf.o"

const struct bench_engine bench_compiled = {
	.name = "compiled",
	.ours = true,
	.bpf = &(const struct bench_bpf_engine){ CHUNKS, "compiled", prepare, fill, ARENA },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.change = change,
	.depth = depth,
	.close = bench_bpf_close,
};

/* As on a kernel without arenas. */
const struct bench_engine bench_compiled_chunks = {
	.name = "compiled-chunks",
	.bpf = &(const struct bench_bpf_engine){ CHUNKS, "compiled", prepare, fill, NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};

static const struct bench_bpf_engine loads = { CHUNKS, "load", prepare, fill, ARENA };

/* What one load of the compiled FIB's memory costs: no index is faster on this machine. */
const struct bench_engine bench_load = {
	.name = "load",
	.no_lookup = true,
	.bpf = &loads,
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};

/* As load_one() of compiled.bpf.c. */
struct user_load {
	struct compiled_view view;
	uint32_t bytes;
};

static inline uint32_t user_load_one(const void *ctx, const union sixlane_addr *addr)
{
	const struct user_load *load = ctx;
	uint32_t at = bench_offset(addr, load->bytes) & ~63u;
	const void *word = load->view.chunks[sixlane_fib_chunk_of(at)] + sixlane_fib_offset(at);

	return __atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED);
}

/* 0, and for maps_unview(); or -errno. */
static int open_user_load(const struct own *own, struct user_load *out)
{
	int ret = maps_view(&own->maps, &out->view);

	out->bytes = (uint32_t)own->maps.meta->fib_used_bytes;
	return ret ? bench_fail(ret, "load-user: looking at the compiled FIB") : 0;
}

static int measure_user_load(struct bench_side *side, enum bench_mode mode, unsigned int threads,
			     uint64_t lookups, struct bench_time *out)
{
	struct bench_bpf *bpf = side->state;
	struct user_load load;
	const struct bench_user_walk walk = {
		.list = side->table->addresses->at,
		.cursor = bpf->packet.cursor,
		.dependent = mode == BENCH_DEPENDENT,
		.lookups = lookups,
	};
	int ret = open_user_load(bpf->own, &load);

	(void)threads; /* one */
	if (ret)
		return ret;
	out->dry_ns = bench_user_walk(&walk, bench_user_find_nothing, NULL);
	out->gross_ns = bench_user_walk(&walk, user_load_one, &load);
	out->elapsed_ns = out->gross_ns;
	bpf->packet.cursor += (uint32_t)lookups;
	maps_unview(&load.view);
	return 0;
}

/* Those of the program, which are where this process loads from, too. */
static int answers_user_load(struct bench_side *side, uint32_t *out)
{
	struct bench_bpf *bpf = side->state;
	struct user_load load;
	int ret = open_user_load(bpf->own, &load);

	if (ret)
		return ret;
	ret = bench_bpf_answers(side, out);
	for (uint32_t i = 0; !ret && i < BENCH_ADDRESSES; i++)
		if ((user_load_one(&load, &side->table->addresses->at[i]) | 1) != out[i])
			ret = bench_bad(-EPROTO, "load-user loads from elsewhere than load");
	maps_unview(&load.view);
	return ret;
}

/* As many loads by this process, from memory laid out alike: what of their time is the kernel's. */
const struct bench_engine bench_load_user = {
	.name = "load-user",
	.no_lookup = true,
	.user_space = true,
	.bpf = &loads,
	.open = bench_bpf_open,
	.measure = measure_user_load,
	.answers = answers_user_load,
	.close = bench_bpf_close,
};

static int prepare_beside(struct bench_side *side, struct bench_bpf *bpf)
{
	return prepare(side, bpf) ?: bpf_map__set_autocreate(bench_bpf_map(bpf, "beside"), true);
}

/* What a lookup costs here that reads a line of 8 MB, if all else is as it is. */
const struct bench_engine bench_compiled_load = {
	.name = "compiled-load",
	.bpf = &(const struct bench_bpf_engine){ CHUNKS, "compiled_load", prepare_beside, fill,
						 ARENA },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};
