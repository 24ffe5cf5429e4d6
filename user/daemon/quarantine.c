// SPDX-License-Identifier: GPL-2.0-only
/* See quarantine.h. An unordered list: it is short, and mostly empty. */
#include "quarantine.h"

#include <errno.h>

static struct quarantine_prefix *find(const struct quarantine *quarantine, uint32_t table,
				      const struct prefix *dst)
{
	for (size_t i = 0; i < quarantine->n; i++) {
		const struct quarantine_prefix *at = &quarantine->at[i];

		if (at->table == table && prefix_equal(&at->dst, dst))
			return (struct quarantine_prefix *)at;
	}
	return NULL;
}

/* A place for a new prefix: an unused one, or that of the prefix that ended first. NULL: none. */
static struct quarantine_prefix *find_place(struct quarantine *quarantine)
{
	struct quarantine_prefix *oldest = NULL;

	if (quarantine->n < QUARANTINE_MAX)
		return &quarantine->at[quarantine->n++];
	for (size_t i = 0; i < quarantine->n; i++) {
		struct quarantine_prefix *at = &quarantine->at[i];

		if (!at->active && (!oldest || at->until_ns < oldest->until_ns))
			oldest = at;
	}
	return oldest;
}

static uint64_t next_length(const struct quarantine_prefix *at, uint64_t now_ns)
{
	if (now_ns > at->until_ns + QUARANTINE_LONGEST_NS)
		return QUARANTINE_FIRST_NS;
	return at->length_ns > QUARANTINE_LONGEST_NS / 2 ? QUARANTINE_LONGEST_NS
							 : 2 * at->length_ns;
}

int quarantine_add(struct quarantine *quarantine, uint32_t table, const struct prefix *dst,
		   uint64_t now_ns, uint64_t *until_ns)
{
	struct quarantine_prefix *at = find(quarantine, table, dst);
	uint64_t length_ns = QUARANTINE_FIRST_NS;

	if (at && at->active)
		return -EEXIST;
	if (at)
		length_ns = next_length(at, now_ns);
	else
		at = find_place(quarantine);
	if (!at)
		return -ENOSPC;
	*at = (struct quarantine_prefix){
		.dst = *dst,
		.table = table,
		.active = true,
		.until_ns = now_ns + length_ns,
		.length_ns = length_ns,
	};
	quarantine->n_active++;
	quarantine->total++;
	*until_ns = at->until_ns;
	return 0;
}

bool quarantine_has(const struct quarantine *quarantine, uint32_t table, const struct prefix *dst)
{
	const struct quarantine_prefix *at =
		quarantine->n_active ? find(quarantine, table, dst) : NULL;

	return at && at->active;
}

static void deactivate(struct quarantine *quarantine, struct quarantine_prefix *at)
{
	at->active = false;
	quarantine->n_active--;
}

void quarantine_end(struct quarantine *quarantine, uint32_t table, const struct prefix *dst,
		    uint64_t now_ns)
{
	struct quarantine_prefix *at = quarantine->n_active ? find(quarantine, table, dst) : NULL;

	if (!at || !at->active)
		return;
	at->until_ns = now_ns;
	deactivate(quarantine, at);
}

bool quarantine_expire(struct quarantine *quarantine, uint64_t now_ns, uint32_t *table,
		       struct prefix *dst)
{
	for (size_t i = 0; i < quarantine->n && quarantine->n_active; i++) {
		struct quarantine_prefix *at = &quarantine->at[i];

		if (!at->active || now_ns < at->until_ns)
			continue;
		deactivate(quarantine, at);
		*table = at->table;
		*dst = at->dst;
		return true;
	}
	return false;
}

uint64_t quarantine_due_ns(const struct quarantine *quarantine)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < quarantine->n && quarantine->n_active; i++)
		if (quarantine->at[i].active && quarantine->at[i].until_ns < due_ns)
			due_ns = quarantine->at[i].until_ns;
	return due_ns;
}
