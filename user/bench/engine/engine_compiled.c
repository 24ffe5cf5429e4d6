// SPDX-License-Identifier: GPL-2.0-only
/* The compiled FIB, built by the daemon's code over private maps: nothing is pinned. */
#include "../../compiled/compiled.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "../../loader/arena.h"
#include "../../maps/access.h"
#include "lookup.h"

struct compiled_side {
	struct maps maps; /* of the compiled FIB only, and sl_meta */
	struct compiled *compiled;
};

/* Create only the maps of the compiled FIB and sl_meta; pin none. */
static void choose_maps(struct bpf_object *object)
{
	static uint64_t arenas;
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);

		bpf_map__set_pin_path(map, NULL);
		if (!strncmp(name, "sl_", 3) && strncmp(name, "sl_fib", 6) != 0 &&
		    strcmp(name, "sl_meta") != 0)
			bpf_map__set_autocreate(map, false);
		/* Each arena has its own address; the lower 32 bits are the same in all. */
		if (!strcmp(name, "sl_fib_arena")) {
			int fd = loader_arena_new(++arenas << 32 | SIXLANE_FIB_ARENA);

			plan_check(fd < 0 ? fd : bpf_map__reuse_fd(map, fd), "an arena");
			close(fd);
		}
	}
}

static void open_maps(const struct lookup_side *side, struct maps *maps)
{
	maps->fd[LOADER_FIB] = bpf_map_of(side, "sl_fib");
	maps->fd[LOADER_FIB_FIRST] = bpf_map_of(side, "sl_fib_first");
	maps->fd[LOADER_FIB_ARENA] = bpf_map_of(side, "sl_fib_arena");
	maps->meta = mmap(NULL, sizeof(*maps->meta), PROT_READ | PROT_WRITE, MAP_SHARED,
			  bpf_map_of(side, "sl_meta"), 0);
	plan_check(maps->meta == MAP_FAILED ? errno : 0, "sl_meta");
	plan_check(maps_fib_open(maps, maps->fd[LOADER_FIB_ARENA] >= 0, true),
		   "the compiled FIB's memory");
}

static uint32_t value_of(const struct radix_node *node)
{
	return container_of(node, const struct lookup_entry, node)->value;
}

void compiled_open(struct lookup_side *side)
{
	struct compiled_side *own = side->state = plan_alloc(1, sizeof(*own));
	const struct compiled_memory memory = {
		.ctx = &own->maps,
		.chunk = maps_write_fib_chunk,
		.publish = maps_write_fib,
		.grace = maps_write_grace,
	};
	struct compiled_stats stats;
	uint64_t start;

	bpf_open(side,
		 loader_arena_usable() > 0 ? "bench-compiled.arena.bpf.o" : "bench-compiled.bpf.o");
	choose_maps(side->bpf.object);
	bpf_load(side, "compiled");
	start = util_now_ns();
	open_maps(side, &own->maps);
	own->compiled = compiled_new(&memory, value_of);
	plan_check(own->compiled ? 0 : ENOMEM, "the compiled FIB");
	plan_check(compiled_begin(own->compiled) ?:
		   compiled_add(own->compiled, SIXLANE_TABLE_MAIN, &side->radix) ?:
		   compiled_end(own->compiled),
		   "building the compiled FIB");
	side->insert_ns = util_now_ns() - start;
	compiled_get_stats(own->compiled, &stats);
	side->bytes = stats.chunk_bytes;
}

/* For the compiled FIB, a route with the value 0 does not exist. */
void compiled_put(struct lookup_side *side, size_t i, bool back)
{
	struct compiled_side *own = side->state;
	struct prefix prefix = lookup_prefix(side, i);
	struct radix_node *node = radix_find(&side->radix, &prefix);

	container_of(node, struct lookup_entry, node)->value = back ? (uint32_t)i + 1 : 0;
	plan_check(compiled_change(own->compiled, SIXLANE_TABLE_MAIN, &side->radix, &prefix, false),
		   "compiled: route %zu", i + 1);
}

/* Every node leads to some prefix, so the deepest lookup is that of a prefix's address. */
uint32_t compiled_deepest(struct lookup_side *side)
{
	const struct compiled_side *own = side->state;
	struct compiled_view view;
	uint32_t deepest = 0;

	plan_check(maps_view(&own->maps, &view), "looking at the compiled FIB");
	for (size_t i = 0; i < side->n; i++) {
		struct prefix prefix = lookup_prefix(side, i);
		uint32_t depth = compiled_depth(&view, SIXLANE_TABLE_MAIN, &prefix.addr);

		deepest = depth > deepest ? depth : deepest;
	}
	maps_unview(&view);
	return deepest;
}
