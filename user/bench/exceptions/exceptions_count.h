/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries of routes and of exceptions, in the kernel of the caller's network namespace and in the
 * maps of a sixlane.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_EXCEPTIONS_COUNT_H
#define BENCH_EXCEPTIONS_COUNT_H

#include "../../maps/maps.h"

struct exceptions_counts {
	uint64_t kernel_routes, kernel_exceptions;
	uint64_t routes, exceptions; /* in sl_routes, in sl_exceptions */
};

/* What the kernel has learnt. */
int exceptions_count_kernel(uint64_t *out);
/* Entries of sl_exceptions and the packets that have met one; either may be NULL. */
int exceptions_count_ours(const struct maps *maps, uint64_t *entries, uint64_t *hits);

int exceptions_count_all(const struct maps *maps, struct exceptions_counts *out);

#endif
