/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host: a destination that has something of its own, one entry of sl_exceptions. What the origins
 * say of it and how many there may be is exception.c's, how that ends exception_end.c's,
 * what the map says host.c's, which prefix it belongs to host_owner.c's, what nobody
 * remembers host_lost.c's, and what counts in other tables host_share.c's. Private to fib/.
 *
 * Invariants
 * - The owner of a host is the longest prefix in the trie that covers it. While it owns any, its
 *   value carries SIXLANE_ROUTE_EXCEPTIONS, and before it could come to own more by the going of
 *   a longer prefix.
 * - A host that should be in the map and is not is "absent": its owner carries the mark of
 *   missing ones. One whose entry should be another, or none, and cannot be changed is "stuck":
 *   its owner is punted. What nobody remembers for lack of room or memory is "lost" under the
 *   owner that it would have, which carries the mark of missing ones, too, but for what is only
 *   "behind" its route, which the kernel keeps at another one, until either route changes. Since
 *   the mark says nothing of a host that is in the map, the same host is punted if it comes there
 *   later. Which ones are missing packets find in sl_missing: its bits are set before one leaves
 *   the map, and before that its owner carries the mark ("expected").
 * - What the kernel says of a host is of the route that it is under there: the longest prefix that
 *   was told ("route"), whether or not it found room in the trie. When that changes, the host is
 *   doubtful, and so punted, before the trie or a next hop says anything new.
 */
#ifndef USER_FIB_HOST_H
#define USER_FIB_HOST_H

#include "fib_internal.h"

/* What an origin says. */
struct fib_word {
	struct fib_exception said;
	uint32_t generation; /* of the origin's last fib_exceptions_begin() before it */
	bool there;
};

/* What a value of sl_exceptions leads to. */
struct fib_host_parts {
	struct fib_next_hop *hop;
	struct fib_port *under_port;
	struct fib_neigh *under_neigh;
};

struct fib_host {
	struct radix_node node; /* of 128 bits */
	struct fib_table *table;
	struct fib_entry *owner;		   /* NULL: none */
	struct fib_heap_item expiry, eviction;	   /* in the heaps of struct fib_hosts */
	struct fib_list arrivals, doubts, leaving; /* in the lists of these */
	struct fib_host_parts parts;		   /* of content; or starved, and waiting for it */
	struct sixlane_exception content;	   /* as written, if it is */
	struct fib_word words[FIB_N_ORIGINS];
	uint32_t doubted_in; /* the kernel's generation, when it came into doubt last */
	bool written;	     /* it is in the map */
	bool absent, stuck;
	bool failed;   /* the map does not say what it should */
	bool doubtful; /* the kernel is to be asked whether it still says the same */
	bool lost;     /* what the kernel says may have been before somebody remembers any of it */
	bool moved;    /* the route has changed since the kernel said it, and may keep it, … */
	bool untold;   /* … and was one of which the kernel does not tell all */
};

/* --- host.c ------------------------------------------------------------------------------- */

/*
 * Make the map say what it should, as far as it can be made to. Never touches the trie: whoever
 * calls sees to the owner's value afterwards.
 */
void fib_host_settle(struct fib *fib, struct fib_host *host);
/* The kernel's word counts no more until it is said anew: punt what it holds for. Like the above.
 */
void fib_host_doubt(struct fib *fib, struct fib_host *host);
/* Give back what a value has led to. */
void fib_host_drop_parts(struct fib *fib, struct fib_host_parts *parts);

static inline struct sixlane_exception_key fib_host_key(const struct fib_host *host)
{
	return (struct sixlane_exception_key){
		.dst = host->node.prefix.addr,
		.table = host->table->id,
	};
}

static inline bool fib_host_is_said(const struct fib_host *host)
{
	return host->words[FIB_KERNEL].there || host->words[FIB_OPERATOR].there;
}

static inline struct fib_host *fib_host_of(struct radix_node *node)
{
	return (struct fib_host *)node; /* its first member */
}
_Static_assert(__builtin_offsetof(struct fib_host, node) == 0, "radix_remove() frees the whole");

/* --- host_owner.c ------------------------------------------------------------------------- */

/* The marks of an entry's value: SIXLANE_ROUTE_*. */
uint32_t fib_entry_marks(const struct fib *fib, const struct fib_entry *entry);
/* Make the value of an owner, or none (NULL), say what it should. */
void fib_owner_settle(struct fib *fib, struct fib_entry *owner);
/* The prefix in the trie that is the next shorter one. NULL: there is none. */
struct fib_entry *fib_owner_above(const struct fib_entry *entry);

/* Give a host the owner that it should have, or none, when it comes and when it goes. */
void fib_host_own(struct fib_host *host);
void fib_host_disown(struct fib_host *host);
/* The owner that a host would have. */
struct fib_entry *fib_host_owner_at(const struct fib_table *table, const struct prefix *host);
/* What the kernel goes by there. NULL: it is not known. */
const struct fib_next_hop *fib_host_route(const struct fib_host *host);
const struct fib_next_hop *fib_host_route_at(const struct fib_table *table,
					     const struct prefix *host);
/* The entry of that route. */
struct fib_entry *fib_host_told_at(const struct fib_table *table, const struct prefix *host);
/* It is absent, or stuck, or not any more. */
void fib_host_count(struct fib_host *host, bool absent, bool stuck);

/*
 * Before an entry is written where none was. True: the next shorter one in the trie owns less now,
 * and is to be settled when it is written.
 */
bool fib_owner_enter(struct fib *fib, struct fib_entry *entry);
/* Before an entry goes from the trie. */
void fib_owner_leave(struct fib *fib, struct fib_entry *entry);

/* Before an entry is wanted that was not, or to lead elsewhere, or not any more. */
void fib_owner_doubt(struct fib *fib, struct fib_entry *entry);
/* The id of the next-hop object that a route is by; 0: none, or no route (NULL). */
uint32_t fib_object_of(const struct fib_next_hop *route);
/* One alone, and its owner is settled. */
void fib_owner_doubt_host(struct fib *fib, struct fib_host *host);
/* Before an object is to lead elsewhere: the same for all that go by it, in all tables. */
void fib_owner_doubt_object(struct fib *fib, const struct fib_object_state *object);

/* --- host_share.c ------------------------------------------------------------------------- */

/* Its packets may go by a next-hop object. */
bool fib_may_be_by_object(const struct fib_next_hop *route);
/* Some next hop may be that of both (ids; 0: none): of groups nobody looks. */
bool fib_objects_may_share(const struct fib *fib, uint32_t id, uint32_t other);
/* The kernel has said it: it may have it in other tables, too. */
void fib_host_share(struct fib *fib, const struct fib_host *host);
/* Before an entry is to lead there, and is settled: what is known, or lost, in other tables may be
 * so here. */
void fib_owner_share(struct fib *fib, struct fib_entry *entry, const struct fib_next_hop *route);

/* --- host_lost.c -------------------------------------------------------------------------- */

/* The kernel may have exceptions under this owner, or without any, that nobody remembers. */
bool fib_lost_under(const struct fib *fib, const struct fib_entry *owner);
/* So it may, if its bit is set, of one that the operator alone speaks of. Never touches the trie.
 */
void fib_host_check_lost(struct fib *fib, struct fib_host *host);
/* The kernel may have one of this host that nobody remembers. */
bool fib_is_lost(const struct fib *fib, const struct fib_host *host);
/*
 * The kernel's are to go from the map that it may still have: before the first of them goes,
 * packets of all owners look for what is missing. False: it must not go, since some may not do so
 * yet.
 */
bool fib_lost_expect(struct fib *fib);
/* The kernel has an exception, of which it said this, that does not count at the route that it goes
 * by now, but may when that has gone; and, if so, that it does not tell again. */
void fib_lost_behind(struct fib *fib, const struct sixlane_exception_key *key,
		     const struct fib_exception *said, bool untold);
/*
 * The kernel may have one under this entry (NULL: it is not known under which), which is to be
 * settled afterwards, of which it said this in another table; and, if so, of which it does not
 * tell.
 */
void fib_lost_suspect(struct fib *fib, struct fib_entry *entry, const union sixlane_addr *dst,
		      const struct fib_exception *said, bool untold);
/* Whether something is lost in another table, or nobody knows in which. */
bool fib_lost_elsewhere(const struct fib *fib, const struct fib_table *table);
/* So it may be lost under this entry, too, which is to be settled afterwards. */
void fib_lost_share(struct fib *fib, struct fib_entry *entry);
/* The same of one that nobody can remember; and, if so, that it does not tell again whatever route
 * it is under. */
void fib_lost_add(struct fib *fib, const struct sixlane_exception_key *key,
		  const struct fib_exception *said, bool untold);
/* Whether the kernel tells in a dump all that it has under this route. NULL: it is not known. */
bool fib_is_told(const struct fib_next_hop *route);
/* The same of the route that packets to a destination go by, the other way round. */
bool fib_is_untold(const struct fib *fib, const struct sixlane_exception_key *key);
/* Packets to it are to find that it may be missing: before its owner says that some are. Returns
 * FIB_MISSING_*. */
unsigned int fib_missing_add(struct fib *fib, const union sixlane_addr *dst, bool untold);
/* What is lost under one, or none (NULL), may be under the other now. */
void fib_lost_spread(struct fib *fib, const struct fib_entry *from, struct fib_entry *to);
/* Before an entry's route changes: what is behind it may come to count, wherever packets look. */
void fib_lost_wake(struct fib *fib, struct fib_entry *entry);
/* About so many found no room, or memory; not 0 if there may be such. What is behind routes is
 * not counted. */
uint64_t fib_lost_count(const struct fib *fib);
/* It is this late, on CLOCK_MONOTONIC. */
void fib_lost_at(struct fib *fib, uint64_t now_ns);
/*
 * All that the kernel has is told anew from the first call on that comes after an end: what is lost
 * is remembered at the end, or was lost again. begin: whether some of it may have been told before.
 */
bool fib_lost_begin(struct fib *fib);
/* complete: nothing was left out. */
void fib_lost_end(struct fib *fib, bool complete);
/* The marks of an entry that is taken over: what was missing may be so still. Once for each. */
void fib_lost_adopt(struct fib *fib, struct fib_entry *entry, uint32_t marks);
void fib_lost_adopt_finish(struct fib *fib);
/* The entry is forgotten. */
void fib_lost_forget(struct fib *fib, struct fib_entry *entry);

/* --- exception.c -------------------------------------------------------------------------- */

/* Every host; fn may forget the one that it is given. */
void fib_host_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_host *host, void *ctx),
		   void *ctx);
/* The same of those within a prefix, in all tables. */
void fib_host_each_under(struct fib *fib, const struct prefix *dst,
			 void (*fn)(struct fib *fib, struct fib_host *host, void *ctx), void *ctx);
/* What the kernel has said of it, and has, as far as is known; NULL: it has none. */
const struct fib_exception *fib_host_kernels(const struct fib_host *host);
const struct fib_exception *fib_host_said_at(const struct fib_table *table,
					     const union sixlane_addr *dst);
/* It has said the same of this one. */
bool fib_host_says(const struct fib_host *host, const struct fib_exception *said);
/*
 * The kernel may have what it said in another table in this one (NULL: it has nothing yet), under
 * this entry, or nobody knows which (NULL): packets are its own until it has told all. The entry is
 * to be settled afterwards. Returns the host if it is known to have one there: that is left as it
 * is. Forgets no other.
 */
struct fib_host *fib_host_suspect(struct fib *fib, const struct fib_table *table,
				  struct fib_entry *entry, const union sixlane_addr *dst,
				  const struct fib_exception *said, bool untold);
/*
 * The kernel says that it has none there any more, or another. At a route that it does not go by
 * now it may have it still, and go by it when that comes back.
 */
void fib_host_lose_behind(struct fib *fib, const struct fib_host *host);
/* A host that is not known yet, without words, owned. NULL: no memory. */
struct fib_host *fib_host_get(struct fib *fib, uint32_t table, const union sixlane_addr *dst);
/* Where it belongs among those that expire, and those that make room: after a change of its words,
 * or a doubt. Needs no memory. */
void fib_host_place(struct fib *fib, struct fib_host *host);
/* What is said has changed: bring it into the map and see to the owner. The host may be gone. */
void fib_host_update(struct fib *fib, struct fib_host *host);
/* As many as there may be. */
void fib_host_trim(struct fib *fib);
void fib_host_retry(struct fib *fib);
void fib_host_init(struct fib *fib);
void fib_host_free_all(struct fib *fib);

/* --- exception_end.c ---------------------------------------------------------------------- */

#define FIB_LONG_EXPIRED 1 /* is gone, until its turn comes in fib_exceptions_expire() */

/* When something is to be done about a word, on CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t fib_host_end_ns(const struct fib_host *host, enum fib_origin origin);

/* --- adopt_host.c ------------------------------------------------------------------------- */

/* Next hops and routes are understood: now the hosts that lead to them. */
void fib_adopt_hosts(struct fib *fib);

#endif
