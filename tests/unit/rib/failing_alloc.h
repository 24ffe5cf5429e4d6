/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocators that fail on request, for the sources that a test in alone/ includes after this. */
#ifndef UNIT_RIB_FAILING_ALLOC_H
#define UNIT_RIB_FAILING_ALLOC_H

#include <stdbool.h>
#include <stdlib.h>

/* So many allocations still succeed; negative: all do. */
static int allocations_left = -1;

static inline bool allocation_fails(void)
{
	if (!allocations_left)
		return true;
	allocations_left -= allocations_left > 0;
	return false;
}

#define malloc(size) (allocation_fails() ? NULL : malloc(size))
#define calloc(n, size) (allocation_fails() ? NULL : calloc(n, size))
#define reallocarray(old, n, size) (allocation_fails() ? NULL : reallocarray(old, n, size))

#endif
