// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source and hop limit of ICMPv6 errors by a port: which addresses decide, and when the kernel
 * might choose another. The ports are 2 and 3, in no VRF, and 4 in the VRF 6, whose other member
 * is 5.
 */
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <stdio.h>

#include "resolve_ports.h"

struct row {
	const char *what;
	const char *addrs;  /* "IFINDEX ADDRESS [FLAG]; …" */
	const char *source; /* NULL: :: */
	bool sure;
	const char *devices; /* what differs of them, NULL: nothing */
	uint32_t port;	     /* 0: 2 */
	enum { DEFAULT_RULES, MORE_RULES, RULE_OF_LO } rules;
};

#define SURE(what_, addrs_, source_, ...)                                                    \
	{                                                                                    \
		.what = what_, .addrs = addrs_, .source = source_, .sure = true, __VA_ARGS__ \
	}
#define UNSURE(what_, addrs_, source_, ...)                                    \
	{                                                                      \
		.what = what_, .addrs = addrs_, .source = source_, __VA_ARGS__ \
	}

static const struct row rows[] = {
	UNSURE("nothing", "", NULL),
	SURE("the port's own", "2 2001:db8::1", "2001:db8::1"),
	SURE("… before another's", "1 2001:db8::1; 2 2001:db8::2; 3 2001:db8::3", "2001:db8::2"),
	UNSURE("two of the port", "2 2001:db8::2; 2 2001:db8:1::2", "2001:db8::2"),
	UNSURE("a ULA is global, too", "2 2001:db8::2; 2 fd00::2", "2001:db8::2"),
	SURE("… alone", "2 fd00::2", "fd00::2"),
	SURE("one of two is deprecated", "2 2001:db8::2 deprecated; 2 2001:db8:1::2",
	     "2001:db8:1::2"),
	SURE("one of two is tentative", "2 2001:db8::2 tentative; 2 2001:db8:1::2",
	     "2001:db8:1::2"),
	UNSURE("the port's is tentative", "2 2001:db8::2 tentative", NULL),
	SURE("… and lo has another", "1 2001:db8::1; 2 2001:db8::2 tentative", "2001:db8::1"),
	UNSURE("DAD failed", "2 2001:db8::2 dad_failed", NULL),
	UNSURE("one of two is optimistic", "2 2001:db8::2 optimistic; 2 2001:db8:1::2",
	       "2001:db8::2"),
	UNSURE("the only one is optimistic", "2 2001:db8::2 optimistic", "2001:db8::2"),
	SURE("another's is optimistic", "2 2001:db8::2; 3 2001:db8::3 optimistic", "2001:db8::2"),
	UNSURE("the port's is optimistic, lo has another",
	       "1 2001:db8::1; 2 2001:db8::2 optimistic", "2001:db8::2"),
	SURE("a preferred one elsewhere is before a deprecated one of the port",
	     "1 2001:db8::1; 2 2001:db8::2 deprecated", "2001:db8::1"),
	UNSURE("all are deprecated", "1 2001:db8::1 deprecated; 2 2001:db8::2 deprecated",
	       "2001:db8::2"),
	SURE("unnumbered", "1 2001:db8::1", "2001:db8::1"),
	UNSURE("… with two elsewhere", "1 2001:db8::1; 3 2001:db8::3", "2001:db8::1"),
	UNSURE("… with use_oif_addrs_only", "1 2001:db8::1", NULL, .devices = "2 own_addrs_only"),
	UNSURE("use_oif_addrs_only", "1 2001:db8::1; 2 2001:db8::2 deprecated", "2001:db8::2",
	       .devices = "2 own_addrs_only"),
	UNSURE("site-local destinations have site-local sources", "2 2001:db8::2; 3 fec0::3",
	       "2001:db8::2"),
	UNSURE("a site-local one is none for global destinations", "2 fec0::2", NULL),
	UNSURE("a home address", "2 2001:db8::2; 3 2001:db8::3 home", "2001:db8::2"),
	UNSURE("an address of which not all is known", "2 2001:db8::2; 3 2001:db8::3 unknown",
	       "2001:db8::2"),
	SURE("lo is down", "1 2001:db8::1 tentative; 2 2001:db8::2", "2001:db8::2",
	     .devices = "1 down"),
	UNSURE("… and has kept one", "1 2001:db8::1 nodad; 2 2001:db8::2", "2001:db8::2",
	       .devices = "1 down"),
	SURE("one without DAD", "1 2001:db8::1 nodad; 2 2001:db8::2 nodad", "2001:db8::2"),
	UNSURE("no IPv6", "2 2001:db8::2", NULL, .devices = "2 no_ipv6"),
	UNSURE("no hop limit", "2 2001:db8::2", NULL, .devices = "2 hop_limit=0"),
	UNSURE("more rules", "2 2001:db8::2", "2001:db8::2", .rules = MORE_RULES),
	UNSURE("a rule for lo", "2 2001:db8::2", "2001:db8::2", .rules = RULE_OF_LO),
	UNSURE("an IPv4 address in IPv6 is preferred, deprecated or not",
	       "2 2001:db8::2; 2 ::ffff:1.2.3.4 deprecated", NULL),
	UNSURE("… compatible ones as well", "2 2001:db8::2; 2 ::1.2.3.4 deprecated", NULL),
	SURE("a VRF's port", "4 2001:db8::4; 5 2001:db8::5; 6 2001:db8::6", "2001:db8::4",
	     .port = 4),
	SURE("… unnumbered", "2 2001:db8::2; 6 2001:db8::6", "2001:db8::6", .port = 4),
	UNSURE("… of which another port has one", "2 2001:db8::2; 5 2001:db8::5", "2001:db8::5",
	       .port = 4),
	UNSURE("addresses of a VRF are for its ports", "4 2001:db8::4; 6 2001:db8::6", NULL),
};

/* What the kernel itself sends finds its route elsewhere. */
static void set_rule_of_lo(struct links *links)
{
	const struct rule local = { .table = 255, .action = 1, .suppress_len = -1 };
	const struct rule lo = { .table = 9, .action = 1, .suppress_len = -1, .iif = "lo" };
	const struct rule rest = { .table = 254, .action = 1, .suppress_len = -1 };
	struct rules rules = { 0 };

	devices_set(links, "1 name=lo");
	assert_int_equal(rules_add(&rules, &local), 0);
	assert_int_equal(rules_add(&rules, &lo), 0);
	assert_int_equal(rules_add(&rules, &rest), 0);
	rules_compile(&rules, links, &ports_program);
	assert_false(rules_program_walk(&ports_program, 2, false));
	rules_clear(&rules);
}

static void add_address(char *text)
{
	static const struct {
		const char *word;
		uint32_t flags;
	} words[] = {
		{ "deprecated", IFA_F_DEPRECATED },
		{ "tentative", IFA_F_TENTATIVE },
		{ "dad_failed", IFA_F_TENTATIVE | IFA_F_DADFAILED },
		{ "optimistic", IFA_F_OPTIMISTIC | IFA_F_TENTATIVE },
		{ "nodad", IFA_F_NODAD },
		{ "home", IFA_F_HOMEADDRESS },
	};
	char addr[INET6_ADDRSTRLEN], flag[16] = "";
	struct address address = { 0 };
	bool changed;

	assert_true(sscanf(text, "%u %45s %15s", &address.ifindex, addr, flag) >= 2);
	assert_int_equal(inet_pton(AF_INET6, addr, &address.addr), 1);
	address.unknown_attr = !strcmp(flag, "unknown") ? 12 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		address.flags |= !strcmp(flag, words[i].word) ? words[i].flags : 0;
	assert_true(!*flag || address.flags || address.unknown_attr);
	assert_int_equal(addrs_set(&ports_addrs, &address, &changed), 0);
}

static void set_up(struct links *links, const struct row *row)
{
	char copy[256], *save, *part;

	ports_set_rules(row->rules != MORE_RULES);
	devices_set(links, "1 kind=dummy; 2; 3; 4 master=6 of=vrf; 5 master=6 of=vrf; "
			   "6 kind=vrf table=10");
	snprintf(copy, sizeof(copy), "%s", row->addrs);
	for (part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save))
		add_address(part);
	if (row->devices)
		devices_set(links, row->devices);
	if (row->rules == RULE_OF_LO)
		set_rule_of_lo(links);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union sixlane_addr expected = { 0 };
		struct links links = { 0 };
		struct sixlane_port port;

		if (rows[i].source)
			assert_int_equal(inet_pton(AF_INET6, rows[i].source, &expected), 1);
		set_up(&links, &rows[i]);
		port = ports_port(&links, rows[i].port ? rows[i].port : 2, KERNEL_NEW);
		if (memcmp(&port.source, &expected, sizeof(expected)) != 0 ||
		    !!(port.flags & P(SOURCE)) != rows[i].sure)
			fail_msg("%s: another source, or %ssure", rows[i].what,
				 rows[i].sure ? "un" : "");
		links_clear(&links);
		addrs_clear(&ports_addrs);
	}
}

static void test_hop_limit(void **state)
{
	struct links links = { 0 };

	ports_set_rules(true);
	devices_set(&links, "2 hop_limit=255; 3");
	assert_int_equal(ports_port(&links, 2, KERNEL_NEW).hop_limit, 255);
	assert_int_equal(ports_port(&links, 3, KERNEL_NEW).hop_limit, 64);
	devices_set(&links, "2 no_ipv6");
	assert_int_equal(ports_port(&links, 2, KERNEL_NEW).hop_limit, 0);
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_hop_limit),
	};

	return cmocka_run_group_tests_name("icmp source", tests, NULL, NULL);
}
