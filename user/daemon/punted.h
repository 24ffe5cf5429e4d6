/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The prefixes that are punted because XDP and the kernel disagreed, and until when. Pure: the
 * caller knows the time, and writes to the FIB. A prefix that comes back within an hour after its
 * end stays twice as long as before.
 */
#ifndef USER_DAEMON_PUNTED_H
#define USER_DAEMON_PUNTED_H

#include <stddef.h>

#include "../rib/radix.h"

#define PUNTED_MAX 64
#define PUNTED_FIRST_NS 60000000000ull
#define PUNTED_LONGEST_NS (60 * PUNTED_FIRST_NS)

struct punted_prefix {
	struct prefix dst;
	uint32_t table;
	bool active;
	uint64_t until_ns;  /* CLOCK_MONOTONIC: its end, to come or past */
	uint64_t length_ns; /* of the last time */
};

/* All 0: empty. */
struct punted {
	struct punted_prefix at[PUNTED_MAX];
	size_t n, n_active;
	uint64_t total; /* how often one was added */
};

/* From now on. 0; -EEXIST: it is active; -ENOSPC: as many others are. *until_ns: its end, if 0. */
int punted_add(struct punted *punted, uint32_t table, const struct prefix *dst, uint64_t now_ns,
	       uint64_t *until_ns);
bool punted_has(const struct punted *punted, uint32_t table, const struct prefix *dst);
/* It ends now, before its time. */
void punted_end(struct punted *punted, uint32_t table, const struct prefix *dst, uint64_t now_ns);
/* Takes one whose time has come. False: there is none. */
bool punted_expire(struct punted *punted, uint64_t now_ns, uint32_t *table, struct prefix *dst);
/* When the next one ends; UINT64_MAX: none does. */
uint64_t punted_due_ns(const struct punted *punted);

#endif
