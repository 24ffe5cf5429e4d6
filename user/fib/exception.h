/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exact exceptions: destinations with an entry of sl_exceptions, and the route flag that makes the
 * datapath look for them (the invariant of the flag is in entry.h). Knows no kernel: the caller
 * decides whether an exception holds.
 */
#ifndef USER_FIB_EXCEPTION_H
#define USER_FIB_EXCEPTION_H

#include "target.h"

struct fib;

enum fib_origin { FIB_KERNEL, FIB_OPERATOR, FIB_N_ORIGINS };

/* A destination has a Path MTU, another next hop, or both. */
struct fib_exception {
	enum fib_origin origin;
	uint32_t table;	 /* packets whose route is of another table ignore it */
	uint32_t mtu;	 /* bytes, at least 1280; 0: none */
	bool mtu_locked; /* see SIXLANE_EXCEPTION_LOCKED */
	bool has_hop;
	bool observe;	     /* count, do not apply */
	struct fib_hop hop;  /* without its weight */
	uint64_t expires_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t added_ns;   /* CLOCK_MONOTONIC; 0: when it is written first */
	uint32_t reading;    /* for the caller; 0 if adopted */
};

/*
 * Set what a destination has; NULL: nothing. The caller also sets the flag of its route with
 * fib_set_exception_flag(). 0, or -errno: the destination keeps what it had. A deletion that fails
 * is tried again, and returns 0.
 */
int fib_set_exception(struct fib *fib, const union sixlane_addr *dst,
		      const struct fib_exception *exception);
/* The exception as set last; NULL: none. Valid until the next fib_set_exception(). */
const struct fib_exception *fib_exception(const struct fib *fib, const union sixlane_addr *dst);
typedef void (*fib_exception_fn)(void *ctx, const union sixlane_addr *dst,
				 const struct fib_exception *exception);
/* Calls fn for all, in no order. fn may set the one that it is given to nothing. */
void fib_exception_each(struct fib *fib, fib_exception_fn fn, void *ctx);

/*
 * Packets to this destination whose route is in this table look for exceptions from now on: the
 * longest prefix that covers it has SIXLANE_ROUTE_EXCEPTIONS, whatever prefixes come and go.
 */
void fib_set_exception_flag(struct fib *fib, uint32_t table, const union sixlane_addr *dst);
/* No route has the flag any more. */
void fib_clear_exception_flags(struct fib *fib);

/* For fib_new(). 0 or -ENOMEM. */
int fib_exception_init(struct fib *fib);
/* For fib_retry(): delete what could not be deleted. */
void fib_exception_retry(struct fib *fib);

#endif
