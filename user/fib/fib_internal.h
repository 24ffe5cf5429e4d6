/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the fib know of each other: ids and slots (pool.c), buckets (buckets.c),
 * ports and their VLANs, neighbours, next hops and what they lead to (group.c,
 * object.c, source.c), and the trie's entries on top (route.c, cover.c). Beside
 * these stand destinations with exceptions (exception.h). Each object is reference-counted by what
 * names it in the maps or is about to; it leaves the maps with its last reference. Private to fib/.
 *
 * Invariants beside those of fib.h
 * - A port or a neighbour has a slot exactly while the index map names it.
 * - Next hops are found by their meaning (key.h): one id for each. A member of a group is a
 *   next hop like any other, shared with routes and other groups; its next-hop entry never changes
 * but for poison.
 * - Poisoned: the next-hop entry says PUNT_MAP_FULL, since a route names the id that should not and
 *   cannot be changed. One store, safe at any moment, undone when the route is right.
 * - Starved: the next hop has no id, so that its prefixes say PUNT_MAP_FULL. Hungry: it has
 *   one, but what its next-hop entry should lead to found no room, so that the next-hop entry is a
 * punt; once there is room one store mends all its routes.
 * - Objects, sets and groups belong to next hops: without any that needs them they have no room
 *   in the maps.
 */
#ifndef FIB_FIB_INTERNAL_H
#define FIB_FIB_INTERNAL_H

#include "../rib/radix.h"
#include "fib.h"
#include "hash.h"
#include "key.h"
#include "list.h"

/* The next hop that punts what found no room. Reserved, so that a punt can never fail. */
#define FIB_ID_FULL 1u

/* Linux 6.18 refills the allocators of tries and hashes behind our back: a moment later there is
 * memory. */
#define FIB_ENOMEM_TRIES 4

#define FIB_MIN_MTU 1280u

/* Ids or slots from 1 to limit - 1. */
struct fib_pool {
	uint32_t limit;
	uint32_t fresh; /* from here on, none was ever given out */
	uint32_t n_free, n_quarantine;
	uint32_t *free;	      /* may be reused */
	uint32_t *quarantine; /* may be reused after a grace period */
};

struct fib_buckets {
	uint64_t *busy;			  /* bitmap: taken, or waiting … */
	uint64_t *waiting;		  /* … for a grace period */
	union sixlane_nh_bucket *written; /* [SIXLANE_MAX_NH_BUCKETS], of those that are taken */
	uint32_t limit;
	uint32_t n_taken, n_waiting;
	uint32_t lowest; /* all below are busy */
};

/* An entry of sl_vlans. */
struct fib_vlan {
	struct fib_hash_node node; /* by key */
	struct sixlane_vlan_key key;
	uint32_t slot;
	struct fib_port *port; /* whose it is; NULL: nobody's, to be deleted */
	bool adopted;	       /* nobody confirmed it yet */
};

struct fib_port {
	struct fib_hash_node node; /* by ifindex */
	struct sixlane_port port;  /* as written */
	struct fib_vlan *vlan;	   /* NULL: none, or it found no room */
	uint32_t slot;
	uint32_t refs; /* next hops */
	bool known;    /* the device is there */
	bool adopted;  /* nobody confirmed it yet */
	bool held;     /* the maps allow less than port: fib_hold_port() */
};

struct fib_neigh {
	struct fib_hash_node node; /* by key */
	struct sixlane_neigh_key key;
	union sixlane_mac mac; /* as written */
	uint32_t slot;
	uint32_t refs;	     /* next hops that have it as gateway */
	uint32_t generation; /* of the synchronisation that set it last */
	bool known;	     /* the kernel has it in a state to use */
	bool adopted;
};

/* Members and the buckets that lead to them. */
struct fib_group {
	struct fib_hash_node node; /* by first_bucket, while adopting */
	uint32_t refs;
	uint32_t first_bucket, n_buckets; /* none: the first member is the only one */
	uint32_t n_members;
	struct fib_next_hop *members[]; /* each wanted once by the group */
};

struct fib_set_entry {
	struct sixlane_route_key key;
	struct fib_next_hop *next_hop; /* wanted by the set; NULL: not any more */
	uint32_t id;		       /* that the map names here; 0: it has no entry */
	uint32_t dst_len;
};

/* An id in sl_src_routes with its entries, those of shorter prefixes first. */
struct fib_set {
	struct fib_hash_node node; /* by id */
	uint32_t id;
	bool dying; /* no route names it: its entries are to be deleted */
	size_t n;   /* while adopting, there is room for the next power of two */
	struct fib_set_entry entries[];
};

/* What fib_set_object() said. */
struct fib_object_def {
	uint32_t verdict;
	uint32_t n_hops, n_buckets;
	uint16_t *buckets;	   /* behind hops */
	struct fib_key_hop hops[]; /* as they were told: buckets count in them */
};

struct fib_object_state {
	struct fib_hash_node node; /* by id */
	uint32_t id;
	uint32_t generation;	    /* of the synchronisation that set it last */
	struct fib_object_def *def; /* NULL: PUNT_NEXT_HOP_OBJECT */
	struct fib_group *group;    /* NULL: none is needed, or hungry */
	struct fib_next_hop *users; /* one for each MTU and expiry of its routes */
	uint32_t n_expiring;	    /* of these: a group even for one hop */
	bool hungry;
	bool held; /* punted: routes of before this synchronisation may still name it */
};

struct fib_next_hop {
	struct fib_hash_node node;	 /* by key, if hashed */
	struct fib_list starving;	 /* in fib->starving if starved or hungry */
	struct sixlane_next_hop content; /* as written, but for poison */
	/* What the next-hop entry leads to. */
	struct fib_port *port;
	struct fib_neigh *neigh;
	struct fib_group *group;
	struct fib_set *set;
	struct fib_object_state *object; /* whose meaning the next-hop entry follows … */
	struct fib_next_hop *next_user;	 /* … and the next one that does */
	uint32_t id;			 /* 0: starved */
	uint32_t wanted; /* entries, groups, sets and exceptions that should name it */
	uint32_t named;	 /* entries of tries that name it */
	uint32_t stuck;	 /* of those, how many should not and could not be changed */
	bool hashed;
	bool hungry;
	bool valid;	    /* it does what was once wanted of it: else poisoned */
	struct fib_key key; /* last, what belongs to it follows; bytes 0: not known */
};

struct fib_table {
	struct fib_hash_node node; /* by id */
	uint32_t id;
	struct radix entries;
};

/* What a synchronisation does not drop it sets: none that is older than a few is left. */
#define FIB_GENERATION_BITS 12
#define FIB_GENERATION_MASK ((1u << FIB_GENERATION_BITS) - 1)
_Static_assert(SIXLANE_MAX_NEXT_HOPS <= SIXLANE_ROUTE_ID_MASK + 1, "the bits below hold an id");

/* A prefix in the trie, or that should be. */
struct fib_entry {
	struct radix_node node;
	struct fib_table *table;
	struct fib_next_hop *wanted; /* NULL: withdrawn, or adopted and not understood */
	uint64_t written : 20;	     /* id that the trie names here, 0: not in the trie */
	bool marked : 1;	     /* … with SIXLANE_ROUTE_EXCEPTIONS */
	bool excepted : 1;	     /* that it should have, being in the trie */
	bool absent : 1;	     /* wanted, not in the trie, and counted in its covers */
	bool failed : 1;	     /* the trie does not say what it should */
	bool stuck : 1;		     /* names the wrong next hop, which is poisoned for it */
	bool foreign : 1;	     /* adopted with a value that we would not have written */
	bool doubtful : 1; /* something it covers may have been lost: punted until synchronised */
	uint64_t generation : FIB_GENERATION_BITS; /* of the synchronisation that set it last */
	uint64_t missing_below : 25;		   /* absent entries that this one covers */
};
_Static_assert(sizeof(struct fib_entry) <= 80, "a full table has hundreds of thousands");

/* Exact exceptions as a whole: see exception.h. */
struct fib_exceptions {
	struct fib_hash by_dst;
	size_t n_written;
	bool any_gone;		/* one could not be deleted */
	bool marked, uncovered; /* some entry is; a destination is that no prefix covers */
};

struct fib {
	struct fib_writer writer;
	struct compiled *compiled; /* NULL: the writer has none */
	struct compiled_view view; /* of it, as readers see it */
	uint64_t n_distrusted;	   /* times that it was said to be wrong */
	struct fib_pool port_pool, neigh_pool, next_hop_pool, set_pool;
	struct fib_buckets buckets;
	struct fib_hash tables, ports, vlans, neighs, next_hops, objects, sets;
	struct fib_next_hop **by_id; /* [SIXLANE_MAX_NEXT_HOPS] */
	struct fib_neigh **by_slot;  /* [SIXLANE_MAX_NEIGHBOURS] */
	struct fib_next_hop *full;   /* FIB_ID_FULL */
	struct fib_list starving;
	struct fib_key_buffer scratch;
	struct sixlane_route_key *strays; /* adopted keys that we would not have written */
	size_t n_strays;
	struct fib_exceptions exceptions;
	const union sixlane_nh_bucket *adopted_buckets; /* borrowed; may be NULL */
	size_t n_ids;					/* next hops that have an id */
	size_t n_written, n_absent, n_failed;
	size_t n_hungry;     /* next hops and objects */
	size_t n_sources;    /* entries of sl_src_routes */
	size_t n_dying_sets; /* whose entries could not be deleted yet */
	uint64_t writes, write_errors;
	uint32_t max_routes;
	uint32_t generation;
	bool adopting;	     /* nothing but fib_adopt_* was called yet */
	bool adopted;	     /* something was adopted */
	bool syncing;	     /* between fib_sync_begin() and _end() */
	bool retrying;	     /* in fib_retry() … */
	bool no_room;	     /* … and an insertion failed: further ones will too, */
	bool no_source_room; /* the same of sl_src_routes, */
	bool graced;	     /* and a grace period was asked for */
	bool gaps;	     /* as last told, or as an earlier daemon left it … */
	bool gaps_known;   /* … if this is false: then it is cleared only by a synchronisation */
	bool lost;	   /* lack of memory made us forget a prefix: some entries are doubtful */
	bool lost_in_sync; /* since fib_sync_begin() */
};

/* --- pool.c ------------------------------------------------------------------------------- */

int fib_pool_init(struct fib_pool *pool, uint32_t limit);
void fib_pool_free(struct fib_pool *pool);
/* 0: none left, nor after a grace period. */
uint32_t fib_pool_take(struct fib *fib, struct fib_pool *pool);
/* Take one id, if nobody has it. Linear in the pool's size and may wait: for ports only. */
bool fib_pool_take_this(struct fib *fib, struct fib_pool *pool, uint32_t id);
/* Something may still be reading it. */
void fib_pool_give(struct fib_pool *pool, uint32_t id);
/* It was never published. */
void fib_pool_give_unused(struct fib_pool *pool, uint32_t id);
/* After adopting: whatever is not taken may have been a moment ago. */
void fib_pool_adopt(struct fib_pool *pool, bool (*taken)(const struct fib *fib, uint32_t id),
		    const struct fib *fib);
/* Wait until what was given back may be reused, buckets too. False: it may not. */
bool fib_grace(struct fib *fib);

/* --- buckets.c ------------------------------------------------------------------------------ */

int fib_buckets_init(struct fib_buckets *buckets, uint32_t limit);
void fib_buckets_free(struct fib_buckets *buckets);
/* n buckets in a row from *first on. False: there is no room, nor after a grace period. */
bool fib_buckets_take(struct fib *fib, uint32_t n, uint32_t *first);
/* Packets may still come to them. */
void fib_buckets_give(struct fib_buckets *buckets, uint32_t first, uint32_t n);
/* They were never published. */
void fib_buckets_give_unused(struct fib_buckets *buckets, uint32_t first, uint32_t n);
/* After a grace period. */
void fib_buckets_release(struct fib_buckets *buckets);
/* Whatever is not adopted afterwards may have been taken a moment ago. */
void fib_buckets_adopt_all(struct fib_buckets *buckets);
/* Take a range with its contents. False: it is none, or some of it is taken. */
bool fib_buckets_adopt(struct fib_buckets *buckets, uint32_t first, uint32_t n,
		       const union sixlane_nh_bucket *contents);
void fib_bucket_set(struct fib *fib, uint32_t index, union sixlane_nh_bucket bucket);

/* --- port.c, vlan.c ------------------------------------------------------------------- */

struct fib_port *fib_port_find(const struct fib *fib, uint32_t ifindex);
struct fib_port *fib_port_at(const struct fib *fib, uint32_t slot);
/* With a reference, made if it is not known. NULL: no room or no memory. */
struct fib_port *fib_port_get(struct fib *fib, uint32_t ifindex);
void fib_port_put(struct fib *fib, struct fib_port *port);
/* Ports that nobody needs. Also what fib_sync_end() does with unconfirmed ones. */
void fib_port_sweep(struct fib *fib, bool confirm);
void fib_port_free_all(struct fib *fib);

/* Before the port is written with this content, NULL if it goes. */
void fib_vlan_before(struct fib *fib, struct fib_port *port, const struct sixlane_port *content);
/*
 * The port is written: it has its tag, even if another had it so far, unless this is but tried
 * again, by fib_port_sweep().
 */
void fib_vlan_after(struct fib *fib, struct fib_port *port, bool again);
/* Entries that are nobody's; with confirm, also those that nobody has claimed since adopting. */
void fib_vlan_sweep(struct fib *fib, bool confirm);
void fib_vlan_free_all(struct fib *fib);

/* --- neigh.c ------------------------------------------------------------------------------ */

/* With a reference, unresolved if it is not known. NULL: no room or no memory. */
struct fib_neigh *fib_neigh_get(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr);
void fib_neigh_put(struct fib *fib, struct fib_neigh *neigh);
/* Neighbours that nobody needs; with confirm, also those that this synchronisation did not set. */
void fib_neigh_sweep(struct fib *fib, bool confirm);
void fib_neigh_free_all(struct fib *fib);

/* --- group.c ------------------------------------------------------------------------------ */

/* With one reference, published. NULL: no room or no memory. */

/* Picked by weight. Without buckets if there is but one hop and always is not set. */
struct fib_group *fib_group_new_hashed(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				       bool always);
/* In order, a bucket each. */
struct fib_group *fib_group_new_first(struct fib *fib, const struct fib_key_hop *hops, uint32_t n);
/* A bucket for each bucket. */
struct fib_group *fib_group_new_buckets(struct fib *fib, const struct fib_object_def *def);
/* Give a group of as many buckets other members, bucket by bucket. False: nothing was changed. */
bool fib_group_set_buckets(struct fib *fib, struct fib_group **group,
			   const struct fib_object_def *def);
/* kind: SIXLANE_NH_GROUP or _FIRST. Without buckets it is the member's. */
union sixlane_nh_entry fib_group_entry(const struct fib_group *group, uint16_t kind);
void fib_group_put(struct fib *fib, struct fib_group *group);

/* --- source.c ----------------------------------------------------------------------------- */

struct fib_set *fib_set_find(const struct fib *fib, uint32_t id);
/* The set of a key of kind FIB_SOURCES, with all its entries. NULL: no room or no memory. */
struct fib_set *fib_set_new(struct fib *fib, const struct fib_key *key);
/* No route leads there any more. */
void fib_set_drop(struct fib *fib, struct fib_set *set);
/* Entries that could not be deleted. */
void fib_set_sweep(struct fib *fib);
void fib_set_free_all(struct fib *fib);

/* --- object.c ----------------------------------------------------------------------------- */

/* The state of an object. NULL: it is not known. */
struct fib_object_state *fib_object_find(const struct fib *fib, uint32_t id);
/* The state of an object, made if it is not known. NULL: no memory. */
struct fib_object_state *fib_object_get(struct fib *fib, uint32_t id);
/* This next hop follows the object from now on; until it has its next-hop entry from there, it has
 * its own.
 */
void fib_object_attach(struct fib *fib, struct fib_object_state *object,
		       struct fib_next_hop *next_hop);
void fib_object_detach(struct fib *fib, struct fib_next_hop *next_hop);
/* expires: for routes that do. */
union sixlane_nh_entry fib_object_entry(const struct fib_object_state *object, bool expires);
/* Look again for what the hungry ones need. */
void fib_object_feed(struct fib *fib);
/* Those that this synchronisation did not set mean nothing any more; the others what they were set
 * to. */
void fib_object_forget(struct fib *fib);
void fib_object_free_all(struct fib *fib);

/* --- nexthop.c --------------------------------------------------------------------------- */

/* Room for a key of so many bytes; in no pool and no table. NULL: no memory. */
struct fib_next_hop *fib_next_hop_alloc(size_t key_bytes);
struct fib_next_hop *fib_next_hop_find(const struct fib *fib, const struct fib_key *key);
void fib_next_hop_insert(struct fib *fib, struct fib_next_hop *next_hop);
void fib_next_hop_take_id(struct fib *fib, struct fib_next_hop *next_hop, uint32_t id);
/* The next hop that means key, wanted once more. 0, or -ENOMEM. It may be starved or hungry. */
int fib_next_hop_want(struct fib *fib, const struct fib_key *key, struct fib_next_hop **out);
/* The same for groups and sets, which need its id. False: -ENOMEM, or it is starved. */
bool fib_next_hop_want_fed(struct fib *fib, const struct fib_key *key, struct fib_next_hop **out);
void fib_next_hop_unwant(struct fib *fib, struct fib_next_hop *next_hop);
/* An entry's value in a trie turns from id old to id new; 0: none. */
void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new);
/* One store, unless nothing changes or it is poisoned. */
void fib_next_hop_set_entry(struct fib *fib, struct fib_next_hop *next_hop,
			    union sixlane_nh_entry nh_entry);
/* Give back what its former next-hop entry led to. */
void fib_next_hop_drop_parts(struct fib *fib, struct fib_next_hop *next_hop);
/* A route that names id cannot be changed: packets that get there are punted from now on. */
void fib_next_hop_poison(struct fib *fib, uint32_t id);
void fib_next_hop_cure(struct fib *fib, uint32_t id);
/* Forget one that nobody wants and nothing names. */
void fib_next_hop_release(struct fib *fib, struct fib_next_hop *next_hop);
/* Look again for what the starved and the hungry ones need. */
void fib_next_hop_feed(struct fib *fib);
void fib_next_hop_free_all(struct fib *fib);

/* --- cover.c ------------------------------------------------------------------------------ */

/* Make the trie say at this prefix what it should, as far as it can be made to. */
void fib_entry_settle(struct fib *fib, struct fib_entry *entry);
/* A withdrawn entry that has left the trie: forget it. */
bool fib_entry_is_over(const struct fib_entry *entry);
/* Since fib_sync_begin(). */
static inline bool fib_entry_is_set(const struct fib *fib, const struct fib_entry *entry)
{
	return entry->generation == (fib->generation & FIB_GENERATION_MASK);
}
/* Whether a prefix is missing, if that is not what was told last. */
void fib_gaps_tell(struct fib *fib);

/* --- route.c ------------------------------------------------------------------------------ */

struct fib_table *fib_table_find(const struct fib *fib, uint32_t id);
/* NULL: no memory. */
struct fib_table *fib_table_get(struct fib *fib, uint32_t id);
/* Forget it if it is empty. */
void fib_table_reap(struct fib *fib, struct fib_table *table);
/* NULL on lack of memory. */
struct fib_entry *fib_entry_new(struct fib *fib, struct fib_table *table, const struct prefix *dst);
/* Forget an entry if it is over, and its table if that was the last. */
void fib_entry_reap(struct fib *fib, struct fib_entry *entry);
/* Every entry; fn may reap the one that it is given. */
void fib_entry_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_entry *entry));
void fib_route_free_all(struct fib *fib);

/* --- adopt.c ------------------------------------------------------------------------------ */

/* The first call of anything but fib_adopt_*. */
void fib_adopt_finish(struct fib *fib);
/* The object for an id found in the maps, made if there is none. NULL: no memory. */
struct fib_next_hop *fib_adopt_id(struct fib *fib, uint32_t found);
/* Adopted keys that no prefix of ours has go. */
void fib_adopt_drop_strays(struct fib *fib);

/* --- compiled.c --------------------------------------------------------------------------- */

int fib_compiled_init(struct fib *fib);
/* What the trie holds for an entry, as a compiled_value_fn. */
uint32_t fib_compiled_value(const struct radix_node *node);
/* What the trie holds at the entry has changed; same: and it was there before, and is now. */
void fib_compiled_change(struct fib *fib, const struct fib_entry *entry, bool same);

static inline struct fib_entry *fib_entry_of(struct radix_node *node)
{
	return node ? (struct fib_entry *)node : NULL; /* its first member */
}

static inline union sixlane_nh_entry fib_verdict_entry(uint32_t verdict)
{
	return (union sixlane_nh_entry){ .type = (uint16_t)verdict };
}

_Static_assert(__builtin_offsetof(struct fib_entry, node) == 0, "radix_remove() frees the whole");

#endif
