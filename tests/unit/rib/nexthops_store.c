// SPDX-License-Identifier: GPL-2.0-only
/*
 * See nexthops_store.h.
 */
#include "nexthops_store.h"

#include <stdio.h>

static void write_hops(FILE *out, const struct nexthop_view *view)
{
	for (uint32_t i = 0; i < view->n_hops; i++) {
		fprintf(out, " %u", view->hops[i].ifindex);
		if (view->kind != NEXT_HOP_ONE)
			fprintf(out, "*%u", view->weights[i]);
	}
}

static void write_buckets(FILE *out, const struct nexthop_view *view)
{
	for (uint32_t i = 0; i < view->n_buckets; i++) {
		fputs(i ? " " : " [", out);
		if (view->buckets[i] == UINT16_MAX)
			fputs("-", out);
		else
			fprintf(out, "%u", view->buckets[i]);
	}
	if (view->n_buckets)
		fputs("]", out);
}

const char *store_text(const struct store *store, uint32_t id, char out[STORE_TEXT])
{
	static const char *const kinds[] = { "via", "blackhole", "group", "res", "other" };
	struct nexthop_view view;
	FILE *f;

	if (!nexthops_view(store->nexthops, id, &view))
		return strcpy(out, "none");
	f = fmemopen(out, STORE_TEXT, "w");
	assert_non_null(f);
	fputs(kinds[view.kind], f);
	write_hops(f, &view);
	write_buckets(f, &view);
	if (view.mixed)
		fputs(" mixed", f);
	fclose(f);
	return out;
}

static void note_id(char ids[STORE_TEXT], uint32_t id)
{
	size_t used = strlen(ids);

	snprintf(ids + used, STORE_TEXT - used, "%s%u", used ? " " : "", id);
}

static bool names(const struct route *route, void *ctx)
{
	return route->next_hop_id == *(const uint32_t *)ctx;
}

/* The listener may take views. */
static void note_change(void *ctx, uint32_t id)
{
	struct store *store = ctx;
	struct nexthop_view view;
	bool there = nexthops_view(store->nexthops, id, &view);

	note_id(store->reported, id);
	if (there && !view.mixed)
		note_id(store->alike, id);
	if (!there)
		rib_prune(store->rib, names, &id);
}

void store_open(struct store *store)
{
	memset(store, 0, sizeof(*store));
	store->nexthops = nexthops_new(note_change, store);
	store->rib = rib_new(NULL, NULL);
	assert_non_null(store->nexthops);
	assert_non_null(store->rib);
	nexthops_set_rib(store->nexthops, store->rib);
}

void store_close(struct store *store)
{
	nexthops_free(store->nexthops);
	rib_free(store->rib);
}

int store_set_one(struct store *store, uint32_t id, uint32_t ifindex)
{
	struct next_hop next_hop = {
		.id = id,
		.kind = NEXT_HOP_ONE,
		.hop = { .ifindex = ifindex, .has_gateway = true, .gateway.bytes = { 0xfd } },
	};

	return nexthops_set(store->nexthops, &next_hop);
}

int store_set_kind(struct store *store, uint32_t id, enum next_hop_kind kind)
{
	struct next_hop next_hop = {
		.id = id,
		.kind = kind,
		.is_group = kind == NEXT_HOP_OTHER,
		.hop.ifindex = 1,
	};

	return nexthops_set(store->nexthops, &next_hop);
}

int store_set_group(struct store *store, uint32_t id, uint32_t n_buckets, const uint32_t *pairs)
{
	struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	struct next_hop next_hop = {
		.id = id,
		.kind = n_buckets ? NEXT_HOP_RESILIENT : NEXT_HOP_GROUP,
		.hop.ifindex = STORE_NO_DEVICE,
		.n_buckets = n_buckets,
		.members = members,
	};

	for (; pairs[0]; pairs += 2)
		members[next_hop.n_members++] =
			(struct next_hop_member){ .id = pairs[0], .weight = pairs[1] };
	return nexthops_set(store->nexthops, &next_hop);
}

int store_set_bucket(struct store *store, uint32_t group, uint32_t index, uint32_t member)
{
	struct next_hop_bucket bucket = { .group = group, .index = index, .member = member };

	return nexthops_set_bucket(store->nexthops, &bucket);
}
