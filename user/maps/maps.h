/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pinned maps in memory. maps/ is the only caller of bpf_map_* and of mmap on maps. It provides
 * the writer of fib/ and the readers of both tools. It knows the layouts of bpf/abi/, not what
 * decides the contents. This header declares the maps as a whole and single lookups, and includes
 * the others.
 */
#ifndef USER_MAPS_MAPS_H
#define USER_MAPS_MAPS_H

#include "../fib/fib.h"
#include "../loader/loader.h"
#include "exception.h"
#include "fib.h"
#include "guard.h"
#include "leads.h"
#include "punted.h"
#include "ring.h"
#include "rules.h"
#include "walk.h"

struct maps {
	int fd[LOADER_N_MAPS]; /* borrowed from the loader_maps given to maps_open() */
	size_t n_cpus;	       /* possible ones: the number of values of a map per CPU */
	/* The mapped arrays; read-only unless opened writable: */
	struct sixlane_meta *meta;
	struct sixlane_fib_head *fib_head; /* in the arena, if there is one */
	uint8_t *arena; /* sl_fib_arena, all of it; NULL: the compiled FIB is in chunks of sl_fib */
	struct sixlane_port *ports;	    /* [SIXLANE_MAX_PORTS] */
	struct sixlane_next_hop *next_hops; /* [SIXLANE_MAX_NEXT_HOPS] */
	struct sixlane_neigh *neighbours;   /* [SIXLANE_MAX_NEIGHBOURS] */
	union sixlane_nh_bucket *buckets;   /* [SIXLANE_MAX_NH_BUCKETS] */
	struct sixlane_rule *rules;	    /* [2 * SIXLANE_MAX_RULES] */
	uint64_t *guard;		    /* [SIXLANE_GUARD_WORDS] */
	uint64_t *punted;		    /* [SIXLANE_PUNTED_WORDS] */
	uint64_t *fresh;		    /* [SIXLANE_FRESH_WORDS] */
	/* Of this process, if opened writable: */
	void *fib_chunks[SIXLANE_FIB_CHUNKS]; /* chunks of sl_fib that it made */
	bool no_fib;			      /* it cannot wait for packets under way */
	bool no_memory;	  /* the last wait for memory of an exception was in vain */
	uint16_t version; /* of the last new exception */
};

/* 0 or -errno. fds must outlive maps. */
int maps_open(struct maps *maps, const struct loader_maps *fds, bool writable);
void maps_close(struct maps *maps);

/* The writer for fib_new(); maps must outlive it. */
struct fib_writer maps_writer(struct maps *maps);

/*
 * Give all contents of the maps to fib_adopt_*(). 0, -ENOMEM, or the first error: the rest is given
 * nevertheless.
 */
int maps_adopt(struct maps *maps, struct fib *fib);

/* --- lookups: addresses in network order --------------------------------------------------- */

/* Longest match in sl_routes, as the datapath does it. 0 and *value, -ENOENT, or -errno. */
int maps_route_lookup(const struct maps *maps, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value);
/* The default route of a table, whatever more specific routes it has. */
int maps_default_route(const struct maps *maps, uint32_t table, uint32_t *value);
/* Longest match in a source-specific table (SIXLANE_NH_SOURCES). */
int maps_source_lookup(const struct maps *maps, uint32_t id, const union sixlane_addr *addr,
		       uint32_t *value);
/* Slot in sl_neighbours of a neighbour, 0: none. */
uint32_t maps_neigh_slot(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *addr);
/* Slot in sl_ports of a device, 0: none. */
uint32_t maps_port_slot(const struct maps *maps, uint32_t ifindex);

/* --- counters and traffic ------------------------------------------------------------------ */

/* Counters of a port's slot (0: unknown ports), summed over the CPUs. 0 or -errno. */
int maps_counters(const struct maps *maps, uint32_t slot, struct sixlane_counters *sum);
/* ICMP events that found no room in sl_icmp_events, over all CPUs, since the map was made. */
int maps_icmp_events_lost(const struct maps *maps, uint64_t *lost);
/*
 * Ask for a sample: of the next packet that is forwarded to the neighbour in this slot. Returns
 * whether it had traffic, which maps_take_used() then does not report.
 */
bool maps_sample_draw(struct maps *maps, uint32_t slot);
/* Calls fn for each slot of sl_neighbours that had traffic since the last call. */
void maps_take_used(struct maps *maps, void (*fn)(void *ctx, uint32_t slot), void *ctx);

#endif
