// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane routes: the entries of sl_routes, in the order of their addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "cmd_walk.h"
#include "log.h"
#include "print.h"

struct entry {
	struct sixlane_route_key key;
	uint32_t value;
};

struct entries {
	struct entry *at;
	size_t n, room;
	struct prefix within;
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

static json_t *to_json(const struct cmd_view *view, const struct entry *entry,
		       const struct walk *walk)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ];
	json_t *object = json_object();

	print_prefix(&entry->key.addr, entry_len(entry), false, text);
	print_set(object, "prefix", print_string(text));
	print_set(object, "table", json_integer(ntohl(entry->key.table)));
	print_set(object, "verdict", print_string(cmd_verdict_name(walk->verdict)));
	print_set(object, "id", json_integer(walk->next_hop));
	if (walk->has_gateway) {
		print_prefix(&walk->neigh.key.addr, 128, true, text);
		print_set(object, "next_hop", print_string(text));
	}
	if (walk->port)
		print_set(object, "port", print_string(cmd_slot_name(view, walk->port, name)));
	if (walk->mtu)
		print_set(object, "mtu", json_integer(walk->mtu));
	return object;
}

static void to_text(const struct cmd_options *options, const struct cmd_view *view,
		    const struct entry *entry, const struct walk *walk)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ];
	uint32_t table = ntohl(entry->key.table);

	print_prefix(&entry->key.addr, entry_len(entry), false, text);
	fputs(text, stdout);
	if (walk->has_gateway) {
		print_prefix(&walk->neigh.key.addr, 128, true, text);
		printf(" via %s", text);
	}
	if (walk->port)
		printf(" dev %s", cmd_slot_name(view, walk->port, name));
	if (table != SIXLANE_TABLE_MAIN)
		printf(" table %u", table);
	if (walk->mtu)
		printf(" mtu %u", walk->mtu);
	printf(" verdict %s", cmd_verdict_name(walk->verdict));
	if (options->statistics)
		printf(" id %u (%s)", walk->next_hop, cmd_verdict_text(walk->verdict));
	putchar('\n');
}

static int print_entries(const struct cmd_options *options, const struct cmd_view *view,
			 struct entries *entries)
{
	struct print_list list = { .options = options };

	if (entries->n)
		qsort(entries->at, entries->n, sizeof(*entries->at), by_prefix);
	for (size_t i = 0; i < entries->n; i++) {
		const struct entry *entry = &entries->at[i];
		struct walk walk = { 0 };

		/* A walk of a trie that changes meanwhile may meet an entry twice. */
		if (i && !by_prefix(&entry[-1], entry))
			continue;
		walk_next_hop(&view->maps, entry->value, &walk);
		if (options->json)
			print_list_add(&list, to_json(view, entry, &walk));
		else
			to_text(options, view, entry, &walk);
	}
	return options->json ? print_list_end(&list) : print_flush();
}

static bool parse_prefix(const char *text, struct prefix *out)
{
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long len = 128;
	char *end;

	if (n >= sizeof(addr))
		return false;
	memcpy(addr, text, n);
	addr[n] = '\0';
	if (slash) {
		len = strtoul(slash + 1, &end, 10);
		if (slash[1] < '0' || slash[1] > '9' || *end || len > 128)
			return false;
	}
	out->len = (uint8_t)len;
	return inet_pton(AF_INET6, addr, &out->addr) == 1;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct entries entries = { 0 };
	struct cmd_view view;
	int error, rc;

	if (argc > 1)
		return cmd_usage(&cmd_routes, "\"%s\" is too much", argv[1]);
	if (argc && !parse_prefix(argv[0], &entries.within))
		return cmd_usage(&cmd_routes, "\"%s\" is not an IPv6 prefix", argv[0]);
	rc = cmd_view_open(&view);
	if (rc)
		return rc;
	error = maps_route_each(&view.maps, collect, &entries);
	if (error) {
		log_error("cannot read the routes: %s", strerror(-error));
		rc = CMD_FAILED;
	} else {
		rc = print_entries(options, &view, &entries);
	}
	free(entries.at);
	cmd_view_close(&view);
	return rc;
}

const struct cmd cmd_routes = {
	.name = "routes",
	.args = "[PREFIX]",
	.help = "the routes in the maps, or those within a prefix",
	.run = run,
};
