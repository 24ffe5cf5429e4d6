/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which destinations are exact and which are punt, into the maps.
 */
#ifndef USER_DAEMON_EXCEPTIONS_DECIDE_H
#define USER_DAEMON_EXCEPTIONS_DECIDE_H

#include "exceptions_store.h"

/* By what was found. */
void exceptions_decide(struct sync *sync, struct exception_dest *dest);
/* Punt until it is decided about. */
void exceptions_punt(struct sync *sync, struct exception_dest *dest);
/* Whether it may be exact. True: *out is its entry. */
bool exceptions_is_exact(const struct sync *sync, const struct exception_dest *dest,
			 struct fib_exception *out);
/* Whether packets of the target take the hop at which the finding is stored. */
bool exceptions_target_matches(const struct fib_target *target, const struct finding *finding);

/* Lifetime of an exact redirect, from the last time that it was found. */
#define EXCEPTIONS_LEASE_NS 90000000000ull

#endif
