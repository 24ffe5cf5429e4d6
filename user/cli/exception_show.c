// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane exception show: what is in force beside what the operator asked for, by table and
 * destination.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "exception.h"
#include "show.h"

static int by_table(const void *a, const void *b)
{
	const struct exception *x = a, *y = b;
	int rc = (x->table > y->table) - (x->table < y->table);

	return rc ? rc : memcmp(&x->dst, &y->dst, sizeof(x->dst));
}

/* --- what is shown of one ---------------------------------------------------------------- */

struct shown {
	struct exception one; /* entry: of what is only asked for, too */
	const char *why_not;  /* NULL: packets meet it */
	struct exception_why why;
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
		.expires_ns = wish->expires_ns,
		.added_ns = wish->added_ns,
	};
}

static void fill_next_hop(const struct cmd_view *view, struct shown *shown)
{
	const struct exception *one = &shown->one;
	struct hop_view hop = { 0 };
	char name[IFNAMSIZ];

	if (one->entry.flags & SIXLANE_EXCEPTION_NEXT_HOP)
		route_view_hop(&view->maps, one->entry.next_hop, &hop);
	if (hop.has_gateway)
		print_prefix(&hop.neigh.key.addr, 128, true, shown->gateway);
	if (hop.port) {
		snprintf(shown->port, sizeof(shown->port), "%s",
			 cmd_slot_name(view, hop.port, name));
	} else if (one->has_wish && *one->wish.device) {
		/* it is not there yet, or its device is gone */
		print_prefix(&one->wish.gateway, 128, true, shown->gateway);
		snprintf(shown->port, sizeof(shown->port), "%s", one->wish.device);
	}
}

static void fill_shown(const struct cmd_view *view, bool daemon, const struct exception *one,
		       struct shown *shown)
{
	*shown = (struct shown){ .one = *one };
	shown->why_not = exception_why_not(view, daemon, one, &shown->why);
	if (!one->has_entry)
		shown->one.entry = entry_of(&one->wish);
	shown->punted =
		route_view_punt(&view->maps, &one->dst, one->has_entry ? &one->entry : NULL) !=
		SIXLANE_TRACE_EXCEPTION_ABSENT;
	fill_next_hop(view, shown);
}

static double seconds_since(uint64_t from_ns)
{
	const uint64_t now_ns = util_now_ns();

	return now_ns > from_ns ? print_rounded(now_ns - from_ns, 1000000, 1000) : 0;
}

static void to_text(const struct shown *shown)
{
	const struct sixlane_exception *entry = &shown->one.entry;
	char name[EXCEPTION_NAME], expiry[SHOW_EXPIRY_LEN];

	fputs(exception_name(&shown->one, name), stdout);
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
	const struct sixlane_exception *entry = &shown->one.entry;
	json_t *object = json_object();
	char addr[PRINT_PREFIX_LEN];

	print_prefix(&shown->one.dst, 128, true, addr);
	print_set(object, "destination", print_string(addr));
	print_set(object, "table", json_integer(shown->one.table));
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

/* 0 or -errno. */
static int print_all(const struct cmd_view *view, const struct exceptions *list,
		     struct print_list *array)
{
	bool daemon = loader_daemon_runs();
	struct shown shown;
	int error;

	for (size_t i = 0; i < list->n; i++) {
		struct exception *one = &list->at[i];

		/* Of both maps, and a walk of a map that changes may meet an entry twice, too. */
		if (i && !by_table(&one[-1], one))
			continue;
		error = exception_read(&view->maps, one);
		if (error)
			return error;
		if (!one->has_entry && !one->has_wish)
			continue;
		/* what the kernel has learned comes before what was asked for */
		one->has_wish &= !one->has_entry || !(one->entry.flags & SIXLANE_EXCEPTION_KERNEL);
		fill_shown(view, daemon, one, &shown);
		if (array->options->json)
			print_list_add(array, to_json(&shown));
		else
			to_text(&shown);
	}
	return 0;
}

int exception_show(const struct cmd_options *options, const struct exception *asked)
{
	struct print_list array = { .options = options };
	struct exceptions list = { 0 };
	struct cmd_view view;
	int rc = cmd_view_open(&view), error;

	if (rc)
		return rc;
	error = exception_collect(&view.maps, asked, true, &list);
	if (!error && list.n) {
		qsort(list.at, list.n, sizeof(*list.at), by_table);
		error = print_all(&view, &list, &array);
	}
	if (error) {
		log_error("cannot read the exceptions: %s", strerror(-error));
		rc = CMD_FAILED;
	} else {
		rc = options->json ? print_list_end(&array) : print_flush();
	}
	free(list.at);
	cmd_view_close(&view);
	return rc;
}
