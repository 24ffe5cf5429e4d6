// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: what is stored, who takes their frames, and which of them hang together. links.c is
 * built into this test with a reallocarray that fail on request.
 */
#include "../rib_unit.h"
#include <linux/if_ether.h>
#include <linux/netconf.h>
#include <net/if_arp.h>

static bool no_memory;

static void *reallocarray_or_fail(void *old, size_t n, size_t size)
{
	return no_memory ? NULL : reallocarray(old, n, size);
}

#define reallocarray reallocarray_or_fail
#include "../../../../user/rib/links.c"
#undef reallocarray

static struct link make_link(uint32_t ifindex, const char *name, const char *kind)
{
	struct link link = {
		.ifindex = ifindex,
		.flags = IFF_UP | IFF_RUNNING,
		.mtu = 1500,
		.type = ARPHRD_ETHER,
		.mac = { 2, 0, 0, 0, 0, (uint8_t)ifindex },
		.carrier = true,
	};

	strcpy(link.name, name);
	strcpy(link.kind, kind);
	return link;
}

static void set(struct links *links, const struct link *link)
{
	bool changed;

	assert_int_equal(links_set(links, link, &changed), 0);
}

/* A device without a link part. */
static void set_features_only(struct links *links, uint32_t ifindex)
{
	bool changed;

	assert_int_equal(links_set_features(links, ifindex, 1, &changed), 0);
}

static void test_store(void **state)
{
	struct links links = { 0 };
	struct link link;
	bool changed;

	/* in an order that makes the array move */
	for (uint32_t i = 0; i < 100; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "p%u", i * 37 % 100);
		link = make_link(1 + i * 37 % 100, name, "");
		assert_int_equal(links_set(&links, &link, &changed), 0);
		assert_true(changed);
		assert_int_equal(links_set(&links, &link, &changed), 0);
		assert_false(changed);
	}
	assert_int_equal(links.n, 100);
	assert_string_equal(links_find(&links, 43)->link.name, "p42");
	assert_null(links_find(&links, 101));
	links_delete(&links, 43);
	links_delete(&links, 43);
	assert_null(links_find(&links, 43));
	assert_non_null(links_find(&links, 44));
	links_mark(&links);
	link = make_link(7, "p6", "");
	set(&links, &link);
	assert_int_equal(links_sweep(&links), 98);
	assert_int_equal(links.n, 1);
	assert_non_null(links_find(&links, 7));
	links_clear(&links);
}

static void test_linkdown(void **state)
{
	struct links links = { 0 };
	struct link link = make_link(1, "p", "");
	struct link_ipv6 ipv6 = { .ifindex = 1, .mtu6 = 1500 };
	struct netconf all = { .ifindex = NETCONFA_IFINDEX_ALL,
			       .has_ignore_linkdown = true,
			       .ignore_linkdown = true };
	bool changed;

	set(&links, &link);
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_false(links_ignored(&links, 1));
	link.carrier = false;
	set(&links, &link);
	assert_false(links_ignored(&links, 1));
	ipv6.ignore_linkdown = true;
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_true(changed);
	assert_true(links_ignored(&links, 1));
	link.carrier = true;
	set(&links, &link);
	assert_false(links_ignored(&links, 1));
	link.flags &= ~(unsigned int)IFF_RUNNING; /* dormant */
	set(&links, &link);
	assert_true(links_ignored(&links, 1));
	assert_false(links_ignored(&links, 2));
	/* written to all devices' settings, "all" is no setting of its own */
	ipv6.ignore_linkdown = false;
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_false(links_set_netconf(&links, &all));
	assert_false(links_ignored(&links, 1));
	links_clear(&links);
}

/*
 * A device's own forwarding=0 does not stop the kernel from forwarding. Its force_forwarding is
 * cleared when all.forwarding is switched off, but not by a message that repeats that it is off.
 */
static void test_netconf(void **state)
{
	struct netconf all = { .ifindex = NETCONFA_IFINDEX_ALL, .has_forwarding = true };
	const struct netconf device = { .ifindex = 4, .has_forwarding = true };
	struct link_ipv6 ipv6 = { .ifindex = 1, .force_forwarding = true };
	struct links links = { 0 };
	bool changed;

	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_false(links_set_netconf(&links, &all));
	all.forwarding = true;
	assert_true(links_set_netconf(&links, &all));
	assert_false(links_set_netconf(&links, &all));
	assert_false(links_set_netconf(&links, &device));
	assert_true(links.forwarding && links_find(&links, 1)->ipv6.force_forwarding);
	all.forwarding = false;
	assert_true(links_set_netconf(&links, &all));
	assert_false(links.forwarding || links_find(&links, 1)->ipv6.force_forwarding);
	links_clear(&links);
}

/* By a message, or by the kernel's own links, which name devices that netlink does not. */
static void test_uppers(void **state)
{
	static const struct {
		const char *kind;
		bool takes_frames, taken, upper_takes;
	} uppers[] = {
		{ "vlan", false, false, false },   { "macvlan", false, false, false },
		{ "macvlan", true, true, true },   { "macvtap", true, true, true },
		{ "ipvlan", false, true, true },   { "macsec", false, true, true },
		{ "vxlan", false, false, false },  { "veth", false, false, false },
		{ "ip6tnl", false, false, false }, { "invented", false, true, true },
		{ "hsr", false, true, true },	   { "team", false, true, true },
		{ "bridge", false, true, true },   { "openvswitch", false, true, true },
		{ "", false, true, true },	   { "vrf", false, true, false },
		{ "bond", false, true, false },
	};

	assert_true(links_upper_takes(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(uppers); i++) {
		struct links links = { 0 };
		struct link port = make_link(1, "p", ""), upper = make_link(2, "u", uppers[i].kind);

		upper.lower = 1;
		upper.takes_frames = uppers[i].takes_frames;
		assert_int_equal(links_upper_takes(&upper), uppers[i].upper_takes);
		set(&links, &port);
		assert_false(links_frames_taken(&links, links_find(&links, 1)));
		assert_null(links_find_name(&links, "u"));
		set(&links, &upper);
		assert_ptr_equal(links_find_name(&links, "u"), links_find(&links, 2));
		assert_int_equal(links_frames_taken(&links, links_find(&links, 1)),
				 uppers[i].taken);
		assert_false(links_frames_taken(&links, links_find(&links, 2)));
		links_delete(&links, 2);
		strcpy(links_find(&links, 1)->owner, "u");
		set(&links, &port); /* no message clears that */
		assert_true(links_frames_taken(&links, links_find(&links, 1)));
		links_clear(&links);
	}
}

/* What a master does with its ports' frames decides; one that is not known may do anything. */
static void test_masters(void **state)
{
	static const struct {
		const char *kind;
		uint32_t vrf_table;
		bool ours, taken, vrf, bond;
	} masters[] = {
		{ "bridge", 0, true, true, false, false }, { "team", 0, true, true, false, false },
		{ "vrf", 9, false, false, true, false },   { "vrf", 0, false, true, false, false },
		{ "bond", 0, false, true, false, true },   { "bond", 0, true, false, false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(masters); i++) {
		struct links links = { 0 };
		struct link port = make_link(1, "p", "");
		struct link master = make_link(2, "m", masters[i].kind);
		struct link upper = make_link(3, "u", "ipvlan");
		const struct device *device;

		set(&links, &port);
		set(&links, &master);
		device = links_find(&links, 1);
		assert_null(links_vrf(&links, device));
		assert_null(links_bond(&links, device));
		assert_false(links_frames_taken(&links, device));
		port.master = 2;
		strcpy(port.master_kind, masters[i].kind);
		master.vrf_table = masters[i].vrf_table;
		set(&links, &port);
		set(&links, &master);
		links_find(&links, 2)->ours = masters[i].ours;
		assert_int_equal(links_frames_taken(&links, device), masters[i].taken);
		assert_ptr_equal(links_vrf(&links, device),
				 masters[i].vrf ? links_find(&links, 2) : NULL);
		assert_ptr_equal(links_bond(&links, device),
				 masters[i].bond ? links_find(&links, 2) : NULL);
		assert_false(links_frames_taken(&links, links_find(&links, 2)));
		/* a master is no reason to overlook another device */
		upper.lower = 1;
		set(&links, &upper);
		assert_true(links_frames_taken(&links, links_find(&links, 1)));
		links_delete(&links, 3);
		/* the master went, or is not announced yet */
		links_delete(&links, 2);
		device = links_find(&links, 1);
		assert_true(links_frames_taken(&links, device));
		assert_null(links_vrf(&links, device));
		assert_null(links_bond(&links, device));
		links_clear(&links);
	}
}

/* A device that went to another namespace goes on with what it did to its lower one. */
static void test_marks(void **state)
{
	struct links links = { 0 };
	struct link link = make_link(1, "p", ""), upper = make_link(2, "u", "vlan");

	set(&links, &link);
	upper.lower = 1;
	links_set_moved(&links, &upper);
	assert_false(links_frames_taken(&links, links_find(&links, 1)));
	strcpy(upper.kind, "ipvlan");
	links_set_moved(&links, &upper);
	assert_true(links_frames_taken(&links, links_find(&links, 1)));
	links_find(&links, 1)->routes_stale = true;
	links_clear_stale(&links);
	assert_false(links_find(&links, 1)->routes_stale);
	links_clear(&links);
}

static struct link make_vlan(uint32_t ifindex, uint32_t lower, uint16_t id)
{
	struct link link = make_link(ifindex, "vlan", "vlan");

	link.lower = lower;
	link.vlan_protocol = id < 100 ? ETH_P_8021Q : ETH_P_8021AD;
	link.vlan_id = id;
	return link;
}

/* 1 port; 2 tag 200 on it, 3 tag 30 in that, 4 tag 40 in that. */
static void test_bottom(void **state)
{
	static const uint8_t outer[4] = { 0x88, 0xa8, 0, 200 }, inner[4] = { 0x81, 0, 0, 30 };
	struct links links = { 0 };
	struct link link = make_link(1, "p", "");
	union sixlane_tag tags[2];
	unsigned int n_tags;

	link.lower = 9; /* a veth's peer is not below it */
	set(&links, &link);
	for (uint32_t i = 2; i <= 4; i++) {
		link = make_vlan(i, i - 1, i == 2 ? 200 : (uint16_t)(10 * i));
		set(&links, &link);
	}
	memset(tags, 0xff, sizeof(tags));
	assert_ptr_equal(links_bottom(&links, links_find(&links, 1), &n_tags, tags),
			 links_find(&links, 1));
	assert_int_equal(n_tags, 0);
	assert_int_equal(tags[0].word | tags[1].word, 0);
	assert_ptr_equal(links_bottom(&links, links_find(&links, 2), &n_tags, tags),
			 links_find(&links, 1));
	assert_int_equal(n_tags, 1);
	assert_memory_equal(&tags[0], outer, 4);
	assert_int_equal(tags[1].word, 0);
	assert_ptr_equal(links_bottom(&links, links_find(&links, 3), &n_tags, tags),
			 links_find(&links, 1));
	assert_int_equal(n_tags, 2);
	assert_memory_equal(&tags[0], outer, 4);
	assert_memory_equal(&tags[1], inner, 4);
	assert_null(links_bottom(&links, links_find(&links, 4), &n_tags, tags));
	/* a protocol that is not known, a lower device that is not or is elsewhere, a ring */
	link = make_vlan(2, 1, 200);
	link.vlan_protocol = 0;
	set(&links, &link);
	assert_null(links_bottom(&links, links_find(&links, 3), &n_tags, tags));
	link = make_vlan(2, 0, 200);
	set(&links, &link);
	assert_null(links_bottom(&links, links_find(&links, 2), &n_tags, tags));
	link = make_vlan(2, 2, 200);
	set(&links, &link);
	assert_null(links_bottom(&links, links_find(&links, 2), &n_tags, tags));
	link = make_vlan(2, 8, 200);
	set(&links, &link);
	assert_null(links_bottom(&links, links_find(&links, 2), &n_tags, tags));
	set_features_only(&links, 8);
	assert_null(links_bottom(&links, links_find(&links, 2), &n_tags, tags));
	assert_null(links_bottom(&links, links_find(&links, 8), &n_tags, tags));
	links_clear(&links);
}

static void note_ifindex(void *ctx, uint32_t ifindex)
{
	char *text = ctx;

	snprintf(text + strlen(text), 64 - strlen(text), " %u", ifindex);
}

#define assert_dependents(links, ifindex, text)                          \
	do {                                                             \
		char got[64] = "";                                       \
                                                                         \
		links_each_dependent(links, ifindex, note_ifindex, got); \
		assert_string_equal(got, text);                          \
	} while (0)

/* 1, 2 slaves of the bond 3; 4 a VLAN on 3, in the VRF 5; 6 a VLAN in 4; 7 a VLAN on 1. */
static void test_dependents(void **state)
{
	struct links links = { 0 };
	struct link link;

	for (uint32_t i = 1; i <= 2; i++) {
		link = make_link(i, "slave", "");
		link.master = 3;
		link.lower = 8; /* no VLAN device: nothing depends on that */
		set(&links, &link);
	}
	link = make_link(3, "bond", "bond");
	set(&links, &link);
	link = make_vlan(4, 3, 4);
	link.master = 5;
	set(&links, &link);
	link = make_vlan(6, 4, 6);
	set(&links, &link);
	link = make_vlan(7, 1, 7);
	set(&links, &link);
	set_features_only(&links, 8);
	assert_dependents(&links, 3, " 1 2 4 6 7");
	assert_dependents(&links, 5, " 4 6"); /* not there (any more) */
	assert_dependents(&links, 4, " 6");
	assert_dependents(&links, 1, " 7");
	assert_dependents(&links, 2, "");
	assert_dependents(&links, 8, "");
	assert_dependents(&links, 0, "");
	/* messages out of step with each other may show a ring */
	link = make_vlan(3, 6, 3);
	set(&links, &link);
	assert_dependents(&links, 5, " 1 2 3 4 6 7");
	assert_dependents(&links, 3, " 1 2 4 6 7");
	assert_dependents(&links, 9, "");
	links_clear(&links);
}

/* Whatever of a message decides on a port is a change. */
#define CHANGE(statement)                                                \
	do {                                                             \
		struct links links = { 0 };                              \
		struct link link = make_link(1, "p", "");                \
		bool changed;                                            \
                                                                         \
		set(&links, &link);                                      \
		statement;                                               \
		assert_int_equal(links_set(&links, &link, &changed), 0); \
		assert_true(changed);                                    \
		links_clear(&links);                                     \
	} while (0)

static void test_changes(void **state)
{
	CHANGE(strcpy(link.name, "q"));
	CHANGE(strcpy(link.kind, "veth"));
	CHANGE(strcpy(link.master_kind, "vrf"));
	CHANGE(link.flags = 0);
	CHANGE(link.mtu = 9000);
	CHANGE(link.master = 2);
	CHANGE(link.lower = 2);
	CHANGE(link.xdp_prog_id = 2);
	CHANGE(link.xdp_mode = XDP_MODE_GENERIC);
	CHANGE(link.n_rx_queues = 2);
	CHANGE(link.n_tx_queues = 2);
	CHANGE(link.type = ARPHRD_NONE);
	CHANGE(link.mac[5] = 7);
	CHANGE(link.carrier = false);
	CHANGE(link.takes_frames = true);
	CHANGE(link.is_external = true);
	CHANGE(link.slave_active = true);
	CHANGE(link.slave_link = true);
	CHANGE(link.bond_choice = BOND_CHOICE_STATE);
	CHANGE(link.vrf_table = 2);
	CHANGE(link.vlan_protocol = ETH_P_8021Q);
	CHANGE(link.vlan_id = 2);
	CHANGE(link.vlan_maps_priority = true);
	CHANGE(link.vlan_reorders = true);
}

static void test_ipv6(void **state)
{
	struct links links = { 0 };
	struct link_ipv6 ipv6 = { .ifindex = 1, .mtu6 = 1500 };
	bool changed;

	assert_false(links_clear_ipv6(&links, 1));
	for (int part = 0; part < 7; part++) {
		ipv6.mtu6 += part == 1;
		ipv6.disabled ^= part == 2;
		ipv6.ignore_linkdown ^= part == 3;
		ipv6.force_forwarding ^= part == 4;
		ipv6.own_addrs_only ^= part == 5;
		ipv6.hop_limit += part == 6;
		assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
		assert_true(changed);
		assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
		assert_false(changed);
	}
	assert_true(links_clear_ipv6(&links, 1));
	assert_false(links_clear_ipv6(&links, 1));
	assert_int_equal(links_set_features(&links, 1, 7, &changed), 0);
	assert_true(changed);
	assert_int_equal(links_set_features(&links, 1, 7, &changed), 0);
	assert_false(changed);
	links_clear(&links);
}

/* From a device's announcement until IPv6 follows. */
static void test_mtu_moves(void **state)
{
	struct link_ipv6 ipv6 = { .ifindex = 1, .mtu6 = 1400 }, other = { .ifindex = 2 };
	struct link link = make_link(1, "a", "");
	struct links links = { 0 };
	bool changed;

	set(&links, &link);
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_int_equal(links_set_ipv6(&links, &other, &changed), 0);
	/* IPv6 may have a configured MTU of its own. */
	assert_false(links_mtu_pending(&links));
	link.mtu = 1600;
	set(&links, &link);
	assert_true(links_mtu_pending(&links));
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	set(&links, &link);
	assert_true(links_mtu_pending(&links));
	ipv6.mtu6 = 1600;
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_false(links_mtu_pending(&links));
	ipv6.mtu6 = 1400;
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_false(links_mtu_pending(&links));
	/* Not for ever, and not where there is no IPv6. */
	link.mtu = 1500;
	set(&links, &link);
	links_mtu_clear(&links);
	assert_false(links_mtu_pending(&links));
	link.mtu = 1000;
	set(&links, &link);
	assert_true(links_mtu_pending(&links));
	assert_true(links_clear_ipv6(&links, 1));
	assert_false(links_mtu_pending(&links));
	links_clear(&links);
}

static void test_memory(void **state)
{
	struct links links = { 0 };
	struct link_ipv6 ipv6 = { .ifindex = 17 };
	struct link link;
	bool changed;

	for (uint32_t i = 1; i <= 16; i++) {
		link = make_link(i, "p", "");
		set(&links, &link);
	}
	no_memory = true;
	link.ifindex = 17;
	assert_int_equal(links_set(&links, &link, &changed), -ENOMEM);
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), -ENOMEM);
	assert_int_equal(links_set_features(&links, 17, 1, &changed), -ENOMEM);
	link.ifindex = 16;
	set(&links, &link);
	no_memory = false;
	assert_int_equal(links.n, 16);
	assert_null(links_find(&links, 17));
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store),	cmocka_unit_test(test_linkdown),
		cmocka_unit_test(test_netconf), cmocka_unit_test(test_uppers),
		cmocka_unit_test(test_masters), cmocka_unit_test(test_marks),
		cmocka_unit_test(test_bottom),	cmocka_unit_test(test_dependents),
		cmocka_unit_test(test_changes), cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_memory),	cmocka_unit_test(test_mtu_moves),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
