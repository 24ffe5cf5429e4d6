// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane routes: the entries of sl_routes, by table and in the order of their addresses, with
 * the groups and the source sets that they lead to.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "cmd.h"
#include "show.h"

struct entry {
	struct sixlane_route_key key;
	uint32_t value;
};

struct entries {
	struct entry *at;
	size_t n, room;
	struct prefix within;
	uint32_t table; /* 0: all */
	struct sources sources;
};

static bool covers(const struct prefix *outer, const union sixlane_addr *addr, uint32_t len)
{
	uint32_t bytes = outer->len / 8, bits = outer->len % 8;

	if (len < outer->len || memcmp(outer->addr.bytes, addr->bytes, bytes) != 0)
		return false;
	return !bits || !((outer->addr.bytes[bytes] ^ addr->bytes[bytes]) >> (8 - bits));
}

static int collect(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct entries *entries = ctx;
	struct entry *grown;

	if (entries->table && ntohl(key->table) != entries->table)
		return 0;
	if (!covers(&entries->within, &key->addr, key->prefix_len - SIXLANE_TABLE_BITS))
		return 0;
	if (entries->n == entries->room) {
		entries->room = entries->room ? 2 * entries->room : 1024;
		grown = reallocarray(entries->at, entries->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		entries->at = grown;
	}
	entries->at[entries->n++] = (struct entry){ *key, value };
	return 0;
}

static int by_prefix(const void *a, const void *b)
{
	const struct sixlane_route_key *x = a, *y = b;
	int rc = memcmp(&x->table, &y->table, sizeof(x->table));

	if (!rc)
		rc = memcmp(&x->addr, &y->addr, sizeof(x->addr));
	return rc ? rc : (x->prefix_len > y->prefix_len) - (x->prefix_len < y->prefix_len);
}

static uint32_t entry_len(const struct entry *entry)
{
	return entry->key.prefix_len - SIXLANE_TABLE_BITS;
}

static json_t *to_json(const struct cmd_view *view, const struct entries *entries,
		       const struct entry *entry, const struct route_view *route)
{
	char text[PRINT_PREFIX_LEN];
	json_t *object = json_object();

	print_prefix(&entry->key.addr, entry_len(entry), false, text);
	print_set(object, "prefix", print_string(text));
	print_set(object, "table", json_integer(ntohl(entry->key.table)));
	print_set(object, "verdict", print_string(cmd_verdict_name(route->verdict)));
	print_set(object, "id", json_integer(route->next_hop));
	show_hop_json(view, &route->hop, false, object);
	show_group_json(view, route, object);
	if (route->flags & SIXLANE_NEXT_HOP_OBJECT)
		print_set(object, "nexthop_object", json_true());
	if (route->marks)
		print_set(object, "exceptions", json_true());
	if (route->expires_ns)
		print_set(object, "expires_s", json_real(show_expires_s(route->expires_ns)));
	if (route->by_source)
		show_sources_json(view, &entries->sources, route->set, object);
	return object;
}

static void to_text(const struct cmd_options *options, const struct cmd_view *view,
		    const struct entries *entries, const struct entry *entry,
		    const struct route_view *route)
{
	char text[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN], expiry[SHOW_EXPIRY_LEN];

	print_prefix(&entry->key.addr, entry_len(entry), false, text);
	fputs(text, stdout);
	show_way_text(view, &route->hop);
	if (ntohl(entry->key.table) != SIXLANE_TABLE_MAIN)
		printf(" table %s", show_table(ntohl(entry->key.table), table));
	if (route->hop.mtu)
		printf(" mtu %u", route->hop.mtu);
	if (route->flags & SIXLANE_NEXT_HOP_OBJECT)
		printf(" object");
	if (route->marks)
		printf(" exceptions");
	if (route->expires_ns)
		printf(" %s", show_expiry(route->expires_ns, expiry));
	printf(" verdict %s", cmd_verdict_name(route->verdict));
	if (options->statistics)
		printf(" id %u (%s)", route->next_hop, cmd_verdict_text(route->verdict));
	putchar('\n');
	show_group_text(view, route);
	if (route->by_source)
		show_sources_text(view, &entries->sources, route->set);
}

static int print_entries(const struct cmd_options *options, const struct cmd_view *view,
			 struct entries *entries)
{
	struct print_list list = { .options = options };

	if (entries->n)
		qsort(entries->at, entries->n, sizeof(*entries->at), by_prefix);
	for (size_t i = 0; i < entries->n; i++) {
		const struct entry *entry = &entries->at[i];
		struct route_view route;

		/* A walk of a trie that changes meanwhile may meet an entry twice. */
		if (i && !by_prefix(&entry[-1], entry))
			continue;
		route_view_value(&view->maps, entry->value, NULL, &route);
		if (options->json)
			print_list_add(&list, to_json(view, entries, entry, &route));
		else
			to_text(options, view, entries, entry, &route);
	}
	return options->json ? print_list_end(&list) : print_flush();
}

static bool parse_prefix(const char *text, struct prefix *out)
{
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	uint32_t len = 128;

	if (n >= sizeof(addr) || (slash && !cmd_parse_number(slash + 1, 128, &len)))
		return false;
	memcpy(addr, text, n);
	addr[n] = '\0';
	out->len = (uint8_t)len;
	return inet_pton(AF_INET6, addr, &out->addr) == 1;
}

/* CMD_OK or CMD_USAGE (said). */
static int parse_args(int argc, char **argv, struct entries *entries)
{
	entries->table = SIXLANE_TABLE_MAIN;
	if (argc > 1 && !strcmp(argv[argc - 2], "table")) {
		if (!strcmp(argv[argc - 1], "all"))
			entries->table = 0;
		else if (!cmd_parse_table(argv[argc - 1], &entries->table))
			return cmd_usage(&cmd_routes, "\"%s\" is not a table", argv[argc - 1]);
		argc -= 2;
	}
	if (argc > 1)
		return cmd_usage(&cmd_routes, "unexpected argument \"%s\"", argv[1]);
	if (argc && !parse_prefix(argv[0], &entries->within))
		return cmd_usage(&cmd_routes, "\"%s\" is not an IPv6 prefix", argv[0]);
	return CMD_OK;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct entries entries = { 0 };
	struct cmd_view view;
	int error, rc;

	rc = parse_args(argc, argv, &entries);
	if (!rc)
		rc = cmd_view_open(&view);
	if (rc)
		return rc;
	error = maps_route_each(&view.maps, collect, &entries);
	if (!error)
		error = sources_read(&view.maps, &entries.sources);
	if (error) {
		log_error("cannot read the routes: %s", strerror(-error));
		rc = CMD_FAILED;
	} else {
		rc = print_entries(options, &view, &entries);
	}
	sources_free(&entries.sources);
	free(entries.at);
	cmd_view_close(&view);
	return rc;
}

const struct cmd cmd_routes = {
	.name = "routes",
	.args = "[PREFIX] [table N|all]",
	.help = "show the routes in the maps, or those within a prefix",
	.run = run,
};
