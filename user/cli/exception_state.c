// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is there of one destination, and whether packets meet it: what the operator asked for is in
 * one map, what the daemon made of it in another. Reads only.
 */
#include <errno.h>
#include <string.h>

#include "exception.h"
#include "route_view.h"

int exception_read(const struct maps *maps, const struct exception_key *key,
		   struct exception_state *out)
{
	struct exception_state state = { .key = *key };
	int rc = maps_exception(maps, &key->dst, &state.entry);

	state.has_entry = !rc && state.entry.table == key->table;
	if (rc && rc != -ENOENT)
		return rc;
	rc = maps_operator(maps, &key->dst, &state.wish);
	state.has_wish = !rc && state.wish.table == key->table;
	if (rc && rc != -ENOENT)
		return rc;
	if (!rc && !state.has_wish && !exception_is_over(state.wish.expires_ns))
		state.elsewhere = state.wish.table;
	exception_end_name(&state.wish);
	*out = state;
	return 0;
}

bool exception_is_punted(const struct maps *maps, const union sixlane_addr *dst)
{
	return maps_punted_has(maps, dst) || (maps_looks(maps) && maps_fresh_has(maps, dst));
}

/* --- carried out ------------------------------------------------------------------------- */

static const struct link *find_device(const struct cmd_view *view, const char *name)
{
	for (size_t i = 0; i < view->ports.n; i++) {
		if (!strcmp(view->ports.links[i].name, name))
			return &view->ports.links[i];
	}
	return NULL;
}

static bool is_mtu_carried_out(const struct exception_state *state)
{
	uint32_t wished = state->wish.mtu;
	bool has = state->entry.flags & SIXLANE_EXCEPTION_MTU;

	return has ? state->entry.mtu == wished : !wished;
}

/* Where a next hop leads is not told while its device is down. */
static bool is_way_carried_out(const struct cmd_view *view, const struct exception_state *state)
{
	const struct sixlane_operator *wish = &state->wish;
	const struct link *device;
	struct hop_view hop;

	if (!*wish->device)
		return !(state->entry.flags & SIXLANE_EXCEPTION_NEXT_HOP);
	if (!(state->entry.flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return false;
	route_view_hop(&view->maps, state->entry.next_hop, &hop);
	if (!hop.port)
		return true;
	device = find_device(view, wish->device);
	return device && device->ifindex == hop.egress.ifindex &&
	       (!hop.has_gateway ||
		!memcmp(&hop.neigh.key.addr, &wish->gateway, sizeof(wish->gateway)));
}

bool exception_is_carried_out(const struct cmd_view *view, const struct exception_state *state)
{
	return state->has_wish && state->has_entry &&
	       state->entry.flags & SIXLANE_EXCEPTION_OPERATOR && is_mtu_carried_out(state) &&
	       is_way_carried_out(view, state) && state->entry.expires_ns == state->wish.expires_ns;
}

/* --- why not ----------------------------------------------------------------------------- */

/* Of a route whose packets do not go on here. */
static const char *why_verdict(uint32_t verdict, struct exception_why *out)
{
	const char *name = cmd_verdict_name(verdict);

	if (strncmp(name, "punt_", strlen("punt_")) != 0)
		return "its covering route does not forward";
	snprintf(out->buf, sizeof(out->buf), "its route passes to the kernel (%s)", name);
	return out->buf;
}

/* What is in the way of any exception of this destination; NULL: nothing. */
static const char *why_no_route(const struct maps *maps, const struct exception_key *key,
				struct exception_why *out)
{
	union sixlane_fate fate;
	uint32_t value, id;

	if (maps_route_lookup(maps, key->table, &key->dst, &value))
		return "its table has no route for it";
	id = sixlane_route_next_hop(value);
	if (id >= SIXLANE_MAX_NEXT_HOPS)
		return NULL;
	fate.word = __atomic_load_n(&maps->next_hops[id].fate.word, __ATOMIC_ACQUIRE);
	return fate.kind != SIXLANE_FORWARD && fate.kind < SIXLANE_N_VERDICTS
		       ? why_verdict(fate.kind, out)
		       : NULL;
}

/* The device that is to be there; NULL: all are. */
static const char *why_no_device(const struct cmd_view *view, const char *name,
				 struct exception_why *out)
{
	const struct link *device = find_device(view, name);

	if (device && maps_port_slot(&view->maps, device->ifindex))
		return NULL;
	snprintf(out->buf, sizeof(out->buf), "waits for device %s, which %s", name,
		 device ? "is not in the maps" : "does not exist");
	return out->buf;
}

/* What was asked for should be there, and is not. */
static const char *why_refused(const struct sixlane_meta *meta, struct exception_why *out)
{
	out->refused = true;
	if (!meta->max_exceptions || meta->exceptions < meta->max_exceptions)
		return "sixlaned has not applied it";
	snprintf(out->buf, sizeof(out->buf), "the limit of %llu exceptions is reached",
		 (unsigned long long)meta->max_exceptions);
	return out->buf;
}

const char *exception_why_not(const struct cmd_view *view, bool daemon,
			      const struct exception_state *state, struct exception_why *out)
{
	bool wished = state->has_wish && !exception_is_carried_out(view, state);
	const char *why;

	out->refused = false;
	if (exception_is_over(wished ? state->wish.expires_ns : state->entry.expires_ns))
		return "expired";
	if (wished && !daemon)
		return "sixlaned does not run";
	why = why_no_route(&view->maps, &state->key, out);
	if (!why && state->has_wish && *state->wish.device)
		why = why_no_device(view, state->wish.device, out);
	if (!why && wished)
		why = why_refused(view->maps.meta, out);
	return why;
}
