// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exception.h. A destination has one row: what packets get comes before what the operator
 * requests.
 */
#include "exception.h"

#include <string.h>

#include "../lib/log.h"
#include "show.h"

struct row {
	union sixlane_addr dst;
	struct exception_state state; /* entry: made from the request if there is none */
	const char *why_inactive;     /* NULL: it applies to packets */
	char why[EXCEPTION_WHY];
	char gateway[PRINT_PREFIX_LEN]; /* "": on-link, or no next hop */
	char port[IFNAMSIZ];		/* "": no next hop */
	bool punted;
};

static struct sixlane_exception entry_of(const struct sixlane_operator *request)
{
	return (struct sixlane_exception){
		.flags = SIXLANE_EXCEPTION_OPERATOR |
			 (request->mtu ? SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_LOCKED : 0),
		.mtu = request->mtu,
		.table = request->table,
		.expires_ns = request->expires_ns,
		.added_ns = request->added_ns,
	};
}

static void set_next_hop(const struct cmd_view *view, struct row *row)
{
	const struct exception_state *state = &row->state;
	char name[IFNAMSIZ];
	struct hop_view hop;

	if (!state->entry.flags && *state->request.device) {
		print_addr(&state->request.gateway, row->gateway);
		snprintf(row->port, sizeof(row->port), "%s", state->request.device);
	}
	if (!(state->entry.flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return;
	hop_view_read(&view->maps, state->entry.next_hop, &hop);
	if (hop.has_gateway)
		print_addr(&hop.neigh.key.addr, row->gateway);
	if (hop.port)
		snprintf(row->port, sizeof(row->port), "%s", cmd_slot_name(view, hop.port, name));
}

/* dst and state are set. */
static void fill_row(const struct cmd_view *view, bool daemon, struct row *row)
{
	struct exception_state *state = &row->state;
	const struct sixlane_exception *entry = state->entry.flags ? &state->entry : NULL;

	/* the kernel's own comes before any request */
	if (state->entry.flags & SIXLANE_EXCEPTION_KERNEL)
		state->request = (struct sixlane_operator){ 0 };
	row->why_inactive = exception_why_inactive(view, daemon, &row->dst, state, row->why);
	row->punted =
		route_view_punted(&view->maps, &row->dst, entry) != SIXLANE_TRACE_EXCEPTION_ABSENT;
	set_next_hop(view, row);
	if (!entry)
		state->entry = entry_of(&state->request);
}

static double seconds_since(uint64_t from_ns)
{
	const uint64_t now_ns = util_now_ns();

	return now_ns > from_ns ? print_seconds(now_ns - from_ns) : 0;
}

static void to_text(const struct row *row)
{
	const struct sixlane_exception *entry = &row->state.entry;
	char name[EXCEPTION_NAME], expiry[SHOW_EXPIRY_LEN];

	fputs(exception_name(&row->dst, entry->table, name), stdout);
	if (*row->gateway)
		printf(" via %s", row->gateway);
	if (*row->port)
		printf(" dev %s", row->port);
	if (entry->flags & SIXLANE_EXCEPTION_MTU)
		printf(" mtu %s%u", entry->flags & SIXLANE_EXCEPTION_LOCKED ? "lock " : "",
		       entry->mtu);
	printf(" origin %s hits %llu bytes %llu age %.3f s", show_origin(entry->flags), entry->hits,
	       entry->bytes, seconds_since(entry->added_ns));
	if (entry->hits)
		printf(" used %.3f s ago", seconds_since(entry->used_ns));
	if (entry->expires_ns)
		printf(" %s", show_expiry(entry->expires_ns, expiry));
	if (row->punted)
		fputs(" punted", stdout);
	if (entry->flags & SIXLANE_EXCEPTION_OBSERVE)
		fputs(" observed", stdout);
	if (row->why_inactive)
		printf(" inactive: %s", row->why_inactive);
	putchar('\n');
}

static json_t *to_json(const struct row *row)
{
	const struct sixlane_exception *entry = &row->state.entry;
	json_t *object = json_object();
	char addr[PRINT_PREFIX_LEN];

	print_set(object, "destination", print_addr(&row->dst, addr));
	print_set(object, "table", entry->table);
	print_set(object, "origin", show_origin(entry->flags));
	if (entry->flags & SIXLANE_EXCEPTION_MTU) {
		print_set(object, "mtu", entry->mtu);
		print_set(object, "locked", json_boolean(entry->flags & SIXLANE_EXCEPTION_LOCKED));
	}
	if (*row->gateway)
		print_set(object, "next_hop", row->gateway);
	if (*row->port)
		print_set(object, "port", row->port);
	print_set(object, "hits", entry->hits);
	print_set(object, "bytes", entry->bytes);
	print_set(object, "age_s", seconds_since(entry->added_ns));
	if (entry->hits)
		print_set(object, "used_s", seconds_since(entry->used_ns));
	if (entry->expires_ns)
		print_set(object, "expires_s", show_expires_s(entry->expires_ns));
	print_set(object, "punted", row->punted);
	print_set(object, "observed", json_boolean(entry->flags & SIXLANE_EXCEPTION_OBSERVE));
	print_set(object, "active", json_boolean(!row->why_inactive));
	if (row->why_inactive)
		print_set(object, "reason", row->why_inactive);
	return object;
}

static int append(void *ctx, const union sixlane_addr *dst, const struct sixlane_exception *value)
{
	(void)value;
	return exception_append(ctx, &(struct exception){ .dst = *dst });
}

static int by_dst(const void *a, const void *b)
{
	const struct exception *x = a, *y = b;

	return memcmp(&x->dst, &y->dst, sizeof(x->dst));
}

/* table: 0: any. 0 or -errno. */
static int print_row(const struct cmd_view *view, bool daemon, const union sixlane_addr *dst,
		     uint32_t table, struct print_list *array)
{
	struct row row = { .dst = *dst };
	const struct exception_state *state = &row.state;
	const int error = exception_read(&view->maps, dst, &row.state);

	if (error || (!state->entry.flags && !state->request.table))
		return error;
	fill_row(view, daemon, &row);
	if (table && state->entry.table != table)
		return 0;
	if (array->options->json)
		print_list_add(array, to_json(&row));
	else
		to_text(&row);
	return 0;
}

int exception_show(const struct cmd_options *options, const struct exception *filter)
{
	const bool daemon = loader_daemon_runs();
	struct print_list array = { .options = options };
	struct exceptions list = { 0 };
	_cleanup_(cmd_view_close) struct cmd_view view;
	int rc = cmd_view_open(&view, false), error;

	if (rc)
		return rc;
	if (filter->has_dst)
		error = exception_append(&list, filter);
	else
		error = maps_exception_each(&view.maps, append, &list)
				?: exception_read_requests(&view.maps, &list);
	if (list.n)
		qsort(list.at, list.n, sizeof(*list.at), by_dst);
	for (size_t i = 0; i < list.n && !error; i++)
		if (!i || by_dst(&list.at[i - 1], &list.at[i]))
			error = print_row(&view, daemon, &list.at[i].dst, filter->value.table,
					  &array);
	free(list.at);
	if (error) {
		log_error("cannot read the exceptions: %s", strerror(-error));
		return CMD_FAILED;
	}
	return options->json ? print_list_end(&array) : print_flush();
}
