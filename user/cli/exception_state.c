// SPDX-License-Identifier: GPL-2.0-only
/* See exception.h. */
#include "exception.h"

#include <errno.h>
#include <string.h>

#include "show.h"

int exception_append(struct exceptions *list, const struct exception *one)
{
	struct exception *grown = reallocarray(list->at, list->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->at = grown;
	list->at[list->n++] = *one;
	return 0;
}

static int append_request(void *ctx, const union sixlane_addr *dst,
			  const struct sixlane_operator *request)
{
	return exception_append(ctx, &(struct exception){ .dst = *dst, .value = *request });
}

int exception_read_requests(const struct maps *maps, struct exceptions *list)
{
	struct maps_cursor cursor = { 0 };
	int rc;

	do
		rc = maps_operator_some(maps, &cursor, append_request, list);
	while (rc > 0);
	return rc;
}

int exception_read(const struct maps *maps, const union sixlane_addr *dst,
		   struct exception_state *out)
{
	const uint64_t now_ns = util_now_ns();
	struct exception_state state = { 0 };
	int rc = maps_exception(maps, dst, &state.entry);

	if (!rc || rc == -ENOENT)
		rc = maps_operator(maps, dst, &state.request);
	if (rc && rc != -ENOENT)
		return rc;
	if (state.entry.expires_ns && state.entry.expires_ns <= now_ns)
		state.entry = (struct sixlane_exception){ 0 };
	if (state.request.expires_ns && state.request.expires_ns <= now_ns)
		state.request = (struct sixlane_operator){ 0 };
	/* another program may have written it */
	state.request.device[sizeof(state.request.device) - 1] = '\0';
	*out = state;
	return 0;
}

const char *exception_name(const union sixlane_addr *dst, uint32_t table, char buf[EXCEPTION_NAME])
{
	char addr[PRINT_PREFIX_LEN], name[SHOW_TABLE_LEN];
	const bool in_main = table == SIXLANE_TABLE_MAIN;

	snprintf(buf, EXCEPTION_NAME, "%s%s%s", print_addr(dst, addr), in_main ? "" : " table ",
		 in_main ? "" : show_table(table, name));
	return buf;
}

/* Why no exception of this destination applies; NULL: one may. */
static const char *why_no_route(const struct maps *maps, uint32_t table,
				const union sixlane_addr *dst, char buf[EXCEPTION_WHY])
{
	struct route_view route;
	uint32_t value;
	const char *name;

	if (maps_route_lookup(maps, table, dst, &value))
		return "its table has no route for it";
	route_view_read(maps, value, NULL, &route);
	if (route.verdict == SIXLANE_FORWARD || route.by_source)
		return NULL;
	name = cmd_verdict_name(route.verdict);
	if (strncmp(name, "punt_", strlen("punt_")) != 0)
		return "its covering route does not forward";
	snprintf(buf, EXCEPTION_WHY, "its route passes to the kernel (%s)", name);
	return buf;
}

/* Why the daemon has not applied a request. */
static const char *why_pending(const struct cmd_view *view, const union sixlane_addr *dst,
			       const struct exception_state *state, char buf[EXCEPTION_WHY])
{
	const uint32_t flags = state->entry.flags;
	const char *name = state->request.device;
	const struct link *device = ports_find_name(&view->ports, name);

	/* first: a destination that waits for its device is punted for a while, too */
	if (*name && !(device && maps_port_slot(&view->maps, device->ifindex))) {
		snprintf(buf, EXCEPTION_WHY, "waits for device %s, which %s", name,
			 device ? "is not in the maps" : "does not exist");
		return buf;
	}
	if (flags ? flags & SIXLANE_EXCEPTION_KERNEL : maps_punted_has(view->maps.punted, dst))
		return "the kernel has learned something of it";
	return "sixlaned has not applied it";
}

const char *exception_why_inactive(const struct cmd_view *view, bool daemon,
				   const union sixlane_addr *dst,
				   const struct exception_state *state, char buf[EXCEPTION_WHY])
{
	const bool applied = state->entry.flags & SIXLANE_EXCEPTION_OPERATOR &&
			     state->entry.added_ns == state->request.added_ns;
	const bool pending = state->request.table && !applied;
	const char *why;

	if (pending && !daemon)
		return "sixlaned does not run";
	why = why_no_route(&view->maps, state->request.table ?: state->entry.table, dst, buf);
	return why || !pending ? why : why_pending(view, dst, state, buf);
}
