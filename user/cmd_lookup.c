// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane lookup: what the maps make of packets to an address, by the datapath's own order of
 * checks (cmd_walk.h). Reads any number of addresses from stdin.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "cmd.h"
#include "cmd_walk.h"
#include "log.h"
#include "print.h"

struct lookup {
	const struct cmd_options *options;
	struct cmd_view *view;
	struct print_list *list; /* NULL: a single JSON object, or no JSON */
	uint32_t ingress;	 /* ifindex, 0: any */
};

/* An address as text, and the route's prefix around it. */
static void covering_prefix(const union sixlane_addr *addr, uint32_t len,
			    char buf[PRINT_PREFIX_LEN])
{
	union sixlane_addr base = { 0 };

	for (uint32_t bit = 0; bit < len && bit < 128; bit += 8) {
		uint32_t keep = len - bit < 8 ? len - bit : 8;

		base.bytes[bit / 8] = addr->bytes[bit / 8] & (uint8_t)(0xff << (8 - keep));
	}
	print_prefix(&base, len, false, buf);
}

static json_t *to_json(const struct lookup *lookup, const union sixlane_addr *addr,
		       const struct walk *walk)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ], mac[PRINT_MAC_LEN];
	json_t *object = json_object();

	print_prefix(addr, 128, true, text);
	print_set(object, "address", print_string(text));
	if (walk->has_prefix) {
		covering_prefix(addr, walk->prefix_len, text);
		print_set(object, "prefix", print_string(text));
	}
	if (walk->has_gateway) {
		print_prefix(&walk->neigh.key.addr, 128, true, text);
		print_set(object, "next_hop", print_string(text));
	}
	if (walk->port) {
		print_set(object, "port",
			  print_string(cmd_slot_name(lookup->view, walk->port, name)));
		print_mac(walk->egress.mac.bytes, mac);
		print_set(object, "src_mac", print_string(mac));
	}
	if (walk->has_mac) {
		print_mac(walk->neigh.mac.bytes, mac);
		print_set(object, "dst_mac", print_string(mac));
	}
	if (walk->mtu)
		print_set(object, "mtu", json_integer(walk->mtu));
	print_set(object, "verdict", print_string(cmd_verdict_name(walk->verdict)));
	return object;
}

static void to_text(const struct lookup *lookup, const union sixlane_addr *addr,
		    const struct walk *walk)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ], mac[PRINT_MAC_LEN];

	print_prefix(addr, 128, true, text);
	fputs(text, stdout);
	if (walk->has_gateway) {
		print_prefix(&walk->neigh.key.addr, 128, true, text);
		printf(" via %s", text);
	}
	if (walk->port)
		printf(" dev %s", cmd_slot_name(lookup->view, walk->port, name));
	if (walk->has_prefix) {
		covering_prefix(addr, walk->prefix_len, text);
		printf(" prefix %s", text);
	}
	if (walk->mtu)
		printf(" mtu %u", walk->mtu);
	if (walk->port) {
		print_mac(walk->egress.mac.bytes, mac);
		printf(" src_mac %s", mac);
	}
	if (walk->has_mac) {
		print_mac(walk->neigh.mac.bytes, mac);
		printf(" dst_mac %s", mac);
	}
	printf(" verdict %s", cmd_verdict_name(walk->verdict));
	if (lookup->options->statistics)
		printf(" (%s)", cmd_verdict_text(walk->verdict));
	putchar('\n');
}

static int lookup_one(const struct lookup *lookup, const union sixlane_addr *addr)
{
	struct walk walk;

	walk_destination(&lookup->view->maps, lookup->ingress, addr, &walk);
	if (lookup->list)
		print_list_add(lookup->list, to_json(lookup, addr, &walk));
	else if (lookup->options->json)
		return print_json(lookup->options, to_json(lookup, addr, &walk));
	else
		to_text(lookup, addr, &walk);
	return CMD_OK;
}

static int lookup_stdin(const struct lookup *lookup)
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
		lookup_one(lookup, &addr);
	}
	return CMD_OK;
}

static int lookup_args(const struct lookup *lookup, int argc, char **argv)
{
	union sixlane_addr addr;
	int rc = CMD_OK;

	for (int i = 0; i < argc && !rc; i++) {
		inet_pton(AF_INET6, argv[i], &addr);
		rc = lookup_one(lookup, &addr);
	}
	return rc;
}

static int lookup_all(const struct cmd_options *options, uint32_t ingress, int argc, char **argv)
{
	bool from_stdin = !strcmp(argv[0], "-");
	struct print_list list = { .options = options };
	struct cmd_view view;
	struct lookup lookup = { .options = options, .view = &view, .ingress = ingress };
	int rc = cmd_view_open(&view), end;

	if (rc)
		return rc;
	if (options->json && (from_stdin || argc > 1))
		lookup.list = &list;
	rc = from_stdin ? lookup_stdin(&lookup) : lookup_args(&lookup, argc, argv);
	end = lookup.list ? print_list_end(&list) : print_flush();
	cmd_view_close(&view);
	return rc ? rc : end;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	union sixlane_addr addr;
	uint32_t ingress = 0;

	if (argc > 2 && !strcmp(argv[argc - 2], "dev")) {
		ingress = if_nametoindex(argv[argc - 1]);
		if (!ingress) {
			log_error("cannot find device \"%s\"", argv[argc - 1]);
			return CMD_FAILED;
		}
		argc -= 2;
	}
	if (argc < 1)
		return cmd_usage(&cmd_lookup, "which address?");
	if (!strcmp(argv[0], "-") && argc > 1)
		return cmd_usage(&cmd_lookup, "\"%s\" is too much", argv[1]);
	for (int i = 0; i < argc && strcmp(argv[0], "-") != 0; i++) {
		if (inet_pton(AF_INET6, argv[i], &addr) != 1)
			return cmd_usage(&cmd_lookup, "\"%s\" is not an IPv6 address", argv[i]);
	}
	return lookup_all(options, ingress, argc, argv);
}

const struct cmd cmd_lookup = {
	.name = "lookup",
	.args = "ADDR... | - [dev PORT]",
	.help = "what the maps make of packets to an address",
	.run = run,
};
