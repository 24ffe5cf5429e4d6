// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB, built by the daemon's own code over maps that nobody else has: nothing is
 * pinned. And a load from its memory, the least that an index of this size costs.
 */
#include "../../compiled/compiled.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "../../loader/arena.h"
#include "../../maps/maps_internal.h"
#include "bpf.h"

struct compiled_side {
	struct bpf_side bpf;
	struct maps maps; /* of the compiled FIB only, and sl_meta */
	struct compiled *compiled;
};

/* --- its maps ------------------------------------------------------------------------------- */

/* Each arena of this process is elsewhere, where its addresses of 32 bits are the same. */
static int make_arena(struct bpf_map *map)
{
	static uint64_t n;
	_cleanup_close_ int fd = loader_arena_new(++n << 32 | SIXLANE_FIB_ARENA);

	return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

static int prepare(struct lookup_side *side, struct bpf_object *object)
{
	static const char *const names[] = { "sl_fib", "sl_fib_first", "sl_fib_arena", "sl_meta" };
	int ret = 0;

	(void)side;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !ret; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);

		/* The object without arenas has none of these. */
		if (!map)
			continue;
		ret = bpf_map__set_autocreate(map, true) ?: bpf_map__set_pin_path(map, NULL);
		if (!ret && bpf_map__type(map) == (enum bpf_map_type)SIXLANE_MAP_TYPE_ARENA)
			ret = make_arena(map);
	}
	return ret ? plan_fail(ret, "maps of the compiled FIB") : 0;
}

static int map_of(const struct compiled_side *own, const char *name)
{
	return bpf_object__find_map_fd_by_name(own->bpf.object, name);
}

static int open_maps(struct compiled_side *own)
{
	struct maps *maps = &own->maps;
	void *meta = mmap(NULL, sizeof(*maps->meta), PROT_READ | PROT_WRITE, MAP_SHARED,
			  map_of(own, "sl_meta"), 0);

	if (meta == MAP_FAILED)
		return -errno;
	maps->meta = meta;
	maps->fd[LOADER_FIB] = map_of(own, "sl_fib");
	maps->fd[LOADER_FIB_FIRST] = map_of(own, "sl_fib_first");
	maps->fd[LOADER_FIB_ARENA] = map_of(own, "sl_fib_arena");
	return maps_fib_open(maps, maps->fd[LOADER_FIB_ARENA] >= 0, true);
}

/* --- filling -------------------------------------------------------------------------------- */

static uint32_t value_of(const struct radix_node *node)
{
	return container_of(node, const struct lookup_entry, node)->value;
}

static int build(struct compiled_side *own, const struct radix *routes)
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
			sum += bpf_map_bytes(chunk);
	}
	return sum;
}

/* The pages that this process has of what it mapped there. */
static uint64_t bytes_mapped(const void *at)
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

static int open_side(struct lookup_side *side, const struct bpf_engine *engine)
{
	int ret = bpf_side_open(side, engine, sizeof(struct compiled_side));
	struct compiled_side *own = side->state;
	struct compiled_stats stats;
	uint64_t start;

	if (ret)
		return ret;
	start = util_now_ns();
	ret = open_maps(own);
	if (ret)
		return plan_fail(ret, "compiled: mapping its memory");
	ret = build(own, &side->table.radix);
	if (ret)
		return plan_fail(ret, "compiled: building it");
	side->insert_ns = util_now_ns() - start;
	/* Of an arena fdinfo says 0 (up to Linux 6.18), but this process asked for all its pages.
	 */
	side->bytes = own->maps.arena ? bytes_mapped(own->maps.arena)
				      : bytes_of_chunks(own->maps.fd[LOADER_FIB]);
	compiled_get_stats(own->compiled, &stats);
	own->maps.meta->fib_used_bytes = stats.used_bytes;
	return 0;
}

/* --- engines -------------------------------------------------------------------------------- */

#define CHUNKS "bench-compiled.bpf.o"

static const char *object(void)
{
	return loader_arena_usable() > 0 ? "bench-compiled.arena.bpf.o" : CHUNKS;
}

static int open_compiled(struct lookup_side *side)
{
	return open_side(side, &(struct bpf_engine){ object(), "compiled", prepare });
}

static int open_chunks(struct lookup_side *side)
{
	return open_side(side, &(struct bpf_engine){ CHUNKS, "compiled", prepare });
}

static int open_load(struct lookup_side *side)
{
	return open_side(side, &(struct bpf_engine){ object(), "load", prepare });
}

/* A prefix without a value is one that the trie does not have. */
static int change(struct lookup_side *side, size_t i, bool back)
{
	struct compiled_side *own = side->state;
	struct prefix prefix = lookup_prefix(&side->table.prefixes[i]);
	struct radix_node *node = radix_find(&side->table.radix, &prefix);
	int ret;

	container_of(node, struct lookup_entry, node)->value = back ? (uint32_t)i + 1 : 0;
	ret = compiled_change(own->compiled, SIXLANE_TABLE_MAIN, &side->table.radix, &prefix,
			      false);
	return ret ? plan_fail(ret, "compiled: route %zu", i + 1) : 0;
}

/* No lookup goes deeper than that of the longest prefix on its way. */
static int depth(struct lookup_side *side, uint32_t *nodes)
{
	const struct compiled_side *own = side->state;
	struct compiled_view view;
	int ret = maps_view(&own->maps, &view);

	if (ret)
		return plan_fail(ret, "compiled: looking at it");
	*nodes = 0;
	for (size_t i = 0; i < side->table.n; i++) {
		struct prefix prefix = lookup_prefix(&side->table.prefixes[i]);
		uint32_t at = compiled_depth(&view, SIXLANE_TABLE_MAIN, &prefix.addr);

		*nodes = at > *nodes ? at : *nodes;
	}
	maps_unview(&view);
	return 0;
}

const struct lookup_engine lookup_compiled = { "compiled",	 open_compiled, bpf_side_measure,
					       bpf_side_answers, change,	depth };
/* As on a kernel without arenas. */
const struct lookup_engine lookup_compiled_chunks = {
	"compiled-chunks", open_chunks, bpf_side_measure, bpf_side_answers, NULL, NULL
};
const struct lookup_engine lookup_load = { "load",	     open_load, bpf_side_measure,
					   bpf_side_answers, NULL,	NULL };
