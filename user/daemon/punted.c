// SPDX-License-Identifier: GPL-2.0-only
/*
 * See punted.h. A list without order: it is short, and mostly empty.
 */
#include "punted.h"

#include <errno.h>

static struct punted_prefix *find(const struct punted *punted, uint32_t table,
				  const struct prefix *dst)
{
	for (size_t i = 0; i < punted->n; i++) {
		const struct punted_prefix *at = &punted->at[i];

		if (at->table == table && prefix_equal(&at->dst, dst))
			return (struct punted_prefix *)at;
	}
	return NULL;
}

/* A place for a new prefix: an empty one, or that of the one that ended first. NULL: none. */
static struct punted_prefix *take_place(struct punted *punted)
{
	struct punted_prefix *oldest = NULL;

	if (punted->n < PUNTED_MAX)
		return &punted->at[punted->n++];
	for (size_t i = 0; i < punted->n; i++) {
		struct punted_prefix *at = &punted->at[i];

		if (!at->active && (!oldest || at->until_ns < oldest->until_ns))
			oldest = at;
	}
	return oldest;
}

static uint64_t next_length(const struct punted_prefix *at, uint64_t now_ns)
{
	if (now_ns > at->until_ns + PUNTED_LONGEST_NS)
		return PUNTED_FIRST_NS;
	return at->length_ns > PUNTED_LONGEST_NS / 2 ? PUNTED_LONGEST_NS : 2 * at->length_ns;
}

int punted_add(struct punted *punted, uint32_t table, const struct prefix *dst, uint64_t now_ns,
	       uint64_t *until_ns)
{
	struct punted_prefix *at = find(punted, table, dst);
	uint64_t length_ns = PUNTED_FIRST_NS;

	if (at && at->active)
		return -EEXIST;
	if (at)
		length_ns = next_length(at, now_ns);
	else
		at = take_place(punted);
	if (!at)
		return -ENOSPC;
	*at = (struct punted_prefix){
		.dst = *dst,
		.table = table,
		.active = true,
		.until_ns = now_ns + length_ns,
		.length_ns = length_ns,
	};
	punted->n_active++;
	punted->total++;
	*until_ns = at->until_ns;
	return 0;
}

bool punted_has(const struct punted *punted, uint32_t table, const struct prefix *dst)
{
	const struct punted_prefix *at = punted->n_active ? find(punted, table, dst) : NULL;

	return at && at->active;
}

static void deactivate(struct punted *punted, struct punted_prefix *at)
{
	at->active = false;
	punted->n_active--;
}

void punted_end(struct punted *punted, uint32_t table, const struct prefix *dst, uint64_t now_ns)
{
	struct punted_prefix *at = punted->n_active ? find(punted, table, dst) : NULL;

	if (!at || !at->active)
		return;
	at->until_ns = now_ns;
	deactivate(punted, at);
}

bool punted_expire(struct punted *punted, uint64_t now_ns, uint32_t *table, struct prefix *dst)
{
	for (size_t i = 0; i < punted->n && punted->n_active; i++) {
		struct punted_prefix *at = &punted->at[i];

		if (!at->active || now_ns < at->until_ns)
			continue;
		deactivate(punted, at);
		*table = at->table;
		*dst = at->dst;
		return true;
	}
	return false;
}

uint64_t punted_due_ns(const struct punted *punted)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < punted->n && punted->n_active; i++)
		if (punted->at[i].active && punted->at[i].until_ns < due_ns)
			due_ns = punted->at[i].until_ns;
	return due_ns;
}
