/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runs on a port, whose it is, and the BPF link that may hold it. A program is sixlane's by
 * the names of its maps, not by its own: whoever loads it may name it. Changes nothing.
 */
#ifndef USER_LOADER_QUERY_H
#define USER_LOADER_QUERY_H

#include <stddef.h>

#include "../rib/link.h"
#include "pin.h"

/* The program's name in the flavour for frames of several buffers. */
#define LOADER_FRAGS_PROG "sixlane_frags"

enum loader_owner {
	LOADER_NO_PROG,
	LOADER_OURS,	   /* sixlane with the maps given */
	LOADER_OTHER_MAPS, /* sixlane with maps of its own */
	LOADER_OTHER_PROG  /* another program */
};

struct loader_prog {
	enum loader_owner owner;
	enum xdp_mode mode;
	uint32_t id;	 /* sixlane's program, or the other one */
	bool dispatcher; /* runs under libxdp's dispatcher */
	bool frags;	 /* by its name, the flavour for frames of several buffers */
	bool no_arena;	 /* LOADER_OURS, but it does not read the arena of the maps: its lookups
			  * use the trie */
	char name[16];
};

/* It is sixlane, with these maps or others. */
static inline bool loader_is_sixlane(const struct loader_prog *prog)
{
	return prog->owner == LOADER_OURS || prog->owner == LOADER_OTHER_MAPS;
}

/* maps NULL: a sixlane program is LOADER_OTHER_MAPS. 0 or -errno. */
int loader_query(uint32_t ifindex, const struct loader_maps *maps, struct loader_prog *out);

/* The id of a program with these maps and counters that is not among ids: usually of a port in
 * another network namespace. 0: there is none, or it cannot be seen. */
uint32_t loader_find_other_prog(const struct loader_maps *maps, const uint32_t *ids, size_t n);

/* Opens a program's maps that have the names of sixlane's; the others are not open in *out. name,
 * which may be NULL, becomes the program's. 0 or -errno. */
int loader_open_prog_maps(uint32_t prog_id, char name[16], struct loader_maps *out);

/* "native", "generic" … */
const char *loader_xdp_mode_name(enum xdp_mode mode);
/* XDP_FLAGS_*: that of the mode; native for one that is none. */
uint32_t loader_xdp_flags(enum xdp_mode mode);

/* Makes the kernel announce the device as changed, while nothing changes: replaces no XDP program
 * by none. 0 or -errno; the device must have no program. */
int loader_announce_device(int ifindex);

#define LOADER_LINK_UNKNOWN UINT32_MAX /* a link holds it, but which one cannot be seen */

/* The id of the link that holds a port's program, which can then neither be replaced nor detached
 * by netlink (`ip link set … xdp off`). 0: none does. */
uint32_t loader_query_link(uint32_t ifindex, const struct loader_prog *prog);

/* What to do about such a link. Returns buf. */
#define LOADER_LINK_ADVICE 128
const char *loader_link_advice(uint32_t link_id, char buf[LOADER_LINK_ADVICE]);

#endif
