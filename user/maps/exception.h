/* SPDX-License-Identifier: GPL-2.0-only */
/* sl_exceptions, and the exceptions that the operator has set (sl_operator). */
#ifndef USER_MAPS_EXCEPTION_H
#define USER_MAPS_EXCEPTION_H

#include <stdbool.h>

#include "../rib/prefix.h"
#include "walk.h"

struct maps;

/* The counters of all CPUs are summed; used_ns is the latest. 0, -ENOENT or -errno. */
int maps_exception(const struct maps *maps, const union sixlane_addr *dst,
		   struct sixlane_exception *out);
typedef int (*maps_exception_fn)(void *ctx, const union sixlane_addr *dst,
				 const struct sixlane_exception *value);
/*
 * Calls fn for every entry, in no order. An entry that is added or deleted meanwhile may be met
 * twice or not at all. 0 or -errno, which may be fn's.
 */
int maps_exception_each(const struct maps *maps, maps_exception_fn fn, void *ctx);

/* As fib_writer.set and .del of FIB_MAP_EXCEPTIONS. */
int maps_write_exception(struct maps *maps, const union sixlane_addr *dst,
			 const struct sixlane_exception *value);
int maps_write_exception_del(struct maps *maps, const union sixlane_addr *dst);

/* 0, -ENOENT or -errno. */
int maps_operator(const struct maps *maps, const union sixlane_addr *dst,
		  struct sixlane_operator *out);
/* 0, -EEXIST if there is one and replace is not set, -E2BIG (full) or -errno. */
int maps_operator_set(const struct maps *maps, const union sixlane_addr *dst,
		      const struct sixlane_operator *value, bool replace);
int maps_operator_del(const struct maps *maps, const union sixlane_addr *dst);
typedef int (*maps_operator_fn)(void *ctx, const union sixlane_addr *dst,
				const struct sixlane_operator *value);
/*
 * Calls fn for about a thousand more entries, as maps_exception_each(); fn may delete the entry
 * that it is given. 1: there may be more; 0: that was all; or -errno.
 */
int maps_operator_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		       void *ctx);
/* Delete the entry if it has expired at now_ns (CLOCK_MONOTONIC). */
void maps_operator_expire(const struct maps *maps, const union sixlane_addr *dst, uint64_t now_ns);

#endif
