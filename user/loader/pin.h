/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps of sixlane by name, with the layout that bpf/abi/sixlane.h gives each; the set of open
 * ones; and their pins: open, check, create, adopt, remove. A pin may be of another version, or not
 * sixlane's at all, so every map is checked before anybody uses it. Never changes what a map
 * contains, but for an arena that is given up.
 */
#ifndef USER_LOADER_PIN_H
#define USER_LOADER_PIN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

enum loader_map {
	LOADER_META,
	LOADER_ROUTES,
	LOADER_FIB,
	LOADER_FIB_FIRST,
	LOADER_FIB_ARENA, /* only where programs use it: Linux 6.9 and newer */
	LOADER_SOURCES,
	LOADER_NEXT_HOPS,
	LOADER_NH_BUCKETS,
	LOADER_EXCEPTIONS,
	LOADER_PUNTED,
	LOADER_FRESH,
	LOADER_OPERATOR,
	LOADER_ICMP_EVENTS,
	LOADER_CPU,
	LOADER_NEIGH_INDEX,
	LOADER_NEIGHBOURS,
	LOADER_SAMPLES,
	LOADER_PORT_INDEX,
	LOADER_PORTS,
	LOADER_VLANS,
	LOADER_RULES,
	LOADER_GUARD,
	LOADER_POLICIES,
	LOADER_COUNTERS,
	LOADER_N_MAPS
};

/* All but the arena: every object and every set of pins has them. */
#define LOADER_N_REQUIRED_MAPS (LOADER_N_MAPS - 1)
bool loader_map_is_required(enum loader_map map);

/* "sl_routes" … */
const char *loader_map_name(enum loader_map map);
void loader_pin_path(enum loader_map map, char path[PATH_MAX]);

/* The kernel maps no array by a read-only descriptor, not even for reading. */
bool loader_map_is_mmapable(enum loader_map map);

/* 0 and the map's id, or -EPROTO: another layout. where: for the message. */
int loader_check_map(enum loader_map map, int fd, const char *where, uint32_t *id, char *err);

/* The same for the maps that an object defines, so that it makes none of another version. */
int loader_check_object(const struct bpf_object *object, const char *path, char *err);

struct loader_maps {
	int fd[LOADER_N_MAPS];	    /* -1: not open */
	uint32_t id[LOADER_N_MAPS]; /* the kernel's map ids; 0: no such map, or not for programs */
	/* The arena is open: the last daemon compiled its FIB into it, or no daemon has run yet.
	 * Otherwise it is not open, even if one is pinned. */
	bool arena;
	uint64_t fib_memory; /* SIXLANE_FIB_IN_*, from the last daemon; 0: none has run */
};

/* Mark all descriptors as not open. */
void loader_reset_maps(struct loader_maps *maps);

/* Closes those that are open, and resets. */
void loader_close_maps(struct loader_maps *maps);

/* Opens the pinned maps of an existing sixlane. Checks the layouts and sixlane_meta.abi (0 is
 * accepted: no daemon has run yet). read_only: for the CLI's reading commands. -ENOENT: there are
 * none (err says how to get some); -EPROTO: another ABI or layout. */
int loader_open_maps(struct loader_maps *maps, bool read_only, char *err);

/*
 * The same, but makes and pins what is missing, by the object's definitions. An arena is made if
 * the object wants one (arena.h), unless the set is complete without.
 *
 * If there are no pins, adopts the maps of a sixlane program that is attached to a port but pinned
 * nowhere (xdp-loader without -p). Mounts nothing: a missing bpffs is an error.
 */
int loader_make_maps(const char *object, struct loader_maps *maps, char *err);

/* A pin with the name of one of sixlane's maps exists, of whatever version. Whoever finds none,
 * makes some and then fails, removes them again. */
bool loader_have_pins(void);

/* Removes all pins of sixlane. 0 or -errno. */
int loader_unpin(char *err);

/* For the daemon's start: gives open maps an arena if the object wants one. If it does not, an
 * arena that is pinned, as by an earlier daemon, is cleared and unpinned. 0 or -errno. */
int loader_arena_reconcile(const char *object, struct loader_maps *maps, char *err);

#endif
