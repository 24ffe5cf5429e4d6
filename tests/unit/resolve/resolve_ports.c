// SPDX-License-Identifier: GPL-2.0-only
#include "resolve_ports.h"

#include <arpa/inet.h>
#include <stdio.h>

struct rules_program ports_program;
struct addrs ports_addrs;

void ports_set_rules(bool default_ones)
{
	static const struct rule list[] = {
		{ .priority = 0, .table = 255, .action = 1, .suppress_len = -1 },
		{ .priority = 9, .table = 100, .action = 1, .suppress_len = -1 },
		{ .priority = 32766, .table = 254, .action = 1, .suppress_len = -1 },
	};
	struct rules rules = { 0 };
	struct links links = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (i != 1 || !default_ones)
			assert_int_equal(rules_add(&rules, &list[i]), 0);
	}
	rules_compile(&rules, &links, &ports_program);
	rules_clear(&rules);
}

struct sixlane_port ports_port(const struct links *links, uint32_t ifindex,
			       enum ports_kernel kernel)
{
	const struct resolve_port_policy policy = {
		.features_announced = kernel != KERNEL_WITHOUT_FEATURES,
		.old_bonds = kernel == KERNEL_OLD_BONDS,
		.rules = &ports_program,
		.addrs = &ports_addrs,
	};
	struct sixlane_port port;

	memset(&port, 0xa5, sizeof(port));
	resolve_port(links, links_find(links, ifindex), &policy, &port);
	assert_int_equal(port.ifindex, ifindex);
	for (size_t i = 0; i < ARRAY_SIZE(port.reserved); i++)
		assert_int_equal(port.reserved[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(port.reserved1); i++)
		assert_int_equal(port.reserved1[i], 0);
	return port;
}

static void write_number(FILE *out, const char *word, uint32_t number, uint32_t usual)
{
	if (number != usual)
		fprintf(out, "%s%s%u ", word, *word ? " " : "", number);
}

static void write_rest(FILE *out, const struct sixlane_port *port)
{
	uint32_t last = port->tags[1].word ? port->tags[1].word : port->tags[0].word;

	write_number(out, "mtu", port->mtu, 1500);
	write_number(out, "lower", port->lower, 0);
	write_number(out, "tx", port->tx_ifindex, port->ifindex);
	write_number(out, "iif", port->iif, port->ifindex);
	write_number(out, "table", port->table, 254);
	assert_int_equal(port->tag.word, last);
	for (size_t i = 0; i < 2 && port->tags[i].word; i++)
		fprintf(out, "%s%x:%u ", i ? "" : "tags ", ntohs(port->tags[i].tpid),
			ntohs(port->tags[i].tci));
	if (port->flags & P(SLAVES) || port->slaves_by || port->slaves_type)
		fprintf(out, "slaves %u %x ", port->slaves_by, port->slaves_type);
	assert_true(port->flags & P(SLAVES) || !port->n_slaves);
	for (uint32_t i = 0; i < SIXLANE_MAX_SLAVES; i++) {
		assert_int_equal(port->slaves[i] != 0, i < port->n_slaves);
		write_number(out, "", port->slaves[i], 0);
	}
}

void ports_check(const struct port_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct port_row *row = &rows[i];
		struct links links = { .forwarding = true };
		char rest[512] = "", expected[512] = "";
		struct sixlane_port port;
		FILE *out = fmemopen(rest, sizeof(rest), "w");

		devices_set(&links, row->devices);
		port = ports_port(&links, row->ifindex, row->kernel);
		write_rest(out, &port);
		fclose(out);
		if (row->rest)
			snprintf(expected, sizeof(expected), "%s ", row->rest);
		if (port.flags != ((SERVED & ~row->lost) | row->gained) || strcmp(rest, expected))
			fail_msg("%s: flags %#x are wrong; \"%s\"", row->what,
				 port.flags ^ ((SERVED & ~row->lost) | row->gained), rest);
		if (port.flags)
			assert_memory_equal(port.mac.bytes,
					    links_find(&links, row->ifindex)->link.mac, 6);
		links_clear(&links);
	}
}
