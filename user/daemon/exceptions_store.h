/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exceptions of the kernel (Path MTUs, redirects), as far as the daemon knows them, and the
 * destinations that it has to read again.
 *
 * Invariants
 * - A destination is exact only if all that the kernel has of it is known, and is one exception at
 *   the hop that its packets take. In any other case it is punt.
 * - A destination that is exact or punt has its bits in sl_punted. Bits are removed only by
 *   rebuilding the whole filter.
 */
#ifndef USER_DAEMON_EXCEPTIONS_STORE_H
#define USER_DAEMON_EXCEPTIONS_STORE_H

#include <sys/queue.h>

#include "daemon.h"
#include "exceptions.h"

/* One exception of the kernel: where it is stored, and its content. */
struct finding {
	uint32_t table; /* of the route at which it is stored */
	struct prefix prefix;
	struct fib_hop stored_hop; /* the hop of that route */
	uint32_t metric;
	uint32_t object; /* id of the next-hop object at which it is stored instead; 0: none */
	bool plain;	 /* the route is the only one of its prefix, and has one hop */
	bool several;	 /* it is the only one, and multipath. Neither: punt */
	struct fib_hop hop;
	uint32_t mtu; /* applies if expires is not 0 */
	bool mtu_locked;
	uint64_t expires; /* jiffies; 0: never */
	uint64_t expires_ns, seen_ns;
};

enum exception_state {
	EXCEPTION_NONE,
	EXCEPTION_EXACT,
	EXCEPTION_PUNT,
	EXCEPTION_NO_ROOM, /* punt for want of room; it would be exact */
	EXCEPTION_N_STATES
};

/* A destination of which the kernel has exceptions, or may have. */
struct exception_dest {
	struct radix_node node;		    /* of 128 bits */
	TAILQ_ENTRY(exception_dest) queued; /* linked if due_ns is not 0 */
	uint64_t due_ns;
	uint64_t asked_ns;    /* time of the event that it is read for */
	uint64_t event_ns;    /* last event about it */
	uint64_t since_ns;    /* start of the last whole reading; older findings do not count */
	struct finding found; /* the exception that was found */
	uint64_t others_ns;   /* when one was last found that is stored elsewhere */
	enum exception_state state;
};

struct exceptions {
	/* exceptions_store.c */
	struct radix store;
	uint64_t n[EXCEPTION_N_STATES]; /* in each state but EXCEPTION_NONE */
	uint64_t object_ns;		/* when one was last found at a next-hop object */
	/* next sl_punted; before ready, an earlier daemon's */
	uint64_t next_punted[SIXLANE_PUNTED_WORDS];
	uint64_t overflow_ns;
	struct exceptions_overflow { /* destinations that found no room in the store */
		uint64_t n, filter[SIXLANE_PUNTED_WORDS];
	} overflow, older; /* since overflow_ns, and before */
	bool dirty;	   /* sl_punted has bits that no destination needs any more */
	TAILQ_HEAD(exception_queue, exception_dest) queue; /* to be read; the next one first */
	size_t n_queued;
	uint64_t left_ns; /* when something was last left to a pass; 0: never */
	uint64_t next_check_ns,
		not_before_ns; /* next check of the store; none before, by the budget */
	/* exceptions.c */
	bool ready;		  /* everything was read once: sl_punted may lose bits */
	uint64_t paused_until_ns; /* no reading before, by the budget */
	uint64_t start_ns;
	uint64_t passes, passes_counted; /* of the audit at the last check; counted in sl_meta */
	bool reported;			 /* the log says that some found no room */
	/* exceptions_decide.c */
	uint64_t mtu_check_ns; /* next check for a device's new MTU; UINT64_MAX: none */
	uint64_t mtu_until_ns; /* the last such check */
	/* exceptions_store.c: sl_fresh */
	struct {
		bool draining;	 /* the half of before turned_ns is to be cleared */
		bool lost;	 /* an event of that half was lost */
		bool lost_since; /* an event of the other half was lost */
		uint64_t turned_ns, next_turn_ns;
		uint64_t event_ns; /* when all events of before turned_ns had come; 0: not yet */
		uint64_t n_lost;   /* the datapath's lost events, as counted last */
	} fresh;
};

/* More at once are left to the next pass, which is cheaper. */
#define EXCEPTIONS_MAX_QUEUED 1024u
/* Lifetime of an exact redirect, from the last time that it was found. */
#define EXCEPTIONS_LEASE_NS 90000000000ull
/* The kernel acts on a message, or a change, within this time. */
#define EXCEPTIONS_DELAY_NS 300000000u

struct exception_dest *exceptions_find(const struct exceptions *exceptions,
				       const union sixlane_addr *dst);
/* Adds it if it is not there. NULL: no room, and punt until everything was read again. */
struct exception_dest *exceptions_get(struct sync *sync, const union sixlane_addr *dst);
/* Punt until everything was read again, without a place in the store. */
void exceptions_punt_untracked(struct sync *sync, const union sixlane_addr *dst);
/* Remove it if the kernel is known to have nothing of it, and nothing is to be read. */
void exceptions_forget(struct exceptions *exceptions, struct exception_dest *dest);

/* Read it after EXCEPTIONS_DELAY_NS, for an event at asked_ns. */
void exceptions_read_soon(struct exceptions *exceptions, struct exception_dest *dest,
			  uint64_t asked_ns);
/* The same for an event now: once more even if it is queued already. */
void exceptions_note_event(struct exceptions *exceptions, struct exception_dest *dest);
void exceptions_dequeue(struct exceptions *exceptions, struct exception_dest *dest);
/*
 * Everything that the kernel has was read after this time. Without a kernel reader: it has
 * forgotten everything older.
 */
uint64_t exceptions_read_since_ns(const struct sync *sync);

/* Clear the half of sl_fresh whose destinations were all read. */
void exceptions_fresh_run(struct sync *sync, uint64_t now_ns);
uint64_t exceptions_fresh_due_ns(const struct sync *sync);

/* --- exceptions_decide.c */

/* Exact, punt or neither, by what was found. */
void exceptions_decide(struct sync *sync, struct exception_dest *dest);
/* Punt until it is decided about. */
void exceptions_punt(struct sync *sync, struct exception_dest *dest);
/* Whether it may be exact. True: *out is its entry. */
bool exceptions_is_exact(const struct sync *sync, const struct exception_dest *dest,
			 struct fib_exception *out);
/* Checks whether IPv6 has taken over a device's new MTU. */
void exceptions_mtu_run(struct sync *sync, uint64_t now_ns);

/* --- inline */

static inline bool exceptions_counts(const struct exception_dest *dest, uint64_t seen_ns)
{
	return seen_ns && seen_ns >= dest->since_ns;
}

static inline bool exceptions_has_found(const struct exception_dest *dest)
{
	return exceptions_counts(dest, dest->found.seen_ns);
}

/* The kernel has something of it, as far as is known. */
static inline bool exceptions_has_any(const struct exception_dest *dest)
{
	return exceptions_has_found(dest) || exceptions_counts(dest, dest->others_ns);
}

/* What was found is everything that the kernel has. */
static inline bool exceptions_is_known(const struct exception_dest *dest)
{
	return dest->since_ns > dest->event_ns;
}

/* Some destinations are punt without a place in the store. */
static inline bool exceptions_any_untracked(const struct exceptions *exceptions)
{
	return exceptions->overflow.n || exceptions->older.n;
}

static inline struct exception_dest *exception_dest_of(struct radix_node *node)
{
	return (struct exception_dest *)node; /* its first member */
}

/* All, by address; NULL: the end. Get the next one before you forget one. */
static inline struct exception_dest *exceptions_first(const struct exceptions *exceptions)
{
	return exception_dest_of(
		radix_first_under(&exceptions->store, &(const struct prefix){ 0 }));
}

static inline struct exception_dest *exceptions_next(const struct exception_dest *dest)
{
	return exception_dest_of(radix_next_under(&dest->node, &(const struct prefix){ 0 }));
}

static inline bool exceptions_observe(const struct sync *sync)
{
	return sync->config->exceptions == CONFIG_EXCEPTIONS_OBSERVE;
}

#endif
