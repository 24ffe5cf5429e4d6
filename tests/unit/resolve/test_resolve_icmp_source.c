// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source and hop limit of answers by a port: which addresses decide, and when the kernel might
 * choose another. The ports are 2 and 3, in no VRF, and 4 in the VRF 6, whose other member is 5.
 */
#include <arpa/inet.h>
#include <linux/if_addr.h>

#include "resolve_ports.h"

#define DEPRECATED IFA_F_DEPRECATED
#define TENTATIVE IFA_F_TENTATIVE
#define OPTIMISTIC (IFA_F_OPTIMISTIC | IFA_F_TENTATIVE)
#define NODAD IFA_F_NODAD
#define HOME IFA_F_HOMEADDRESS
#define UNKNOWN (1u << 31) /* no flag: an attribute that is not known */

struct given {
	uint32_t ifindex;
	const char *addr;
	uint32_t flags;
};

struct row {
	const char *what;
	struct given given[4];
	void (*change)(struct links *links);
	uint32_t port;	    /* 0: 2 */
	const char *source; /* NULL: :: */
	bool sure;
};

static struct device *device_of(const struct links *links, uint32_t ifindex)
{
	return links_find(links, ifindex);
}

static void lo_down(struct links *links)
{
	device_of(links, 1)->link.flags = 0;
}

static void own_only(struct links *links)
{
	device_of(links, 2)->ipv6.own_addrs_only = true;
}

static void no_ipv6(struct links *links)
{
	device_of(links, 2)->has_ipv6 = false;
}

static void no_hop_limit(struct links *links)
{
	device_of(links, 2)->ipv6.hop_limit = 0;
}

static void other_rules(struct links *links)
{
	ports_set_rules(false);
}

/* What the kernel itself sends finds its route elsewhere. */
static void rule_of_lo(struct links *links)
{
	const struct rule local = { .table = 255, .action = 1, .suppress_len = -1 };
	const struct rule lo = { .table = 9, .action = 1, .suppress_len = -1, .iif = "lo" };
	const struct rule rest = { .table = 254, .action = 1, .suppress_len = -1 };
	struct rules rules = { 0 };

	strcpy(device_of(links, 1)->link.name, "lo");
	assert_int_equal(rules_add(&rules, &local), 0);
	assert_int_equal(rules_add(&rules, &lo), 0);
	assert_int_equal(rules_add(&rules, &rest), 0);
	rules_compile(&rules, links, &ports_program);
	assert_false(rules_program_walk(&ports_program, 2, false));
	rules_clear(&rules);
}

static const struct row rows[] = {
	{ "nothing", { { 0 } }, .source = NULL },
	{ "the port's own", { { 2, "2001:db8::1", 0 } }, .source = "2001:db8::1", .sure = true },
	{ "… before another's",
	  { { 1, "2001:db8::1", 0 }, { 2, "2001:db8::2", 0 }, { 3, "2001:db8::3", 0 } },
	  .source = "2001:db8::2",
	  .sure = true },
	{ "two of the port",
	  { { 2, "2001:db8::2", 0 }, { 2, "2001:db8:1::2", 0 } },
	  .source = "2001:db8::2" },
	{ "a ULA is global, too",
	  { { 2, "2001:db8::2", 0 }, { 2, "fd00::2", 0 } },
	  .source = "2001:db8::2" },
	{ "… alone", { { 2, "fd00::2", 0 } }, .source = "fd00::2", .sure = true },
	{ "one of two is deprecated",
	  { { 2, "2001:db8::2", DEPRECATED }, { 2, "2001:db8:1::2", 0 } },
	  .source = "2001:db8:1::2",
	  .sure = true },
	{ "one of two is tentative",
	  { { 2, "2001:db8::2", TENTATIVE }, { 2, "2001:db8:1::2", 0 } },
	  .source = "2001:db8:1::2",
	  .sure = true },
	{ "the port's is tentative", { { 2, "2001:db8::2", TENTATIVE } }, .source = NULL },
	{ "… and lo has another",
	  { { 1, "2001:db8::1", 0 }, { 2, "2001:db8::2", TENTATIVE } },
	  .source = "2001:db8::1",
	  .sure = true },
	{ "DAD failed", { { 2, "2001:db8::2", TENTATIVE | IFA_F_DADFAILED } }, .source = NULL },
	{ "one of two is optimistic",
	  { { 2, "2001:db8::2", OPTIMISTIC }, { 2, "2001:db8:1::2", 0 } },
	  .source = "2001:db8::2" },
	{ "the only one is optimistic",
	  { { 2, "2001:db8::2", OPTIMISTIC } },
	  .source = "2001:db8::2" },
	{ "another's is optimistic",
	  { { 2, "2001:db8::2", 0 }, { 3, "2001:db8::3", OPTIMISTIC } },
	  .source = "2001:db8::2",
	  .sure = true },
	{ "the port's is optimistic, lo has another",
	  { { 1, "2001:db8::1", 0 }, { 2, "2001:db8::2", OPTIMISTIC } },
	  .source = "2001:db8::2" },
	{ "a preferred one elsewhere is before a deprecated one of the port",
	  { { 1, "2001:db8::1", 0 }, { 2, "2001:db8::2", DEPRECATED } },
	  .source = "2001:db8::1",
	  .sure = true },
	{ "all are deprecated",
	  { { 1, "2001:db8::1", DEPRECATED }, { 2, "2001:db8::2", DEPRECATED } },
	  .source = "2001:db8::2" },
	{ "unnumbered", { { 1, "2001:db8::1", 0 } }, .source = "2001:db8::1", .sure = true },
	{ "… with two elsewhere",
	  { { 1, "2001:db8::1", 0 }, { 3, "2001:db8::3", 0 } },
	  .source = "2001:db8::1" },
	{ "… with use_oif_addrs_only", { { 1, "2001:db8::1", 0 } }, own_only, .source = NULL },
	{ "use_oif_addrs_only",
	  { { 1, "2001:db8::1", 0 }, { 2, "2001:db8::2", DEPRECATED } },
	  own_only,
	  .source = "2001:db8::2" },
	{ "site-local destinations have site-local sources",
	  { { 2, "2001:db8::2", 0 }, { 3, "fec0::3", 0 } },
	  .source = "2001:db8::2" },
	{ "a site-local one is none for global destinations",
	  { { 2, "fec0::2", 0 } },
	  .source = NULL },
	{ "a home address",
	  { { 2, "2001:db8::2", 0 }, { 3, "2001:db8::3", HOME } },
	  .source = "2001:db8::2" },
	{ "an address of which not all is known",
	  { { 2, "2001:db8::2", 0 }, { 3, "2001:db8::3", UNKNOWN } },
	  .source = "2001:db8::2" },
	{ "lo is down",
	  { { 1, "2001:db8::1", TENTATIVE }, { 2, "2001:db8::2", 0 } },
	  lo_down,
	  .source = "2001:db8::2",
	  .sure = true },
	{ "… and has kept one",
	  { { 1, "2001:db8::1", NODAD }, { 2, "2001:db8::2", 0 } },
	  lo_down,
	  .source = "2001:db8::2" },
	{ "one without DAD",
	  { { 1, "2001:db8::1", NODAD }, { 2, "2001:db8::2", NODAD } },
	  .source = "2001:db8::2",
	  .sure = true },
	{ "no IPv6", { { 2, "2001:db8::2", 0 } }, no_ipv6, .source = NULL },
	{ "no hop limit", { { 2, "2001:db8::2", 0 } }, no_hop_limit, .source = NULL },
	{ "more rules", { { 2, "2001:db8::2", 0 } }, other_rules, .source = "2001:db8::2" },
	{ "a rule for lo", { { 2, "2001:db8::2", 0 } }, rule_of_lo, .source = "2001:db8::2" },
	{ "an IPv4 address in IPv6 is preferred, deprecated or not",
	  { { 2, "2001:db8::2", 0 }, { 2, "::ffff:1.2.3.4", DEPRECATED } },
	  .source = NULL },
	{ "… compatible ones as well",
	  { { 2, "2001:db8::2", 0 }, { 2, "::1.2.3.4", DEPRECATED } },
	  .source = NULL },
	{ "a VRF's port",
	  { { 4, "2001:db8::4", 0 }, { 5, "2001:db8::5", 0 }, { 6, "2001:db8::6", 0 } },
	  .port = 4,
	  .source = "2001:db8::4",
	  .sure = true },
	{ "… unnumbered",
	  { { 2, "2001:db8::2", 0 }, { 6, "2001:db8::6", 0 } },
	  .port = 4,
	  .source = "2001:db8::6",
	  .sure = true },
	{ "… of which another port has one",
	  { { 2, "2001:db8::2", 0 }, { 5, "2001:db8::5", 0 } },
	  .port = 4,
	  .source = "2001:db8::5" },
	{ "addresses of a VRF are for its ports",
	  { { 4, "2001:db8::4", 0 }, { 6, "2001:db8::6", 0 } },
	  .source = NULL },
};

static void set_up(struct links *links, const struct row *row)
{
	static const char *const kinds[] = { "dummy", "", "", "", "", "vrf" };
	bool changed;

	ports_set_rules(true);
	for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++)
		ports_add(links, i + 1, kinds[i]);
	device_of(links, 6)->link.vrf_table = 10;
	for (uint32_t ifindex = 4; ifindex <= 5; ifindex++) {
		device_of(links, ifindex)->link.master = 6;
		strcpy(device_of(links, ifindex)->link.master_kind, "vrf");
	}
	for (size_t i = 0; i < ARRAY_SIZE(row->given) && row->given[i].addr; i++) {
		struct address address = { .ifindex = row->given[i].ifindex,
					   .flags = row->given[i].flags & ~UNKNOWN,
					   .unknown_attr = row->given[i].flags & UNKNOWN ? 12 : 0 };

		assert_int_equal(inet_pton(AF_INET6, row->given[i].addr, &address.addr), 1);
		assert_int_equal(addrs_set(&ports_addrs, &address, &changed), 0);
	}
	if (row->change)
		row->change(links);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union sixlane_addr expected = { 0 };
		struct links links = { 0 };
		struct sixlane_port port;

		print_message("%s\n", rows[i].what);
		if (rows[i].source)
			assert_int_equal(inet_pton(AF_INET6, rows[i].source, &expected), 1);
		set_up(&links, &rows[i]);
		port = ports_port(&links, rows[i].port ? rows[i].port : 2);
		assert_memory_equal(&port.source, &expected, sizeof(expected));
		assert_int_equal(!!(port.flags & P(SOURCE)), rows[i].sure);
		links_clear(&links);
		addrs_clear(&ports_addrs);
	}
}

static void test_hop_limit(void **state)
{
	static const struct row row = { .what = "", .given = { { 2, "2001:db8::2", 0 } } };
	struct links links = { 0 };

	set_up(&links, &row);
	device_of(&links, 2)->ipv6.hop_limit = 255;
	assert_int_equal(ports_port(&links, 2).hop_limit, 255);
	assert_int_equal(ports_port(&links, 3).hop_limit, 64);
	device_of(&links, 2)->has_ipv6 = false;
	assert_int_equal(ports_port(&links, 2).hop_limit, 0);
	links_clear(&links);
	addrs_clear(&ports_addrs);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_hop_limit),
	};

	return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
