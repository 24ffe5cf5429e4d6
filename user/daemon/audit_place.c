// SPDX-License-Identifier: GPL-2.0-only
/*
 * One destination: read from the kernel's own table, compared with the RIB, and put there.
 *
 * Messages under way may be older or newer than what is read. Older ones have been applied before
 * the comparison, and if one was about this destination it is read once more. What is read may
 * also be newer than a message that is sent after it: that message then says what is known already.
 */
#include <errno.h>
#include <string.h>

#include "audit_internal.h"
#include "state.h"

#define TRIES 3

int audit_prefix_compare(const struct prefix *a, const struct prefix *b)
{
	const int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : a->len - b->len;
}

static void report_failure(struct sync *sync, const struct prefix *dst, int ret)
{
	char text[PREFIX_STRLEN];

	if (ret == -E2BIG)
		log_warning_limited("%s has more routes than the kernel reader holds: not audited",
				    prefix_format(dst, text));
	else
		log_warning_limited(
			"cannot read the routes to %s in the kernel's table: %s; sixlaned tries again",
			prefix_format(dst, text), strerror(-ret));
	if (ret == -ENOMEM)
		sync_want(sync, SYNC_LATER_NS);
}

/* Into audit->routes. 0 or -errno; -EAGAIN: the kernel is just changing what leads there. */
static int read_kernel(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct audit *audit = sync->audit;
	struct kernel_view view;
	int ret = kernel_reader_find(audit->reader, table, dst, NULL, &view);

	if (!ret && view.cut_routes)
		ret = -E2BIG;
	if (!ret)
		ret = kernel_routes_fill(&audit->routes, &view, table, view.records, view.n);
	if (ret && ret != -EAGAIN)
		report_failure(sync, dst, ret);
	return ret;
}

static enum rib_difference compare(const struct sync *sync, uint32_t table,
				   const struct prefix *dst)
{
	const struct kernel_routes *routes = &sync->audit->routes;

	return rib_compare(rib_find(sync->rib, table, dst), routes->routes, routes->n,
			   util_now_ns());
}

void audit_place_put(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct kernel_routes *routes = &sync->audit->routes;
	bool by_object = false;

	for (size_t i = 0; i < routes->n; i++)
		by_object |= routes->routes[i].next_hop_id != 0;
	if (rib_put(sync->rib, table, dst, routes->routes, routes->n))
		sync_want(sync, SYNC_LATER_NS);
	if (by_object)
		sync_renew_cached(sync);
}

bool audit_read(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct audit *audit = sync->audit;
	int ret = -EAGAIN;

	if (!audit->reader)
		return false;
	if (!audit->probed) /* or it is in the midst of another one */
		ret = read_kernel(sync, table, dst);
	if (ret == -EAGAIN)
		audit_read_soon(sync, table, dst);
	else if (!ret && compare(sync, table, dst) != RIB_SAME)
		audit_place_put(sync, table, dst);
	return !ret || ret == -EAGAIN;
}

void audit_note_message(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct audit_place *probed = sync->audit->probed;

	if (probed && probed->table == table && prefix_equal(&probed->dst, dst))
		sync->audit->touched = true;
}

/* 0: audit->routes is what the kernel has, and no message about it is left. */
static int read_still(struct sync *sync, const struct audit_place *place)
{
	struct audit *audit = sync->audit;

	for (int i = 0; i < TRIES; i++) {
		int ret = read_kernel(sync, place->table, &place->dst);
		bool all;

		if (ret)
			return ret;
		audit->touched = false;
		audit->probed = place;
		all = sync_follow(sync);
		audit->probed = NULL;
		if (all && !audit->touched)
			return 0;
	}
	return -EAGAIN;
}

void audit_place_mend(struct sync *sync, const struct audit_place *place, bool counted)
{
	enum rib_difference difference;
	char text[PREFIX_STRLEN];

	/* -EAGAIN: routes that change all the time; the next pass comes by here, too */
	if (read_still(sync, place))
		return;
	difference = compare(sync, place->table, &place->dst);
	if (difference == RIB_SAME)
		return;
	audit_place_put(sync, place->table, &place->dst);
	if (!counted || difference == RIB_RENEWED)
		return;
	sync->audit->mended[difference]++;
	log_info_limited("audit: %s in table %u was not as the kernel has it (%s); corrected",
			 prefix_format(&place->dst, text), place->table,
			 rib_difference_names[difference]);
}
