/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pinned maps in memory. maps/ is the only caller of bpf_map_* and of mmap on maps. It provides
 * the writer of fib/, and readers for the daemon and the CLI. It knows the layouts of bpf/abi/, not
 * what decides the contents.
 */
#ifndef USER_MAPS_MAPS_H
#define USER_MAPS_MAPS_H

#include "../fib/fib.h"
#include "../loader/loader.h"
#include "exception.h"
#include "fib.h"
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

/* --- lookups: addresses in network order ------------------------------------------------------ */

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

/* --- counters and traffic --------------------------------------------------------------------- */

/* Counters of a port's slot (0: unknown ports), summed over the CPUs. 0 or -errno. */
int maps_counters(const struct maps *maps, uint32_t slot, struct sixlane_counters *sum);
/* ICMP events that found no room in sl_icmp_events, over all CPUs, since the map was made. */
int maps_icmp_events_lost(const struct maps *maps, uint64_t *lost);
/*
 * Ask the datapath for a sample: the next packet that it forwards to the neighbour in this slot.
 * Returns whether the neighbour had traffic since it was last reported, and so reports it.
 */
bool maps_sample_draw(struct maps *maps, uint32_t slot);
/* Calls fn for each slot of sl_neighbours that had traffic since it was last reported. */
void maps_take_used(struct maps *maps, void (*fn)(void *ctx, uint32_t slot), void *ctx);

/* --- guard.c: sl_guard and sl_policies, what firewall rules and IPsec policies hold back ------ */

/* Whether no firewall rule can affect packets from one port's slot to another's. */
bool maps_pair_is_free(const struct maps *maps, uint32_t in_slot, uint32_t out_slot);
/* One thread writes; packets read. */
void maps_set_pair(struct maps *maps, uint32_t in_slot, uint32_t out_slot, bool is_free);
/* Hold back all pairs of a slot, which is about to be another device's. */
void maps_guard_clear(struct maps *maps, uint32_t slot);

struct maps_policy {
	struct sixlane_route_key key;
	uint32_t value;
};
/*
 * Replace all of sl_policies by the result of policies_entries(). The caller has set
 * SIXLANE_META_IPSEC_ALL; this waits for the packets that came before. 0, or -errno: some policies
 * may be missing.
 */
int maps_set_policies(const struct maps *maps, const struct maps_policy *policies, size_t n);
/* Whether a policy covers both addresses; src NULL: whether one covers dst. */
bool maps_has_policy(const struct maps *maps, const union sixlane_addr *src,
		     const union sixlane_addr *dst);
int maps_policy_each(const struct maps *maps, maps_route_fn fn, void *ctx);

/* --- flow.c: where the maps send the packets of a flow ---------------------------------------- */

/* What a packet is looked up by, and a next hop that it may be forwarded to. */
struct maps_flow {
	uint32_t table;
	union sixlane_addr dst, src;
	uint32_t ifindex;
	union sixlane_addr next_hop; /* the gateway, or on link the destination */
};
/*
 * Whether the maps may send packets of the flow to its next hop now: by the engine in use, and by
 * any member that a hash could choose. Rules and exceptions are ignored. If true, *len is the
 * length of the prefix that was found.
 */
bool maps_may_forward(const struct maps *maps, const struct maps_flow *flow, uint64_t now_ns,
		      uint8_t *len);

/* --- punted.c: sl_punted and sl_fresh --------------------------------------------------------- */

/* filter is maps->punted or another of its layout, [SIXLANE_PUNTED_WORDS]. One writer. */
void maps_punted_add(uint64_t *filter, const union sixlane_addr *dst);
bool maps_punted_has(const uint64_t *filter, const union sixlane_addr *dst);
/* Replace sl_punted by this filter. */
void maps_punted_set(const struct maps *maps, const uint64_t *filter);

/* Whether dst is in either half of sl_fresh; whether anything is; how many entries a half has. */
bool maps_fresh_has(const struct maps *maps, const union sixlane_addr *dst);
bool maps_fresh_any(const struct maps *maps);
uint32_t maps_fresh_count(const struct maps *maps, uint32_t half);
void maps_fresh_clear(const struct maps *maps, uint32_t half);
/*
 * The program adds to the other half from now on. 0: no packet is under way that uses the former
 * half; or -errno.
 */
int maps_fresh_switch(struct maps *maps);

/* SIXLANE_META_CHECK_PUNTED, which the program sets, too. It stays if anything is fresh. */
bool maps_checks_punted(const struct maps *maps);
void maps_check_punted(const struct maps *maps);
void maps_uncheck_punted(const struct maps *maps);
/* Set all other flags of sl_meta. */
void maps_set_flags(const struct maps *maps, uint32_t flags);

/* --- rules.c: sl_rules ------------------------------------------------------------------------ */

/* Whether the list in use is this one. */
bool maps_has_rules(const struct maps *maps, const struct sixlane_rule *rules, uint32_t n);
/*
 * Publish a list as a whole, beside the one in use. 0: no packet is under way that came before the
 * call; or -errno: the old list stays.
 */
int maps_set_rules(struct maps *maps, const struct sixlane_rule *rules, uint32_t n);

/* --- ring.c: records of sl_icmp_events or sl_samples ------------------------------------------ */

struct maps_ring;
/* One reader at a time. 0 or -errno. */
int maps_ring_open(const struct maps *maps, enum loader_map map, size_t record_bytes,
		   struct maps_ring **out);
void maps_ring_close(struct maps_ring *ring);
/* Readable when there are records. */
int maps_ring_fd(const struct maps_ring *ring);
/* Consume at most max records into out. Returns their number, or -errno. */
int maps_ring_read(struct maps_ring *ring, void *out, size_t max);

#endif
