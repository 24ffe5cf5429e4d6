// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: a run of cells and the next hops that they name. Published whole and never changed
 * after that, but for the buckets of a resilient group, which change one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "alias.h"
#include "fib_internal.h"

/* Without cells and members. NULL: no memory. */
static struct fib_group *group_alloc(uint32_t max_members)
{
	struct fib_group *group =
		calloc(1, sizeof(*group) + max_members * sizeof(group->members[0]));

	if (group)
		group->refs = 1;
	return group;
}

static void drop_members(struct fib *fib, struct fib_group *group)
{
	while (group->n_members)
		fib_next_hop_unwant(fib, group->members[--group->n_members]);
}

/* Of a group that was never published. */
static void group_undo(struct fib *fib, struct fib_group *group)
{
	if (group->n_cells)
		fib_cells_give_unused(&fib->cells, group->first_cell, group->n_cells);
	drop_members(fib, group);
	free(group);
}

void fib_group_put(struct fib *fib, struct fib_group *group)
{
	if (--group->refs)
		return;
	if (group->n_cells)
		fib_cells_give(&fib->cells, group->first_cell, group->n_cells);
	drop_members(fib, group);
	free(group);
}

static bool add_member(struct fib *fib, struct fib_group *group, const struct fib_key *key)
{
	if (!fib_next_hop_want_fed(fib, key, &group->members[group->n_members]))
		return false;
	group->n_members++;
	return true;
}

static bool add_hops(struct fib *fib, struct fib_group *group, const struct fib_key_hop *hops,
		     uint32_t n)
{
	struct fib_leaf_key leaf;

	for (uint32_t i = 0; i < n; i++) {
		fib_key_of_hop(&leaf, &hops[i]);
		if (!add_member(fib, group, &leaf.key))
			return false;
	}
	return true;
}

/* A group with its members and cells, which are still to be written. */
static struct fib_group *group_new(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				   uint32_t n_cells)
{
	struct fib_group *group = group_alloc(n);

	if (!group)
		return NULL;
	if (n_cells && fib_cells_take(fib, n_cells, &group->first_cell))
		group->n_cells = n_cells;
	if (group->n_cells == n_cells && add_hops(fib, group, hops, n))
		return group;
	group_undo(fib, group);
	return NULL;
}

static bool write_weighted(struct fib *fib, const struct fib_group *group,
			   const struct fib_key_hop *hops)
{
	uint32_t n = group->n_cells;
	_cleanup_free_ union sixlane_cell *cells = calloc(n, sizeof(*cells));

	if (!cells || fib_alias_build(hops, n, cells))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		cells[i].below = (uint16_t)group->members[cells[i].below]->id;
		cells[i].above = (uint16_t)group->members[cells[i].above]->id;
		fib_cell_set(fib, group->first_cell + i, cells[i]);
	}
	return true;
}

struct fib_group *fib_group_new_hashed(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				       bool always)
{
	struct fib_group *group = group_new(fib, hops, n, n > 1 || always ? n : 0);

	if (!group || !group->n_cells || write_weighted(fib, group, hops))
		return group;
	group_undo(fib, group);
	return NULL;
}

static union sixlane_cell cell_of_one(const struct fib_next_hop *member)
{
	return (union sixlane_cell){ .below = (uint16_t)member->id, .above = (uint16_t)member->id };
}

struct fib_group *fib_group_new_first(struct fib *fib, const struct fib_key_hop *hops, uint32_t n)
{
	struct fib_group *group = group_new(fib, hops, n, n);

	for (uint32_t i = 0; group && i < n; i++)
		fib_cell_set(fib, group->first_cell + i, cell_of_one(group->members[i]));
	return group;
}

/* --- buckets ---------------------------------------------------------------------------------- */

/* The hops, and behind them the member of buckets of which nobody knows whose they are. */
static bool add_bucket_members(struct fib *fib, struct fib_group *group,
			       const struct fib_object_def *def)
{
	struct fib_leaf_key punt;

	fib_key_of_verdict(&punt, SIXLANE_PUNT_MULTIPATH);
	return add_hops(fib, group, def->hops, def->n_hops) && add_member(fib, group, &punt.key);
}

static union sixlane_cell bucket_cell(const struct fib_group *group,
				      const struct fib_object_def *def, uint32_t i)
{
	uint32_t member = def->buckets[i] < def->n_hops ? def->buckets[i] : def->n_hops;

	return cell_of_one(group->members[member]);
}

struct fib_group *fib_group_new_buckets(struct fib *fib, const struct fib_object_def *def)
{
	struct fib_group *group = group_alloc(def->n_hops + 1);

	if (!group)
		return NULL;
	if (fib_cells_take(fib, def->n_buckets, &group->first_cell))
		group->n_cells = def->n_buckets;
	if (!group->n_cells || !add_bucket_members(fib, group, def)) {
		group_undo(fib, group);
		return NULL;
	}
	for (uint32_t i = 0; i < group->n_cells; i++)
		fib_cell_set(fib, group->first_cell + i, bucket_cell(group, def, i));
	return group;
}

bool fib_group_set_buckets(struct fib *fib, struct fib_group **group,
			   const struct fib_object_def *def)
{
	struct fib_group *old = *group, *new = group_alloc(def->n_hops + 1);

	if (!new)
		return false;
	if (!add_bucket_members(fib, new, def)) {
		group_undo(fib, new);
		return false;
	}
	new->first_cell = old->first_cell;
	new->n_cells = old->n_cells;
	for (uint32_t i = 0; i < new->n_cells; i++) {
		const union sixlane_cell cell = bucket_cell(new, def, i);

		if (fib->cells.written[new->first_cell + i].word != cell.word)
			fib_cell_set(fib, new->first_cell + i, cell);
	}
	/* The cells live on. */
	drop_members(fib, old);
	free(old);
	*group = new;
	return true;
}

union sixlane_fate fib_group_fate(const struct fib_group *group, uint16_t kind)
{
	if (!group->n_cells)
		return group->members[0]->content.fate;
	return (union sixlane_fate){ .kind = kind,
				     .n_cells = (uint16_t)group->n_cells,
				     .first_cell = group->first_cell };
}
