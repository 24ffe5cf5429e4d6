// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is there of one destination, and whether packets meet it: what the operator asked for is in
 * one map, what the daemon made of it in another. Reads only.
 */
#include <errno.h>
#include <string.h>

#include "exception.h"
#include "show.h"

int exception_append(struct exceptions *list, const struct exception *one)
{
	struct exception *grown;

	/* Doubling: room is added whenever the number is a power of two. */
	if (!(list->n & (list->n - 1))) {
		grown = reallocarray(list->at, list->n ? 2 * list->n : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->at = grown;
	}
	list->at[list->n++] = *one;
	return 0;
}

struct collect {
	const struct exception *asked;
	struct exceptions *list;
};

static int take(const struct collect *to, const union sixlane_addr *dst, uint32_t table)
{
	const struct exception *asked = to->asked, found = { .dst = *dst, .table = table };

	if ((asked->table && table != asked->table) ||
	    (asked->has_dst && memcmp(&asked->dst, dst, sizeof(*dst)) != 0))
		return 0;
	return exception_append(to->list, &found);
}

static int take_entry(void *ctx, const union sixlane_addr *dst,
		      const struct sixlane_exception *value)
{
	return take(ctx, dst, value->table);
}

static int take_wish(void *ctx, const union sixlane_addr *dst, const struct sixlane_operator *value)
{
	return take(ctx, dst, value->table);
}

int exception_collect(const struct maps *maps, const struct exception *asked, bool entries,
		      struct exceptions *list)
{
	struct collect to = { asked, list };
	int error = entries ? maps_exception_each(maps, take_entry, &to) : 0;
	struct maps_cursor cursor = { 0 };

	if (error)
		return error;
	do
		error = maps_operator_some(maps, &cursor, take_wish, &to);
	while (error > 0);
	return error;
}

static bool is_over(uint64_t expires_ns)
{
	return expires_ns && util_now_ns() >= expires_ns;
}

int exception_read(const struct maps *maps, struct exception *one)
{
	int entry_rc = maps_exception(maps, &one->dst, &one->entry);
	int wish_rc = maps_operator(maps, &one->dst, &one->wish);

	if (entry_rc && entry_rc != -ENOENT)
		return entry_rc;
	if (wish_rc && wish_rc != -ENOENT)
		return wish_rc;
	one->has_entry =
		!entry_rc && one->entry.table == one->table && !is_over(one->entry.expires_ns);
	one->has_wish = !wish_rc && !is_over(one->wish.expires_ns);
	one->elsewhere = one->has_wish && one->wish.table != one->table ? one->wish.table : 0;
	one->has_wish &= !one->elsewhere;
	/* whoever wrote it */
	one->wish.device[sizeof(one->wish.device) - 1] = '\0';
	return 0;
}

const char *exception_name(const struct exception *one, char buf[EXCEPTION_NAME])
{
	char addr[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN];
	bool in_main = one->table == SIXLANE_TABLE_MAIN;

	print_prefix(&one->dst, 128, true, addr);
	snprintf(buf, EXCEPTION_NAME, "%s%s%s", addr, in_main ? "" : " table ",
		 in_main ? "" : show_table(one->table, table));
	return buf;
}

/* --- carried out ------------------------------------------------------------------------- */

static bool is_next_hop_carried_out(const struct cmd_view *view, const struct exception *one)
{
	bool has_hop = one->entry.flags & SIXLANE_EXCEPTION_NEXT_HOP;
	const struct sixlane_operator *wish = &one->wish;
	const struct link *device;
	struct hop_view hop;

	if (!has_hop || !*wish->device)
		return !has_hop && !*wish->device;
	route_view_hop(&view->maps, one->entry.next_hop, &hop);
	device = ports_find_name(&view->ports, wish->device);
	return device && device->ifindex == hop.egress.ifindex &&
	       !memcmp(&hop.neigh.key.addr, &wish->gateway, sizeof(wish->gateway));
}

/* What the operator asked for is in sl_exceptions, as it was asked for last. */
static bool is_carried_out(const struct cmd_view *view, const struct exception *one)
{
	const struct sixlane_exception *entry = &one->entry;
	uint32_t mtu = entry->flags & SIXLANE_EXCEPTION_MTU ? entry->mtu : 0;

	return one->has_entry && entry->flags & SIXLANE_EXCEPTION_OPERATOR &&
	       mtu == one->wish.mtu && entry->expires_ns == one->wish.expires_ns &&
	       is_next_hop_carried_out(view, one);
}

/* --- why not ----------------------------------------------------------------------------- */

/* What is in the way of any exception of this destination; NULL: nothing. */
static const char *why_no_route(const struct maps *maps, const struct exception *one,
				struct exception_why *out)
{
	struct route_view route;
	uint32_t value;
	const char *name;

	if (maps_route_lookup(maps, one->table, &one->dst, &value))
		return "its table has no route for it";
	route_view_value(maps, value, NULL, &route);
	if (route.verdict == SIXLANE_FORWARD || route.by_source)
		return NULL;
	name = cmd_verdict_name(route.verdict);
	if (strncmp(name, "punt_", strlen("punt_")) != 0)
		return "its covering route does not forward";
	snprintf(out->buf, sizeof(out->buf), "its route passes to the kernel (%s)", name);
	return out->buf;
}

/* What was asked for comes behind what the kernel has, or waits for its device. */
static const char *why_pending(const struct cmd_view *view, const struct exception *one,
			       struct exception_why *out)
{
	const char *name = one->wish.device;
	const struct link *device = *name ? ports_find_name(&view->ports, name) : NULL;
	struct sixlane_exception entry;

	if (maps_exception(&view->maps, &one->dst, &entry) ? maps_punted_has(&view->maps, &one->dst)
							   : entry.flags & SIXLANE_EXCEPTION_KERNEL)
		return "the kernel has learned something of it";
	if (*name && !(device && maps_port_slot(&view->maps, device->ifindex))) {
		snprintf(out->buf, sizeof(out->buf), "waits for device %s, which %s", name,
			 device ? "is not in the maps" : "does not exist");
		return out->buf;
	}
	out->refused = true;
	return "sixlaned has not applied it";
}

const char *exception_why_not(const struct cmd_view *view, bool daemon, const struct exception *one,
			      struct exception_why *out)
{
	const bool pending = one->has_wish && !is_carried_out(view, one);
	const char *why;

	out->refused = false;
	if (pending && !daemon)
		return "sixlaned does not run";
	why = why_no_route(&view->maps, one, out);
	return why || !pending ? why : why_pending(view, one, out);
}
