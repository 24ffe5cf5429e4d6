/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The prefixes that are punted because XDP and the kernel disagreed, and until when. Pure: the
 * caller knows the time, and writes to the FIB. A prefix that comes back within an hour after its
 * end stays twice as long as before.
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
	uint64_t until_ns;  /* CLOCK_MONOTONIC: its end, to come or past */
	uint64_t length_ns; /* of the last time */
};

/* All 0: empty. */
struct quarantine {
	struct quarantine_prefix at[QUARANTINE_MAX];
	size_t n, n_active;
	uint64_t total; /* how often one was added */
};

/* From now on. 0; -EEXIST: it is active; -ENOSPC: as many others are. *until_ns: its end, if 0. */
int quarantine_add(struct quarantine *quarantine, uint32_t table, const struct prefix *dst,
		   uint64_t now_ns, uint64_t *until_ns);
bool quarantine_has(const struct quarantine *quarantine, uint32_t table, const struct prefix *dst);
/* It ends now, before its time. */
void quarantine_end(struct quarantine *quarantine, uint32_t table, const struct prefix *dst,
		    uint64_t now_ns);
/* Takes one whose time has come. False: there is none. */
bool quarantine_expire(struct quarantine *quarantine, uint64_t now_ns, uint32_t *table,
		       struct prefix *dst);
/* When the next one ends; UINT64_MAX: none does. */
uint64_t quarantine_due_ns(const struct quarantine *quarantine);

#endif
