// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane lookup: the route and verdict that the maps give to packets to an address, and whether
 * the compiled FIB agrees with the trie. Reads any number of addresses from stdin.
 */
#include <arpa/inet.h>
#include <string.h>

#include "../lib/log.h"
#include "../loader/run.h"
#include "../netlink/socket_query.h"
#include "lookup_route.h"
#include "show.h"

struct lookup {
	const struct cmd_options *options;
	struct cmd_view *view;
	struct print_list *list;   /* NULL: a single JSON object, or text */
	struct lookup_query query; /* dst: the address at hand */
	struct lookup_route found;
	struct entries sources; /* read when the first source-specific route is found */
	struct loader_run *run; /* NULL until the program is needed */
	bool has_compiled;
	struct compiled_view compiled;
};

static const char *const depends_names[] = { "source", "port", "traffic_class", "flow" };

/* The source-specific route of the given source; NULL: none is given, or none matches. */
static const struct entry *match_source(const struct lookup *lookup)
{
	const struct route_view *route = &lookup->found.view;

	return route->by_source && lookup->query.has_src
		       ? entries_match(&lookup->sources, route->set, &lookup->query.src)
		       : NULL;
}

/* Whether the compiled FIB gives the trie's answer: "same" or "differs"; NULL: it gives none. */
static const char *compare_compiled(const struct lookup *lookup)
{
	const struct maps *maps = &lookup->view->maps;
	uint32_t found, wanted;

	if (!lookup->has_compiled || !lookup->found.view.value)
		return NULL;
	/* a route may change in between */
	for (int i = 0; i < 3; i++) {
		struct compiled_view now = lookup->compiled;

		now.fib.word = __atomic_load_n(&maps->fib_head->fib.word, __ATOMIC_ACQUIRE);
		if (compiled_find(&now, lookup->found.table, &lookup->query.dst, &found) ||
		    maps_route_lookup(maps, lookup->found.table, &lookup->query.dst, &wanted))
			return NULL;
		if (found == wanted)
			return "same";
	}
	return "differs";
}

static json_t *to_json(const struct lookup *lookup)
{
	const struct entry *source = match_source(lookup);
	const struct lookup_query *query = &lookup->query;
	const struct route_view *route = &lookup->found.view;
	const char *compiled = compare_compiled(lookup);
	char text[PRINT_PREFIX_LEN];
	json_t *object = json_object();

	print_set(object, "address", print_addr(&query->dst, text));
	if (route->value) {
		print_set(object, "prefix", print_covering(&query->dst, route->prefix_len, text));
		print_set(object, "table", lookup->found.table);
	}
	if (compiled)
		print_set(object, "compiled", compiled);
	if (source)
		print_set(object, "source_prefix",
			  print_prefix(&source->prefix.addr, source->prefix.len, text));
	else if (route->by_source && !query->has_src)
		show_sources_json(lookup->view, &lookup->sources, route->set, object);
	show_frame_json(lookup->view, &route->hop, true, object);
	show_group_json(lookup->view, route, object);
	if (route->has_exceptions)
		print_set(object, "exceptions", json_true());
	show_exception_json(lookup->view, route, object);
	if (route->expires_ns)
		print_set(object, "expires_s", show_expires_s(route->expires_ns));
	if (lookup->found.depends)
		print_set(object, "depends_on",
			  print_bits_json(lookup->found.depends, depends_names,
					  ARRAY_SIZE(depends_names)));
	print_set(object, "verdict", cmd_verdict_name(lookup->found.verdict));
	return object;
}

static void route_text(const struct lookup *lookup)
{
	const struct entry *source = match_source(lookup);
	char text[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN];

	if (!lookup->found.view.value)
		return;
	printf(" prefix %s",
	       print_covering(&lookup->query.dst, lookup->found.view.prefix_len, text));
	if (source)
		printf(" from %s", print_prefix(&source->prefix.addr, source->prefix.len, text));
	if (lookup->found.table != SIXLANE_TABLE_MAIN)
		printf(" table %s", show_table(lookup->found.table, table));
}

static void to_text(const struct lookup *lookup)
{
	const struct route_view *route = &lookup->found.view;
	char text[PRINT_PREFIX_LEN], expiry[SHOW_EXPIRY_LEN], depends[64];
	const char *compiled;

	fputs(print_addr(&lookup->query.dst, text), stdout);
	show_hop_text(lookup->view, &route->hop);
	route_text(lookup);
	show_frame_text(&route->hop);
	show_exception_text(route);
	if (route->expires_ns)
		printf(" %s", show_expiry(route->expires_ns, expiry));
	printf(" verdict %s", cmd_verdict_name(lookup->found.verdict));
	if (lookup->options->statistics) {
		printf(" (%s)", cmd_verdict_text(lookup->found.verdict));
		compiled = compare_compiled(lookup);
		if (compiled)
			printf(" compiled FIB: %s",
			       strcmp(compiled, "same") ? compiled : "the same");
	}
	print_bits(lookup->found.depends, depends_names, ARRAY_SIZE(depends_names), depends,
		   sizeof(depends));
	if (*depends)
		printf(" depends on %s", depends);
	putchar('\n');
	show_group_text(lookup->view, route);
	if (route->by_source && !lookup->query.has_src)
		show_sources_text(lookup->view, &lookup->sources, route->set);
}

static int lookup_one(struct lookup *lookup, const union sixlane_addr *addr)
{
	lookup->query.dst = *addr;
	if (lookup_find(lookup->view, &lookup->query, &lookup->run, &lookup->found))
		return CMD_FAILED;
	if (lookup->found.view.by_source &&
	    entries_read_sources(&lookup->view->maps, &lookup->sources))
		return CMD_FAILED;
	if (lookup->list)
		print_list_add(lookup->list, to_json(lookup));
	else if (lookup->options->json)
		return print_json(lookup->options, to_json(lookup));
	else
		to_text(lookup);
	return CMD_OK;
}

static int lookup_stdin(struct lookup *lookup)
{
	_cleanup_free_ char *line = NULL;
	union sixlane_addr addr;
	unsigned int number = 0;
	size_t size = 0;

	while (getline(&line, &size, stdin) >= 0) {
		char *word = line + strspn(line, " \t");

		number++;
		word[strcspn(word, " \t\r\n")] = '\0';
		if (!*word)
			continue;
		if (inet_pton(AF_INET6, word, &addr) != 1) {
			log_error("line %u: \"%s\" is not an IPv6 address", number, word);
			return CMD_FAILED;
		}
		if (lookup_one(lookup, &addr))
			return CMD_FAILED;
	}
	return CMD_OK;
}

static int lookup_args(struct lookup *lookup, int argc, char **argv)
{
	union sixlane_addr addr;
	int rc = CMD_OK;

	for (int i = 0; i < argc && !rc; i++) {
		inet_pton(AF_INET6, argv[i], &addr);
		rc = lookup_one(lookup, &addr);
	}
	return rc;
}

static int lookup_all(const struct cmd_options *options, const struct lookup_query *query, int argc,
		      char **argv)
{
	bool from_stdin = !strcmp(argv[0], "-");
	struct print_list list = { .options = options };
	_cleanup_(cmd_view_close) struct cmd_view view;
	struct lookup lookup = { .options = options, .view = &view, .query = *query };
	int rc = cmd_view_open(&view, false), end;

	if (rc)
		return rc;
	if (options->json || options->statistics)
		lookup.has_compiled = !maps_view(&view.maps, &lookup.compiled);
	if (options->json && (from_stdin || argc > 1))
		lookup.list = &list;
	rc = from_stdin ? lookup_stdin(&lookup) : lookup_args(&lookup, argc, argv);
	end = lookup.list ? print_list_end(&list) : print_flush();
	loader_run_close(lookup.run);
	entries_free(&lookup.sources);
	maps_unview(&lookup.compiled);
	return rc ? rc : end;
}

/* Parses the keywords after the addresses, from the end. Returns how many words are left, or
 * -CMD_USAGE. */
static int parse_keywords(int argc, char **argv, struct lookup_query *query)
{
	for (; argc > 2; argc -= 2) {
		const char *word = argv[argc - 2], *value = argv[argc - 1];

		if (!strcmp(word, "dev")) {
			query->ingress = nl_link_find(value, NULL);
			if (!query->ingress)
				return -cmd_usage(&cmd_lookup, "cannot find device \"%s\"", value);
		} else if (!strcmp(word, "table")) {
			if (!args_parse_table(value, &query->table))
				return -cmd_usage(&cmd_lookup, "\"%s\" is not a table", value);
		} else if (!strcmp(word, "from")) {
			query->has_src = inet_pton(AF_INET6, value, &query->src) == 1;
			if (!query->has_src)
				return -cmd_usage(&cmd_lookup, "\"%s\" is not an IPv6 address",
						  value);
		} else {
			break;
		}
	}
	return argc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct lookup_query query = { 0 };
	union sixlane_addr addr;

	argc = parse_keywords(argc, argv, &query);
	if (argc < 0)
		return -argc;
	if (argc < 1)
		return cmd_usage(&cmd_lookup, "an address is needed, or - for the standard input");
	if (!strcmp(argv[0], "-") && argc > 1)
		return cmd_usage(&cmd_lookup, "unexpected argument \"%s\"", argv[1]);
	for (int i = 0; i < argc && strcmp(argv[0], "-") != 0; i++) {
		if (inet_pton(AF_INET6, argv[i], &addr) != 1)
			return cmd_usage(&cmd_lookup, "\"%s\" is not an IPv6 address", argv[i]);
	}
	return lookup_all(options, &query, argc, argv);
}

const struct cmd cmd_lookup = {
	.name = "lookup",
	.args = "ADDR... | - [from SRC] [dev PORT] [table N]",
	.help = "what the maps make of packets to an address",
	.run = run,
};
