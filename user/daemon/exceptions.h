/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the kernel's exceptions share: exceptions_store.c (what the kernel has),
 * exceptions_decide.c (what comes of it), exceptions.c (when it is read), exceptions_event.c (why
 * it is read again, and what is punt before it is). Nothing else includes it.
 *
 * Invariants
 * - A destination is exact only if all that the kernel has of it is known, and is one exception
 *   at the hop that its packets take. In any other case it is punt.
 * - A destination that is exact or punt has its bits in sl_punted; they go with a rebuild alone.
 */
#ifndef USER_DAEMON_EXCEPTIONS_H
#define USER_DAEMON_EXCEPTIONS_H

#include <sys/queue.h>

#include "kernel_reader.h"
#include "kernel_routes.h"
#include "state.h"

/* One exception of the kernel's: where it is kept, and what it says. */
struct finding {
	uint32_t table; /* of the route that it is kept at */
	struct prefix prefix;
	struct fib_hop kept; /* the hop of that route */
	uint32_t metric;
	uint32_t object; /* id of the next-hop object that it is kept at instead; 0: none */
	bool plain;	 /* the route is the only one of its prefix, and has one hop */
	bool several;	 /* it is a multipath route, and the only one; neither: punt */
	struct fib_hop hop;
	uint32_t mtu; /* counts if expires is not 0 */
	bool mtu_locked;
	uint64_t expires; /* jiffies; 0: no end */
	uint64_t expires_ns, seen_ns;
};

enum excepted_state {
	EXCEPTED_NONE,
	EXCEPTED_EXACT,
	EXCEPTED_PUNT,
	EXCEPTED_NO_ROOM, /* punt; it would be exact */
	EXCEPTED_N_STATES
};

/* A destination that the kernel has exceptions of, or may have. */
struct excepted {
	struct radix_node node;	    /* of 128 bits */
	TAILQ_ENTRY(excepted) soon; /* to be read, if due_ns */
	uint64_t due_ns;
	uint64_t asked_ns;    /* the event, or look, that it is to be read for */
	uint64_t heard_ns;    /* the last event about it */
	uint64_t since_ns;    /* start of the last whole reading; older sightings do not count */
	struct finding found; /* the exception that was seen */
	uint64_t others_ns;   /* when one was seen last that is kept elsewhere */
	enum excepted_state state;
};

struct exceptions {
	/* exceptions_store.c */
	struct radix store;
	uint64_t n[EXCEPTED_N_STATES];	       /* in each state but EXCEPTED_NONE */
	uint64_t object_ns;		       /* when one was seen last at a next-hop object */
	uint64_t shadow[SIXLANE_PUNTED_WORDS]; /* sl_punted as wanted; until ready, as it was */
	uint64_t overflow_ns;
	struct exceptions_overflow { /* those that found no room in the store: */
		uint64_t n, filter[SIXLANE_PUNTED_WORDS];
	} overflow, older; /* after overflow_ns, and before */
	bool dirty;	   /* sl_punted has bits of destinations that have nothing any more */
	/* exceptions.c */
	bool ready; /* all has been read once: sl_punted may lose bits */
	TAILQ_HEAD(excepted_queue, excepted) soon; /* the next one first */
	size_t n_soon;
	uint64_t paused_until_ns; /* no reading before, by the budget */
	uint64_t start_ns, next_look_ns;
	uint64_t passes;      /* audit_passes() of the last look */
	uint64_t passes_told; /* of these, what sl_meta has counted */
	uint64_t rested_ns;   /* no look before, by the budget */
	uint64_t left_ns;     /* when something was left to a pass; 0: never */
	bool reported;	      /* the log says that some found no room */
	/* exceptions_event.c */
	uint64_t mtu_look_ns;  /* next look whether IPv6 has a device's new MTU; UINT64_MAX: none */
	uint64_t mtu_until_ns; /* the last such look */
	struct {
		bool draining;	 /* the half of before turned_ns is to be cleared */
		bool lost;	 /* an event of that half was lost */
		bool lost_since; /* one of the other half was */
		uint64_t turned_ns, next_turn_ns;
		uint64_t heard_ns; /* when all events of before turned_ns had come; 0: not yet */
		uint64_t n_lost;   /* of the program's events, as counted last */
	} fresh;
};

/* --- exceptions_store.c ------------------------------------------------------------------- */

struct excepted *exceptions_find(const struct exceptions *exceptions,
				 const union sixlane_addr *dst);
/* Made if there is none. NULL: no room, and punt from now on until all has been read again. */
struct excepted *exceptions_get(struct sync *sync, const union sixlane_addr *dst);
/* Punt until all has been read again, without a place in the store. */
void exceptions_lose(struct sync *sync, const union sixlane_addr *dst);
static inline bool exceptions_counts(const struct excepted *excepted, uint64_t seen_ns)
{
	return seen_ns && seen_ns >= excepted->since_ns;
}

static inline bool exceptions_has_found(const struct excepted *excepted)
{
	return exceptions_counts(excepted, excepted->found.seen_ns);
}

/* The kernel has something of it, as far as is known. */
static inline bool exceptions_has_any(const struct excepted *excepted)
{
	return exceptions_has_found(excepted) || exceptions_counts(excepted, excepted->others_ns);
}

/* That is all that the kernel has. */
static inline bool exceptions_is_known(const struct excepted *excepted)
{
	return excepted->since_ns > excepted->heard_ns;
}

/* The overflow has bits. */
static inline bool exceptions_any_lost(const struct exceptions *exceptions)
{
	return exceptions->overflow.n || exceptions->older.n;
}

/* If the kernel has nothing of it, as is known, and nothing is to be read. */
void exceptions_forget(struct exceptions *exceptions, struct excepted *excepted);

static inline struct excepted *excepted_of(struct radix_node *node)
{
	return (struct excepted *)node; /* its first member */
}

/* All, by address; NULL: no more. Ask for the next one before you forget one. */
static inline struct excepted *exceptions_first(const struct exceptions *exceptions)
{
	return excepted_of(radix_first_under(&exceptions->store, &(const struct prefix){ 0 }));
}

static inline struct excepted *exceptions_next(const struct excepted *excepted)
{
	return excepted_of(radix_next_under(&excepted->node, &(const struct prefix){ 0 }));
}

/* Whom its packets go to. */
static inline const union sixlane_addr *exceptions_neighbour(const struct excepted *excepted)
{
	const struct fib_hop *hop = &excepted->found.hop;

	return hop->has_gateway ? &hop->gateway : &excepted->node.prefix.addr;
}

void exceptions_set_state(struct exceptions *exceptions, struct excepted *excepted,
			  enum excepted_state state);
bool exceptions_same_hop(const struct fib_hop *a, const struct fib_hop *b);

static inline bool exceptions_observe(const struct sync *sync)
{
	return sync->config->exceptions == CONFIG_EXCEPTIONS_OBSERVE;
}

/* --- exceptions_decide.c ------------------------------------------------------------------ */

#define EXCEPTIONS_LEASE_NS 90000000000ull /* of a redirect, since it was seen last */
/* Bring into the maps what the findings come to. */
void exceptions_decide(struct sync *sync, struct excepted *excepted);
/* By the hop that it is kept at, or by several. */
bool exceptions_leads(const struct fib_target *target, const struct finding *finding);
/* Whether it may be exact, by what was read last. True: *out is its entry. */
bool exceptions_is_exact(const struct sync *sync, const struct excepted *excepted,
			 struct fib_exception *out);
/* It is punt until it is decided about. */
void exceptions_punt(struct sync *sync, struct excepted *excepted);

/* --- exceptions.c ------------------------------------------------------------------------- */

/* More at once are left to the next pass, which is cheaper. */
#define EXCEPTIONS_MAX_SOON 1024u
/* The kernel needs no longer to act on a message, or a change, after it was heard of. */
#define EXCEPTIONS_DELAY_NS 300000000u
/* Read it after that time, for what happened, or was noticed, at asked_ns. */
void exceptions_read_soon(struct exceptions *exceptions, struct excepted *excepted,
			  uint64_t asked_ns);
/* The same of what an event is about: also once more if it is about to be read anyway. */
void exceptions_heard(struct exceptions *exceptions, struct excepted *excepted);
/* All that the kernel has was read after that time; or it has forgotten it, if it cannot be. */
uint64_t exceptions_read_since_ns(const struct sync *sync);

/* --- exceptions_event.c ------------------------------------------------------------------- */

/* What waits for IPv6 to take a device's MTU over. */
void exceptions_mtu_run(struct sync *sync, uint64_t now_ns);
void exceptions_fresh_run(struct sync *sync, uint64_t now_ns);
uint64_t exceptions_fresh_due_ns(const struct sync *sync);

#endif
