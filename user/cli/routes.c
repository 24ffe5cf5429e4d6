// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane routes: the entries of sl_routes by table and address, with the groups and the
 * source-specific routes that they lead to.
 */
#include <string.h>

#include "../lib/log.h"
#include "show.h"

static json_t *to_json(const struct cmd_view *view, const struct entries *sources,
		       const struct entry *entry, const struct route_view *route)
{
	char text[PRINT_PREFIX_LEN];
	json_t *object = json_object();

	print_set(object, "prefix", print_prefix(&entry->prefix.addr, entry->prefix.len, text));
	print_set(object, "table", entry->table);
	print_set(object, "verdict", cmd_verdict_name(route->verdict));
	print_set(object, "id", route->next_hop);
	show_frame_json(view, &route->hop, false, object);
	show_group_json(view, route, object);
	if (route->flags & SIXLANE_NEXT_HOP_OBJECT)
		print_set(object, "nexthop_object", json_true());
	if (route->has_exceptions)
		print_set(object, "exceptions", json_true());
	if (route->expires_ns)
		print_set(object, "expires_s", show_expires_s(route->expires_ns));
	if (route->by_source)
		show_sources_json(view, sources, route->set, object);
	return object;
}

static void to_text(const struct cmd_options *options, const struct cmd_view *view,
		    const struct entries *sources, const struct entry *entry,
		    const struct route_view *route)
{
	char text[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN], expiry[SHOW_EXPIRY_LEN];

	fputs(print_prefix(&entry->prefix.addr, entry->prefix.len, text), stdout);
	show_hop_text(view, &route->hop);
	if (entry->table != SIXLANE_TABLE_MAIN)
		printf(" table %s", show_table(entry->table, table));
	if (route->hop.mtu)
		printf(" mtu %u", route->hop.mtu);
	if (route->flags & SIXLANE_NEXT_HOP_OBJECT)
		printf(" object");
	if (route->has_exceptions)
		printf(" exceptions");
	if (route->expires_ns)
		printf(" %s", show_expiry(route->expires_ns, expiry));
	printf(" verdict %s", cmd_verdict_name(route->verdict));
	if (options->statistics)
		printf(" id %u (%s)", route->next_hop, cmd_verdict_text(route->verdict));
	putchar('\n');
	show_group_text(view, route);
	if (route->by_source)
		show_sources_text(view, sources, route->set);
}

static int print_entries(const struct cmd_options *options, const struct cmd_view *view,
			 const struct entries *entries, const struct entries *sources)
{
	struct print_list list = { .options = options };
	struct route_view route;

	for (size_t i = 0; i < entries->n; i++) {
		const struct entry *entry = &entries->at[i];

		route_view_read(&view->maps, entry->value, NULL, &route);
		if (options->json)
			print_list_add(&list, to_json(view, sources, entry, &route));
		else
			to_text(options, view, sources, entry, &route);
	}
	return options->json ? print_list_end(&list) : print_flush();
}

/* CMD_OK, or CMD_USAGE after logging. */
static int parse_args(int argc, char **argv, struct entries *entries)
{
	entries->table = SIXLANE_TABLE_MAIN;
	if (argc > 1 && !strcmp(argv[argc - 2], "table")) {
		if (!strcmp(argv[argc - 1], "all"))
			entries->table = 0;
		else if (!args_parse_table(argv[argc - 1], &entries->table))
			return cmd_usage(&cmd_routes, "\"%s\" is not a table", argv[argc - 1]);
		argc -= 2;
	}
	if (argc > 1)
		return cmd_usage(&cmd_routes, "unexpected argument \"%s\"", argv[1]);
	if (argc && prefix_parse(argv[0], &entries->within))
		return cmd_usage(&cmd_routes, "\"%s\" is not an IPv6 prefix", argv[0]);
	return CMD_OK;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct entries entries = { 0 }, sources = { 0 };
	struct cmd_view view;
	int rc = parse_args(argc, argv, &entries), error;

	if (rc)
		return rc;
	rc = cmd_view_open(&view, false);
	if (!rc) {
		error = maps_route_each(&view.maps, entries_add, &entries)
				?: maps_source_each(&view.maps, entries_add, &sources);
		entries_sort(&entries);
		entries_sort(&sources);
		rc = error ? CMD_FAILED : print_entries(options, &view, &entries, &sources);
		if (error)
			log_error("cannot read the routes: %s", strerror(-error));
	}
	entries_free(&entries);
	entries_free(&sources);
	cmd_view_close(&view);
	return rc;
}

const struct cmd cmd_routes = {
	.name = "routes",
	.args = "[PREFIX] [table N|all]",
	.help = "show the routes in the maps, or those within a prefix",
	.run = run,
};
