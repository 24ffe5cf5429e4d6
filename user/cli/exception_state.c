// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is there of one destination, and whether packets meet it: what the operator asked for is in
 * one map, what packets meet in another. Reads only.
 */
#include <errno.h>
#include <string.h>

#include "exception.h"
#include "show.h"

/* --- lists ------------------------------------------------------------------------------- */

int exception_append(struct exceptions *list, const struct exception *one)
{
	struct exception *grown = reallocarray(list->at, list->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->at = grown;
	list->at[list->n++] = *one;
	return 0;
}

static int take_wish(void *ctx, const union sixlane_addr *dst, const struct sixlane_operator *wish)
{
	return exception_append(ctx, &(struct exception){ .dst = *dst, .value = *wish });
}

int exception_collect(const struct maps *maps, struct exceptions *list)
{
	struct maps_cursor cursor = { 0 };
	int rc;

	do
		rc = maps_operator_some(maps, &cursor, take_wish, list);
	while (rc > 0);
	return rc;
}

/* --- one of them ------------------------------------------------------------------------- */

int exception_read(const struct maps *maps, const union sixlane_addr *dst,
		   struct exception_state *out)
{
	const uint64_t now_ns = util_now_ns();
	struct exception_state state = { 0 };
	int rc = maps_exception(maps, dst, &state.entry);

	if (!rc || rc == -ENOENT)
		rc = maps_operator(maps, dst, &state.wish);
	if (rc && rc != -ENOENT)
		return rc;
	if (state.entry.expires_ns && state.entry.expires_ns <= now_ns)
		state.entry = (struct sixlane_exception){ 0 };
	if (state.wish.expires_ns && state.wish.expires_ns <= now_ns)
		state.wish = (struct sixlane_operator){ 0 };
	/* whoever wrote it */
	state.wish.device[sizeof(state.wish.device) - 1] = '\0';
	*out = state;
	return 0;
}

const char *exception_name(const union sixlane_addr *dst, uint32_t table, char buf[EXCEPTION_NAME])
{
	char addr[PRINT_PREFIX_LEN], name[SHOW_TABLE_LEN];
	const bool in_main = table == SIXLANE_TABLE_MAIN;

	print_prefix(dst, 128, true, addr);
	snprintf(buf, EXCEPTION_NAME, "%s%s%s", addr, in_main ? "" : " table ",
		 in_main ? "" : show_table(table, name));
	return buf;
}

/* --- why not ----------------------------------------------------------------------------- */

/* What is in the way of any exception of this destination; NULL: nothing. */
static const char *why_no_route(const struct maps *maps, uint32_t table,
				const union sixlane_addr *dst, char buf[EXCEPTION_WHY])
{
	struct route_view route;
	uint32_t value;
	const char *name;

	if (maps_route_lookup(maps, table, dst, &value))
		return "its table has no route for it";
	route_view_value(maps, value, NULL, &route);
	if (route.verdict == SIXLANE_FORWARD || route.by_source)
		return NULL;
	name = cmd_verdict_name(route.verdict);
	if (strncmp(name, "punt_", strlen("punt_")) != 0)
		return "its covering route does not forward";
	snprintf(buf, EXCEPTION_WHY, "its route passes to the kernel (%s)", name);
	return buf;
}

/* What was asked for and is not there. One that waits for its device is punt for a while, too. */
static const char *why_pending(const struct cmd_view *view, const union sixlane_addr *dst,
			       const struct exception_state *state, char buf[EXCEPTION_WHY])
{
	const uint32_t flags = state->entry.flags;
	const char *name = state->wish.device;
	const struct link *device = ports_find_name(&view->ports, name);

	if (*name && !(device && maps_port_slot(&view->maps, device->ifindex))) {
		snprintf(buf, EXCEPTION_WHY, "waits for device %s, which %s", name,
			 device ? "is not in the maps" : "does not exist");
		return buf;
	}
	if (flags ? flags & SIXLANE_EXCEPTION_KERNEL : maps_punted_has(view->maps.punted, dst))
		return "the kernel has learned something of it";
	return "sixlaned has not applied it";
}

const char *exception_why_not(const struct cmd_view *view, bool daemon,
			      const union sixlane_addr *dst, const struct exception_state *state,
			      char buf[EXCEPTION_WHY])
{
	const bool carried_out = state->entry.flags & SIXLANE_EXCEPTION_OPERATOR &&
				 state->entry.added_ns == state->wish.added_ns;
	const bool pending = state->wish.table && !carried_out;
	const char *why;

	if (pending && !daemon)
		return "sixlaned does not run";
	why = why_no_route(&view->maps, state->wish.table ?: state->entry.table, dst, buf);
	return why || !pending ? why : why_pending(view, dst, state, buf);
}
