// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is there of each destination, and whether packets meet it: what the operator asked for is in
 * one map, what packets meet in another. sixlane exception show has a row for each, what is in
 * force before what was asked for.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
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

/* --- what is shown of one ---------------------------------------------------------------- */

struct shown {
	union sixlane_addr dst;
	struct exception_state state; /* entry: of what is only asked for, too */
	const char *why_not;	      /* NULL: packets meet it */
	char why[EXCEPTION_WHY];
	char gateway[PRINT_PREFIX_LEN]; /* "": on-link, or no next hop of its own */
	char port[IFNAMSIZ];		/* "": no next hop of its own */
	bool punted;
};

static struct sixlane_exception entry_of(const struct sixlane_operator *wish)
{
	return (struct sixlane_exception){
		.flags = SIXLANE_EXCEPTION_OPERATOR |
			 (wish->mtu ? SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_LOCKED : 0),
		.mtu = wish->mtu,
		.table = wish->table,
		.expires_ns = wish->expires_ns,
		.added_ns = wish->added_ns,
	};
}

static void fill_next_hop(const struct cmd_view *view, struct shown *shown)
{
	const struct exception_state *state = &shown->state;
	char name[IFNAMSIZ];
	struct hop_view hop;

	if (!state->entry.flags && *state->wish.device) {
		print_prefix(&state->wish.gateway, 128, true, shown->gateway);
		snprintf(shown->port, sizeof(shown->port), "%s", state->wish.device);
	}
	if (!(state->entry.flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return;
	route_view_hop(&view->maps, state->entry.next_hop, &hop);
	if (hop.has_gateway)
		print_prefix(&hop.neigh.key.addr, 128, true, shown->gateway);
	if (hop.port)
		snprintf(shown->port, sizeof(shown->port), "%s",
			 cmd_slot_name(view, hop.port, name));
}

static void fill(const struct cmd_view *view, bool daemon, struct shown *shown)
{
	struct exception_state *state = &shown->state;
	const struct sixlane_exception *entry = state->entry.flags ? &state->entry : NULL;

	/* of the kernel's, it holds whatever is wished */
	if (state->entry.flags & SIXLANE_EXCEPTION_KERNEL)
		state->wish = (struct sixlane_operator){ 0 };
	shown->why_not = exception_why_not(view, daemon, &shown->dst, state, shown->why);
	shown->punted =
		route_view_punt(&view->maps, &shown->dst, entry) != SIXLANE_TRACE_EXCEPTION_ABSENT;
	fill_next_hop(view, shown);
	if (!entry)
		state->entry = entry_of(&state->wish);
}

static double seconds_since(uint64_t from_ns)
{
	const uint64_t now_ns = util_now_ns();

	return now_ns > from_ns ? print_rounded(now_ns - from_ns, 1000000, 1000) : 0;
}

static void to_text(const struct shown *shown)
{
	const struct sixlane_exception *entry = &shown->state.entry;
	char name[EXCEPTION_NAME], expiry[SHOW_EXPIRY_LEN];

	fputs(exception_name(&shown->dst, entry->table, name), stdout);
	if (*shown->gateway)
		printf(" via %s", shown->gateway);
	if (*shown->port)
		printf(" dev %s", shown->port);
	if (entry->flags & SIXLANE_EXCEPTION_MTU)
		printf(" mtu %s%u", entry->flags & SIXLANE_EXCEPTION_LOCKED ? "lock " : "",
		       entry->mtu);
	printf(" origin %s hits %llu bytes %llu age %.3f s", show_origin(entry->flags),
	       (unsigned long long)entry->hits, (unsigned long long)entry->bytes,
	       seconds_since(entry->added_ns));
	if (entry->hits)
		printf(" used %.3f s ago", seconds_since(entry->used_ns));
	if (entry->expires_ns)
		printf(" %s", show_expiry(entry->expires_ns, expiry));
	if (shown->punted)
		fputs(" punted", stdout);
	if (entry->flags & SIXLANE_EXCEPTION_OBSERVE)
		fputs(" observed", stdout);
	if (shown->why_not)
		printf(" inactive: %s", shown->why_not);
	putchar('\n');
}

static json_t *to_json(const struct shown *shown)
{
	const struct sixlane_exception *entry = &shown->state.entry;
	json_t *object = json_object();
	char addr[PRINT_PREFIX_LEN];

	print_prefix(&shown->dst, 128, true, addr);
	print_set(object, "destination", print_string(addr));
	print_set(object, "table", json_integer(entry->table));
	print_set(object, "origin", print_string(show_origin(entry->flags)));
	if (entry->flags & SIXLANE_EXCEPTION_MTU) {
		print_set(object, "mtu", json_integer(entry->mtu));
		print_set(object, "locked", json_boolean(entry->flags & SIXLANE_EXCEPTION_LOCKED));
	}
	if (*shown->gateway)
		print_set(object, "next_hop", print_string(shown->gateway));
	if (*shown->port)
		print_set(object, "port", print_string(shown->port));
	print_set(object, "hits", json_integer((json_int_t)entry->hits));
	print_set(object, "bytes", json_integer((json_int_t)entry->bytes));
	print_set(object, "age_s", json_real(seconds_since(entry->added_ns)));
	if (entry->hits)
		print_set(object, "used_s", json_real(seconds_since(entry->used_ns)));
	if (entry->expires_ns)
		print_set(object, "expires_s", json_real(show_expires_s(entry->expires_ns)));
	print_set(object, "punted", json_boolean(shown->punted));
	print_set(object, "observed", json_boolean(entry->flags & SIXLANE_EXCEPTION_OBSERVE));
	print_set(object, "active", json_boolean(!shown->why_not));
	if (shown->why_not)
		print_set(object, "reason", print_string(shown->why_not));
	return object;
}

/* --- all --------------------------------------------------------------------------------- */

static int take_entry(void *ctx, const union sixlane_addr *dst,
		      const struct sixlane_exception *value)
{
	(void)value;
	return exception_append(ctx, &(struct exception){ .dst = *dst });
}

static int by_dst(const void *a, const void *b)
{
	const struct exception *x = a, *y = b;

	return memcmp(&x->dst, &y->dst, sizeof(x->dst));
}

/* table: 0 whichever it is of. 0 or -errno. */
static int print_one(const struct cmd_view *view, bool daemon, const union sixlane_addr *dst,
		     uint32_t table, struct print_list *array)
{
	struct shown shown = { .dst = *dst };
	const struct exception_state *state = &shown.state;
	const int error = exception_read(&view->maps, dst, &shown.state);

	if (error || (!state->entry.flags && !state->wish.table))
		return error;
	fill(view, daemon, &shown);
	if (table && state->entry.table != table)
		return 0;
	if (array->options->json)
		print_list_add(array, to_json(&shown));
	else
		to_text(&shown);
	return 0;
}

int exception_show(const struct cmd_options *options, const struct exception *asked)
{
	const bool daemon = loader_daemon_runs();
	struct print_list array = { .options = options };
	struct exceptions list = { 0 };
	struct cmd_view view;
	int rc = cmd_view_open(&view), error;

	if (rc)
		return rc;
	if (asked->has_dst)
		error = exception_append(&list, asked);
	else
		error = maps_exception_each(&view.maps, take_entry, &list)
				?: exception_collect(&view.maps, &list);
	if (list.n)
		qsort(list.at, list.n, sizeof(*list.at), by_dst);
	for (size_t i = 0; i < list.n && !error; i++) {
		if (!i || by_dst(&list.at[i - 1], &list.at[i]))
			error = print_one(&view, daemon, &list.at[i].dst, asked->value.table,
					  &array);
	}
	if (error)
		log_error("cannot read the exceptions: %s", strerror(-error));
	else
		rc = options->json ? print_list_end(&array) : print_flush();
	free(list.at);
	cmd_view_close(&view);
	return error ? CMD_FAILED : rc;
}
