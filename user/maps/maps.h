/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pinned maps in memory: the only caller of bpf_map_* and of mmap on maps. Gives fib.c its
 * writer and the CLI its readers. Knows the layouts of bpf/abi/sixlane.h, not what decides their
 * contents.
 */
#ifndef USER_MAPS_MAPS_H
#define USER_MAPS_MAPS_H

#include "../compiled/compiled.h"
#include "../fib/fib.h"
#include "../loader/loader.h"

/* The largest key, and what a walk needs to go on: a key or a bucket's number. */
#define MAPS_MAX_KEY sizeof(struct sixlane_route_key)

struct maps {
	int fd[LOADER_N_MAPS];	   /* borrowed from the loader_maps given to maps_open */
	size_t n_cpus;		   /* possible ones: so many values has an entry of a map per CPU */
	struct sixlane_meta *meta; /* the mmapped arrays; read-only unless opened writable */
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
	/* own memory, if opened writable: */
	void *fib_chunks[SIXLANE_FIB_CHUNKS]; /* of sl_fib, that this process made */
	bool no_fib;			      /* packets under way cannot be waited for */
	bool no_memory;	  /* for an exception, when it was waited for the last time */
	uint16_t version; /* of the last exception that was new */
};

/* 0 or -errno. fds must outlive maps. */
int maps_open(struct maps *maps, const struct loader_maps *fds, bool writable);
void maps_close(struct maps *maps);

/* The writer for fib_new(); maps must outlive it. */
struct fib_writer maps_writer(struct maps *maps);

/* Hand everything in the maps to fib_adopt_*(). 0, or the first error (the rest is still handed
 * on). */
int maps_adopt(struct maps *maps, struct fib *fib);

/* Longest match as the datapath does it. 0 and *value, -ENOENT, or -errno. */
int maps_route_lookup(const struct maps *maps, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value);

/* The default route of a table, whatever more specific routes it has. As maps_route_lookup(). */
int maps_default_route(const struct maps *maps, uint32_t table, uint32_t *value);

/*
 * The compiled FIB as it is now, for reading; what is there goes on changing. Its chunks stay
 * mapped until maps_unview(), whatever comes of them. 0, -ENODATA: the trie answers; or -errno.
 */
int maps_view(const struct maps *maps, struct compiled_view *view);
void maps_unview(struct compiled_view *view);

/* Longest match in a source set (SIXLANE_NH_SOURCES), as above. */
int maps_source_lookup(const struct maps *maps, uint32_t set, const union sixlane_addr *addr,
		       uint32_t *value);

struct maps_policy {
	struct sixlane_route_key key;
	uint32_t value;
};
/*
 * Replace all of sl_policies by others, as of policies_entries(). The caller has set
 * SIXLANE_META_IPSEC_ALL; packets that came before are waited for. 0 or -errno, and then some may
 * be missing.
 */
int maps_set_policies(const struct maps *maps, const struct maps_policy *policies, size_t n);

/* Whether both addresses are under one policy's; src NULL: whether dst is; sl_policies. */
bool maps_has_policy(const struct maps *maps, const union sixlane_addr *src,
		     const union sixlane_addr *dst);
/* Whether no firewall rule can touch what goes from one port's slot to another's; sl_guard. */
bool maps_pair_is_free(const struct maps *maps, uint32_t in_slot, uint32_t out_slot);
void maps_set_pair(struct maps *maps, uint32_t in_slot, uint32_t out_slot, bool is_free);

/* The list in use is this one. */
bool maps_has_rules(const struct maps *maps, const struct sixlane_rule *rules, uint32_t n);
/*
 * Publish a list of rules as a whole, beside the one in use. 0 or -errno (the old one stays). No
 * packet is under way afterwards that came before the call.
 */
int maps_set_rules(struct maps *maps, const struct sixlane_rule *rules, uint32_t n);

typedef int (*maps_route_fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value);

/* Every entry of sl_routes, sl_src_routes or sl_policies, in the trie's order. 0, -errno, or fn's
 * non-zero return. */
int maps_route_each(const struct maps *maps, maps_route_fn fn, void *ctx);
int maps_source_each(const struct maps *maps, maps_route_fn fn, void *ctx);
int maps_policy_each(const struct maps *maps, maps_route_fn fn, void *ctx);

/* Slot in sl_neighbours of an on-link destination, 0: none. */
uint32_t maps_neigh_slot(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *addr);

/* Slot in sl_ports of a device, 0: none. */
uint32_t maps_port_slot(const struct maps *maps, uint32_t ifindex);

/* Counters of a port's slot (0: unknown ports), summed over the CPUs. 0 or -errno. */
int maps_counters(const struct maps *maps, uint32_t slot, struct sixlane_counters *sum);

/* --- exceptions ------------------------------------------------------------------------- */

/* What the CPUs have counted is summed; used_ns is the last one's. */
typedef int (*maps_exception_fn)(void *ctx, const union sixlane_addr *dst,
				 const struct sixlane_exception *value);
/* 0, -ENOENT or -errno. */
int maps_exception(const struct maps *maps, const union sixlane_addr *dst,
		   struct sixlane_exception *out);
/* Every entry, in no order. Entries may come and go meanwhile: one may be told twice or not at
 * all. 0 or -errno, which may be fn's. */
int maps_exception_each(const struct maps *maps, maps_exception_fn fn, void *ctx);

/* sl_punted (maps->punted), or a filter of its layout. Stores of one writer. */
void maps_punted_add(uint64_t *filter, const union sixlane_addr *dst);
bool maps_punted_has(const uint64_t *filter, const union sixlane_addr *dst);
/* It says what the filter says, [SIXLANE_PUNTED_WORDS], from now on. */
void maps_punted_set(const struct maps *maps, const uint64_t *filter);

/* sl_fresh: whether dst is there, or anything, in either half; how many are in one. */
bool maps_fresh_has(const struct maps *maps, const union sixlane_addr *dst);
uint32_t maps_fresh_count(const struct maps *maps, uint32_t half);
bool maps_fresh_any(const struct maps *maps);
void maps_fresh_clear(const struct maps *maps, uint32_t half);
/* The program sets the other half from now on. 0: no packet is under way that knows the former one;
 * or -errno. */
int maps_fresh_turn(struct maps *maps);

/* SIXLANE_META_CHECK_PUNTED, which the program sets, too. _no_more: unless something is fresh. */
bool maps_looks(const struct maps *maps);
void maps_look(const struct maps *maps);
void maps_look_no_more(const struct maps *maps);
/* The other flags. */
void maps_set_flags(const struct maps *maps, uint32_t flags);

/* sl_operator. 0 or -errno: -ENOENT, -E2BIG (full). */
int maps_operator(const struct maps *maps, const union sixlane_addr *dst,
		  struct sixlane_operator *out);
/* -EEXIST: there is one, which is not to be replaced. */
int maps_operator_set(const struct maps *maps, const union sixlane_addr *dst,
		      const struct sixlane_operator *value, bool replace);
int maps_operator_del(const struct maps *maps, const union sixlane_addr *dst);
typedef int (*maps_operator_fn)(void *ctx, const union sixlane_addr *dst,
				const struct sixlane_operator *value);
/* Where a walk in pieces is; all 0: at the beginning. */
struct maps_cursor {
	uint8_t token[MAPS_MAX_KEY];
	bool started;
};
/* About a thousand more of them, as maps_exception_each(); fn may delete the entry that it is
 * given. 1: there may be more; 0: that was all; or -errno. */
int maps_operator_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		       void *ctx);
/* Remove it if it has expired by then, on CLOCK_MONOTONIC. */
void maps_operator_expire(const struct maps *maps, const union sixlane_addr *dst, uint64_t now_ns);

/* Hints that found no room in sl_icmp_events, over all CPUs, since the map was made. 0 or -errno.
 */
int maps_icmp_events_lost(const struct maps *maps, uint64_t *lost);

/* The reader of a ring, LOADER_ICMP_EVENTS or LOADER_SAMPLES; one at a time. 0 or -errno. */
struct maps_ring;
int maps_ring_open(const struct maps *maps, enum loader_map map, size_t record_bytes,
		   struct maps_ring **out);
void maps_ring_close(struct maps_ring *ring);
/* Readable when there are records. */
int maps_ring_fd(const struct maps_ring *ring);
/* Take what has come, at most max. The number of records, or -errno. */
int maps_ring_read(struct maps_ring *ring, void *out, size_t max);

/* Ask for a sample: of the next packet that is forwarded to the neighbour in this slot. Returns
 * whether it had traffic, which maps_take_used() then does not say. */
bool maps_sample_draw(struct maps *maps, uint32_t slot);

/* What a packet is looked up by, and a next hop that it may be forwarded to. */
struct maps_flow {
	uint32_t table;
	union sixlane_addr dst, src;
	uint32_t ifindex;
	union sixlane_addr next_hop; /* the gateway, or on link the destination */
};
/*
 * Whether the maps lead, or may lead, packets of a flow to its next hop now: by the engine in use,
 * whatever the member that a hash would choose. Rules and exceptions do not count. *len: of the
 * destination's prefix that was found, set only if they do.
 */
bool maps_may_lead(const struct maps *maps, const struct maps_flow *flow, uint64_t now_ns,
		   uint8_t *len);

/* Next state of every sixlane_neigh.used: fn is called for each slot that had traffic, which is
 * cleared. */
void maps_take_used(struct maps *maps, void (*fn)(void *ctx, uint32_t slot), void *ctx);

#endif
