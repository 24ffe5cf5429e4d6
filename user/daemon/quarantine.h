/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prefixes that are punted because XDP and the kernel disagreed about them, and until when. A
 * prefix that comes back within an hour after its end stays twice as long as before. Pure: the
 * caller knows the time and writes to the FIB.
 */
#ifndef USER_DAEMON_QUARANTINE_H
#define USER_DAEMON_QUARANTINE_H

#include <stddef.h>

#include "../rib/radix.h"

#define QUARANTINE_MAX 64
#define QUARANTINE_FIRST_NS 60000000000ull
#define QUARANTINE_LONGEST_NS (60 * QUARANTINE_FIRST_NS)

struct quarantine_prefix {
	struct prefix dst;
	uint32_t table;
	bool active;
	uint64_t until_ns;  /* CLOCK_MONOTONIC: its end, in the past if not active */
	uint64_t length_ns; /* of the last quarantine */
};

/* All zero: empty. */
struct quarantine {
	struct quarantine_prefix at[QUARANTINE_MAX];
	size_t n, n_active;
	uint64_t total; /* quarantines so far */
};

/* 0 and *until_ns; -EEXIST: it is active; -ENOSPC: QUARANTINE_MAX others are. */
int quarantine_add(struct quarantine *quarantine, uint32_t table, const struct prefix *dst,
		   uint64_t now_ns, uint64_t *until_ns);
bool quarantine_has(const struct quarantine *quarantine, uint32_t table, const struct prefix *dst);
/* End it early. */
void quarantine_end(struct quarantine *quarantine, uint32_t table, const struct prefix *dst,
		    uint64_t now_ns);
/* End one that is due. False: there is none. */
bool quarantine_expire(struct quarantine *quarantine, uint64_t now_ns, uint32_t *table,
		       struct prefix *dst);
/* When the next one ends; UINT64_MAX: none. */
uint64_t quarantine_due_ns(const struct quarantine *quarantine);

#endif
