// SPDX-License-Identifier: GPL-2.0-only
/* See nexthops_store.h. */
#include "nexthops_store.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
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

static int set_route(struct store *store, bool del, uint32_t last, uint32_t id, uint32_t mtu)
{
	struct route route = {
		.dst = { .addr.bytes = { 0x20, 0x01, [15] = (uint8_t)last }, .len = 128 },
		.table = RT_TABLE_MAIN,
		.type = RTN_UNICAST,
		.next_hop_id = id,
		.mtu = mtu,
	};

	return del ? rib_del(store->rib, &route, &(bool){ 0 })
		   : rib_add(store->rib, &route, NLM_F_CREATE, &(bool){ 0 });
}

/* "ID via 3" and so on. */
static int set_object(struct store *store, const char *message)
{
	struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	struct next_hop next_hop = { .hop.ifindex = 1, .members = members };
	char kind[16];
	int at, used;

	assert_int_equal(sscanf(message, "%u %15s%n", &next_hop.id, kind, &at), 2);
	next_hop.kind = !strcmp(kind, "via")	     ? NEXT_HOP_ONE
			: !strcmp(kind, "blackhole") ? NEXT_HOP_BLACKHOLE
			: !strcmp(kind, "other")     ? NEXT_HOP_OTHER
			: !strcmp(kind, "group")     ? NEXT_HOP_GROUP
						     : NEXT_HOP_RESILIENT;
	next_hop.is_group = next_hop.kind == NEXT_HOP_OTHER;
	if (next_hop.kind == NEXT_HOP_ONE) {
		next_hop.hop = (struct route_hop){ .gateway.bytes = { 0xfd },
						   .ifindex = (uint32_t)atoi(message + at),
						   .has_gateway = true };
		return nexthops_set(store->nexthops, &next_hop);
	}
	if (next_hop.kind == NEXT_HOP_RESILIENT) {
		assert_int_equal(sscanf(message + at, "%u%n", &next_hop.n_buckets, &used), 1);
		at += used;
	}
	if (next_hop.kind == NEXT_HOP_GROUP || next_hop.kind == NEXT_HOP_RESILIENT)
		next_hop.hop.ifindex = STORE_NO_DEVICE;
	for (struct next_hop_member *member = members;
	     sscanf(message + at, " %u*%u%n", &member->id, &member->weight, &used) == 2; member++) {
		at += used;
		next_hop.n_members++;
	}
	return nexthops_set(store->nexthops, &next_hop);
}

static int set_bucket(struct store *store, uint32_t group, uint32_t index, uint32_t member)
{
	const struct next_hop_bucket bucket = { .group = group, .index = index, .member = member };

	return nexthops_set_bucket(store->nexthops, &bucket);
}

int store_apply(struct store *store, const char *message)
{
	uint32_t a, b, c;

	if (sscanf(message, "bucket %u %u %u", &a, &b, &c) == 3)
		return set_bucket(store, a, b, c);
	if (sscanf(message, "route %u %u %u", &a, &b, &c) == 3)
		return set_route(store, false, a, b, c);
	if (sscanf(message, "unroute %u %u %u", &a, &b, &c) == 3)
		return set_route(store, true, a, b, c);
	if (!strcmp(message, "mark"))
		nexthops_mark(store->nexthops);
	else if (!strcmp(message, "sweep"))
		nexthops_sweep(store->nexthops);
	else if (!strcmp(message, "stale"))
		nexthops_cache_set_stale(store->nexthops);
	else if (!strcmp(message, "flushed"))
		nexthops_cache_flushed(store->nexthops);
	else if (sscanf(message, "del %u", &a) == 1)
		nexthops_delete(store->nexthops, a);
	else
		return set_object(store, message);
	return 0;
}
