// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane exception show: what is in force beside what the operator asked for, by table and
 * destination.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "exception.h"
#include "show.h"

struct list {
	struct exception_state *at;
	size_t n, room;
	const struct exception_request *asked;
};

/* --- reading ----------------------------------------------------------------------------- */

static bool is_asked(const struct exception_request *asked, const struct exception_key *key)
{
	if (asked->key.table && key->table != asked->key.table)
		return false;
	return !asked->has_dst || !memcmp(&asked->key.dst, &key->dst, sizeof(key->dst));
}

/* *state is NULL if the key is not asked for. */
static int append(struct list *list, const struct exception_key *key,
		  struct exception_state **state)
{
	struct exception_state *grown;
	size_t room = list->room ? 2 * list->room : 64;

	*state = NULL;
	if (!is_asked(list->asked, key))
		return 0;
	if (list->n == list->room) {
		grown = reallocarray(list->at, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->at = grown;
		list->room = room;
	}
	*state = &list->at[list->n++];
	**state = (struct exception_state){ .key = *key };
	return 0;
}

static int take_entry(void *ctx, const union sixlane_addr *dst,
		      const struct sixlane_exception *value)
{
	const struct exception_key key = { .dst = *dst, .table = value->table };
	struct exception_state *state;
	int err = append(ctx, &key, &state);

	if (!state)
		return err;
	state->has_entry = true;
	state->entry = *value;
	return 0;
}

static int take_wish(void *ctx, const union sixlane_addr *dst, const struct sixlane_operator *value)
{
	const struct exception_key key = { .dst = *dst, .table = value->table };
	struct exception_state *state;
	int err = append(ctx, &key, &state);

	if (!state)
		return err;
	state->has_wish = true;
	state->wish = *value;
	exception_end_name(&state->wish);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct exception_state *x = a, *y = b;
	int rc = (x->key.table > y->key.table) - (x->key.table < y->key.table);

	return rc ? rc : memcmp(&x->key.dst, &y->key.dst, sizeof(x->key.dst));
}

/* One element a key, in order. */
static void merge(struct list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_key);
	for (size_t i = 0; i < list->n; i++) {
		const struct exception_state *from = &list->at[i];
		struct exception_state *to = &list->at[kept];

		/* A walk of a map that changes meanwhile may meet an entry twice, too. */
		if (!kept || by_key(&to[-1], from)) {
			*to = *from;
			kept++;
			continue;
		}
		to--;
		if (from->has_entry)
			to->entry = from->entry;
		if (from->has_wish)
			to->wish = from->wish;
		to->has_entry |= from->has_entry;
		to->has_wish |= from->has_wish;
	}
	list->n = kept;
}

/* --- what it says ------------------------------------------------------------------------ */

/* One line, or one object. */
struct shown {
	const struct exception_state *state;
	const char *origin;
	const char *why_not; /* NULL: packets meet it */
	struct exception_why why;
	uint32_t mtu;
	bool locked;
	char gateway[PRINT_PREFIX_LEN]; /* "": on-link, or no next hop of its own */
	char port[IFNAMSIZ];		/* "": no next hop of its own */
	bool punted;
	uint64_t expires_ns;
};

static void fill_way(const struct cmd_view *view, struct shown *shown)
{
	const struct exception_state *state = shown->state;
	const struct sixlane_exception *entry = &state->entry;
	struct hop_view hop = { 0 };
	char name[IFNAMSIZ];

	if (entry->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		route_view_hop(&view->maps, entry->next_hop, &hop);
		if (hop.has_gateway)
			print_prefix(&hop.neigh.key.addr, 128, true, shown->gateway);
		snprintf(shown->port, sizeof(shown->port), "%s",
			 cmd_slot_name(view, hop.port, name) ?: "");
	}
	/* nor is a way out told while its device is down */
	if (!*shown->port && state->has_wish && *state->wish.device) {
		print_prefix(&state->wish.gateway, 128, true, shown->gateway);
		snprintf(shown->port, sizeof(shown->port), "%s", state->wish.device);
	}
}

static void fill_shown(const struct cmd_view *view, bool daemon,
		       const struct exception_state *state, struct shown *shown)
{
	const struct sixlane_exception *entry = &state->entry;

	*shown = (struct shown){ .state = state };
	shown->why_not = exception_why_not(view, daemon, state, &shown->why);
	shown->origin = show_origin(entry->flags) ?: "operator";
	if (entry->flags & SIXLANE_EXCEPTION_MTU)
		shown->mtu = entry->mtu;
	else if (state->has_wish)
		shown->mtu = state->wish.mtu;
	shown->locked = state->has_entry ? entry->flags & SIXLANE_EXCEPTION_LOCKED : shown->mtu;
	shown->expires_ns = state->has_entry ? entry->expires_ns : state->wish.expires_ns;
	shown->punted = exception_is_punted(&view->maps, &state->key.dst);
	fill_way(view, shown);
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? print_rounded(to_ns - from_ns, 1000000, 1000) : 0;
}

static uint64_t added_ns(const struct exception_state *state)
{
	return state->has_entry ? state->entry.added_ns : state->wish.added_ns;
}

/* --- in words ---------------------------------------------------------------------------- */

static void figures_text(const struct shown *shown, uint64_t now_ns)
{
	const struct sixlane_exception *entry = &shown->state->entry;
	char expiry[SHOW_EXPIRY_LEN];

	printf(" hits %llu bytes %llu age %.3f s", (unsigned long long)entry->hits,
	       (unsigned long long)entry->bytes, seconds(added_ns(shown->state), now_ns));
	if (entry->hits)
		printf(" used %.3f s ago", seconds(entry->used_ns, now_ns));
	if (shown->expires_ns)
		printf(" %s", show_expiry(shown->expires_ns, expiry));
}

static void to_text(const struct shown *shown, uint64_t now_ns)
{
	const struct exception_key *key = &shown->state->key;
	uint32_t flags = shown->state->entry.flags;
	char addr[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN];

	print_prefix(&key->dst, 128, true, addr);
	fputs(addr, stdout);
	if (key->table != SIXLANE_TABLE_MAIN)
		printf(" table %s", show_table(key->table, table));
	if (*shown->gateway)
		printf(" via %s", shown->gateway);
	if (*shown->port)
		printf(" dev %s", shown->port);
	if (shown->mtu)
		printf(" mtu %s%u", shown->locked ? "lock " : "", shown->mtu);
	printf(" origin %s", shown->origin);
	figures_text(shown, now_ns);
	if (shown->punted)
		fputs(" punted", stdout);
	if (flags & SIXLANE_EXCEPTION_OBSERVE)
		fputs(" observed", stdout);
	if (shown->why_not)
		printf(" inactive: %s", shown->why_not);
	putchar('\n');
}

/* --- in JSON ----------------------------------------------------------------------------- */

static void figures_json(const struct shown *shown, uint64_t now_ns, json_t *object)
{
	const struct sixlane_exception *entry = &shown->state->entry;

	print_set(object, "hits", json_integer((json_int_t)entry->hits));
	print_set(object, "bytes", json_integer((json_int_t)entry->bytes));
	print_set(object, "age_s", json_real(seconds(added_ns(shown->state), now_ns)));
	if (entry->hits)
		print_set(object, "used_s", json_real(seconds(entry->used_ns, now_ns)));
	if (shown->expires_ns)
		print_set(object, "expires_s", json_real(show_expires_s(shown->expires_ns)));
}

static json_t *to_json(const struct shown *shown, uint64_t now_ns)
{
	const struct exception_key *key = &shown->state->key;
	uint32_t flags = shown->state->entry.flags;
	json_t *object = json_object();
	char addr[PRINT_PREFIX_LEN];

	print_prefix(&key->dst, 128, true, addr);
	print_set(object, "destination", print_string(addr));
	print_set(object, "table", json_integer(key->table));
	print_set(object, "origin", print_string(shown->origin));
	if (shown->mtu) {
		print_set(object, "mtu", json_integer(shown->mtu));
		print_set(object, "locked", json_boolean(shown->locked));
	}
	if (*shown->gateway)
		print_set(object, "next_hop", print_string(shown->gateway));
	if (*shown->port)
		print_set(object, "port", print_string(shown->port));
	figures_json(shown, now_ns, object);
	print_set(object, "punted", json_boolean(shown->punted));
	print_set(object, "observed", json_boolean(flags & SIXLANE_EXCEPTION_OBSERVE));
	print_set(object, "active", json_boolean(!shown->why_not));
	if (shown->why_not)
		print_set(object, "reason", print_string(shown->why_not));
	return object;
}

/* --- all --------------------------------------------------------------------------------- */

static bool is_expired(const struct exception_state *state)
{
	return (!state->has_entry || exception_is_over(state->entry.expires_ns)) &&
	       (!state->has_wish || exception_is_over(state->wish.expires_ns));
}

static int print_all(const struct cmd_options *options, const struct cmd_view *view,
		     const struct list *list)
{
	struct print_list array = { .options = options };
	bool daemon = loader_daemon_runs();
	uint64_t now_ns = util_now_ns();
	struct shown shown;

	for (size_t i = 0; i < list->n; i++) {
		/* as if it were not there, until somebody removes it */
		if (is_expired(&list->at[i]))
			continue;
		fill_shown(view, daemon, &list->at[i], &shown);
		if (options->json)
			print_list_add(&array, to_json(&shown, now_ns));
		else
			to_text(&shown, now_ns);
	}
	return options->json ? print_list_end(&array) : print_flush();
}

int exception_show(const struct cmd_options *options, const struct exception_request *request)
{
	struct list list = { .asked = request };
	struct cmd_view view;
	int rc = cmd_view_open(&view), error;

	if (rc)
		return rc;
	error = maps_exception_each(&view.maps, take_entry, &list);
	if (!error)
		error = maps_operator_each(&view.maps, take_wish, &list);
	merge(&list);
	if (error) {
		log_error("cannot read the exceptions: %s", strerror(-error));
		rc = CMD_FAILED;
	} else {
		rc = print_all(options, &view, &list);
	}
	free(list.at);
	cmd_view_close(&view);
	return rc;
}
