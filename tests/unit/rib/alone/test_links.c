// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: what is stored, who takes their frames, and which of them depend on others. links.c is
 * built into this test with allocations that fail on request.
 */
#include "../devices.h"
#include <linux/netconf.h>
#include <net/if_arp.h>

#include "../failing_alloc.h"

#include "../../../../user/rib/links.c"

static struct link make_link(uint32_t ifindex, const char *kind)
{
	struct link link = { .ifindex = ifindex, .mtu = 1500, .type = ARPHRD_ETHER };

	snprintf(link.name, sizeof(link.name), "d%u", ifindex);
	strcpy(link.kind, kind);
	return link;
}

static void set(struct links *links, const struct link *link)
{
	bool changed;

	assert_int_equal(links_set(links, link, &changed), 0);
}

static void set_ipv6(struct links *links, uint32_t ifindex, uint32_t mtu6)
{
	const struct link_ipv6 ipv6 = { .ifindex = ifindex, .mtu6 = mtu6 };
	bool changed;

	assert_int_equal(links_set_ipv6(links, &ipv6, &changed), 0);
}

static void test_store(void **state)
{
	struct links links = { 0 };
	struct link link;
	bool changed;

	/* in an order that makes the array move */
	for (uint32_t i = 0; i < 100; i++) {
		link = make_link(1 + i * 37 % 100, "");
		assert_int_equal(links_set(&links, &link, &changed), 0);
		assert_true(changed);
		assert_int_equal(links_set(&links, &link, &changed), 0);
		assert_false(changed);
	}
	assert_int_equal(links.n, 100);
	assert_string_equal(links_find(&links, 43)->link.name, "d43");
	assert_null(links_find(&links, 101));
	links_delete(&links, 43);
	links_delete(&links, 43);
	assert_null(links_find(&links, 43));
	assert_non_null(links_find(&links, 44));
	links_mark(&links);
	link = make_link(7, "");
	set(&links, &link);
	links_sweep(&links);
	assert_int_equal(links.n, 1);
	assert_non_null(links_find(&links, 7));
	links_clear(&links);
}

/* --- what follows from devices ---------------------------------------------------------------- */

/*
 * What is asked of device 1, as words: "ignored", "taken" (its frames), "tags_taken", "vrf N",
 * "bond N"; "over N TAG …" for the device under its tags, "over ?" if that is unknown; "below N …"
 * for the devices that depend on it. "new" before the devices: all others are deleted.
 */
struct row {
	const char *devices, *state;
};

static const struct row rows[] = {
	{ "new; 1", "" },
	{ "1 no_carrier", "" },
	{ "1 ignore_linkdown", "ignored" },
	{ "1 carrier", "" },
	{ "1 dormant", "ignored" },
	{ "1 keep_linkdown", "" },
	{ "1 ignore_linkdown no_ipv6", "" },

	/* by a message, or by the kernel's own links, which name devices that netlink does not */
	{ "new; 1 owner=u", "taken" },
	{ "new; 1 taken_elsewhere", "taken" },
	/* itself, a veth's peer elsewhere */
	{ "new; 1 kind=ipvlan lower=1", "" },
	/* what a master does decides; an unknown one may do anything */
	{ "new; 1; 2 kind=vrf table=9", "" },
	{ "1 master=2", "vrf 2 below 1 of 2" },
	{ "3 kind=ipvlan lower=1", "taken vrf 2 below 1 of 2" },
	{ "new; 1 master=2; 2 kind=vrf", "taken below 1 of 2" },
	{ "new; 1 master=2; 2 kind=bridge ours", "taken below 1 of 2" },
	{ "new; 1 master=2; 2 kind=team ours", "taken below 1 of 2" },
	{ "new; 1 master=2; 2 kind=bond", "taken bond 2 below 1 of 2" },
	{ "2 ours", "bond 2 below 1 of 2" },
	{ "3 kind=ipvlan lower=1", "taken bond 2 below 1 of 2" },
	{ "new; 1 master=2 of=vrf", "taken below 1 of 2" },
	{ "new; 1 master=2 of=bond", "taken below 1 of 2" },

	{ "new; 1 kind=vlan lower=2 vid=200 tpid=0x88a8; 2", "over 2 88a8:200 below 1 of 2" },
	{ "new; 1 kind=vlan lower=2 vid=30; 2 kind=vlan lower=3 vid=200 tpid=0x88a8; 3",
	  "over 3 88a8:200 8100:30 below 1 of 2 below 1 2 of 3" },
	/* more tags than can be written, and what is not known: a protocol, a lower device */
	{ "3 kind=vlan lower=4 vid=40; 4", "over ? below 1 of 2 below 1 2 of 3 below 1 2 3 of 4" },
	{ "new; 1 kind=vlan lower=2 tpid=0; 2", "over ? below 1 of 2" },
	{ "new; 1 kind=vlan", "over ?" },
	{ "new; 1 kind=vlan lower=2", "over ? below 1 of 2" },
	/* links are announced one by one: for a moment they may form a loop */
	{ "new; 1 kind=vlan lower=1", "over ? tags_taken" },
	{ "new; 1 kind=vlan lower=2; 2 kind=vlan lower=1",
	  "over ? tags_taken below 2 of 1 below 1 of 2" },
	/* slaves 1 and 2 of the bond 3; VLAN 4 on it, in VRF 5; VLAN 6 in 4; VLAN 7 on 1 */
	{ "new; 1 master=3 lower=8; 2 master=3 lower=8; 3 kind=bond; 4 kind=vlan lower=3 master=5; "
	  "6 kind=vlan lower=4; 7 kind=vlan lower=1; 8",
	  "taken tags_taken bond 3 below 7 of 1 below 1 2 4 6 7 of 3 below 6 of 4 below 4 6 of 5" },
	{ "3 kind=vlan lower=6",
	  "taken tags_taken below 7 of 1 below 1 2 4 6 7 of 3 below 1 2 3 6 7 of 4 "
	  "below 1 2 3 4 6 7 of 5 below 1 2 3 4 7 of 6" },
};

static void add(char text[256], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(char text[256], const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	if (used)
		text[used++] = ' ';
	vsnprintf(text + used, 256 - used, fmt, ap);
	va_end(ap);
}

static void add_ifindex(void *ctx, uint32_t ifindex)
{
	char *text = ctx;

	add(text, *text ? "%u" : "below %u", ifindex);
}

static void add_bottom(const struct links *links, char text[256])
{
	union sixlane_tag tags[2];
	unsigned int n_tags;
	const struct device *bottom = links_bottom(links, links_find(links, 1), &n_tags, tags);

	if (bottom == links_find(links, 1)) {
		assert_int_equal(n_tags, 0);
		assert_int_equal(tags[0].word | tags[1].word, 0);
		return;
	}
	add(text, bottom ? "over %u" : "over ?", bottom ? bottom->ifindex : 0);
	for (unsigned int i = 0; bottom && i < n_tags; i++)
		add(text, "%x:%u", ntohs(tags[i].tpid), ntohs(tags[i].tci));
	assert_true(!bottom || n_tags == 2 || !tags[1].word);
}

static void describe(const struct links *links, char text[256])
{
	const struct device *device = links_find(links, 1), *vrf = links_vrf(links, device);
	const struct device *bond = links_bond(links, device);

	*text = '\0';
	if (links_ignored(links, 1))
		add(text, "ignored");
	if (links_frames_taken(links, device))
		add(text, "taken");
	add_bottom(links, text);
	if (links_tags_taken(links, device))
		add(text, "tags_taken");
	if (vrf)
		add(text, "vrf %u", vrf->ifindex);
	if (bond)
		add(text, "bond %u", bond->ifindex);
	for (uint32_t ifindex = 0; ifindex < 10; ifindex++) {
		char below[256] = "";

		links_each_dependent(links, ifindex, add_ifindex, below);
		if (*below)
			add(text, "%s of %u", below, ifindex);
	}
}

static void test_rows(void **state)
{
	struct links links = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *devices = rows[i].devices;
		char text[256];

		if (!strncmp(devices, "new; ", 5)) {
			links_clear(&links);
			devices += 5;
		}
		devices_set(&links, devices);
		describe(&links, text);
		if (strcmp(text, rows[i].state) != 0)
			fail_msg("%s: \"%s\"", rows[i].devices, text);
	}
	assert_false(links_ignored(&links, 99));
	links_clear(&links);
}

/* Devices of which only the features are known. */
static void test_parts(void **state)
{
	struct links links = { 0 };
	union sixlane_tag tags[2];
	unsigned int n_tags;
	bool changed;

	for (int again = 0; again < 2; again++) {
		assert_int_equal(links_set_features(&links, 8, 7, &changed), 0);
		assert_int_equal(changed, !again);
	}
	devices_set(&links, "2 kind=vlan lower=8");
	assert_null(links_bottom(&links, links_find(&links, 2), &n_tags, tags));
	assert_null(links_bottom(&links, links_find(&links, 8), &n_tags, tags));
	links_clear(&links);
}

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
		struct link upper = make_link(2, uppers[i].kind);

		upper.lower = 1;
		upper.takes_frames = uppers[i].takes_frames;
		assert_int_equal(links_upper_takes(&upper), uppers[i].upper_takes);
		devices_set(&links, "1");
		assert_null(links_find_name(&links, "d2"));
		set(&links, &upper);
		assert_ptr_equal(links_find_name(&links, "d2"), links_find(&links, 2));
		assert_int_equal(links_frames_taken(&links, links_find(&links, 1)),
				 uppers[i].taken);
		assert_false(links_frames_taken(&links, links_find(&links, 2)));
		links_clear(&links);
	}
}

/* A device that went to another namespace still receives its lower device's frames. */
static void test_marks(void **state)
{
	struct link link = make_link(1, ""), upper = make_link(2, "vlan");
	struct links links = { 0 };

	devices_set(&links, "1 owner=u routes_stale");
	set(&links, &link); /* no message clears these */
	assert_true(links_find(&links, 1)->routes_stale);
	assert_string_equal(links_find(&links, 1)->owner, "u");
	links_clear_stale(&links);
	assert_false(links_find(&links, 1)->routes_stale);
	*links_find(&links, 1)->owner = '\0';
	upper.lower = 1;
	links_set_moved(&links, &upper);
	assert_false(links_frames_taken(&links, links_find(&links, 1)));
	assert_true(links_tags_taken(&links, links_find(&links, 1)));
	strcpy(upper.kind, "ipvlan");
	links_set_moved(&links, &upper);
	assert_true(links_frames_taken(&links, links_find(&links, 1)));
	links_clear(&links);
}

/* --- settings --------------------------------------------------------------------------------- */

/*
 * A device's own forwarding=0 does not stop the kernel from forwarding. Its force_forwarding is
 * cleared when all.forwarding is switched off, but not by a message that repeats that it is off.
 */
static void test_netconf(void **state)
{
	struct netconf all = { .ifindex = NETCONFA_IFINDEX_ALL, .has_forwarding = true };
	const struct netconf device = { .ifindex = 4, .has_forwarding = true };
	const struct netconf proxy = { .ifindex = NETCONFA_IFINDEX_ALL,
				       .has_proxy_ndp = true,
				       .proxy_ndp = true };
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
	assert_true(links_set_netconf(&links, &proxy));
	assert_false(links_set_netconf(&links, &proxy));
	assert_true(links.proxy_ndp && !links.forwarding);
	links_clear(&links);
}

/* Whatever of a message decides on a port is a change of its part, and of no other. */
static void test_changes(void **state)
{
	static const char *const changes[] = {
		"1 name=q",
		"1 kind=veth",
		"1 of=vrf",
		"1 down",
		"1 mtu=9000",
		"1 master=2",
		"1 lower=2",
		"1 prog_id=2",
		"1 generic",
		"1 rx_queues=2",
		"1 tx_queues=2",
		"1 type",
		"1 mac=7",
		"1 no_carrier",
		"1 takes_frames",
		"1 external",
		"1 active",
		"1 mii_up",
		"1 l2",
		"1 table=2",
		"1 tpid=2",
		"1 vid=2",
		"1 maps_priority",
		"1 reorders",
		"1 mtu6=2",
		"1 disable_ipv6",
		"1 ignore_linkdown",
		"1 force_forwarding",
		"1 own_addrs_only",
		"1 hop_limit=2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct links links = { 0 }, changed = { 0 };
		const struct device *device;
		bool link, ipv6;

		devices_set(&links, "1");
		devices_set(&changed, changes[i]);
		device = links_find(&changed, 1);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(links_set(&links, &device->link, &link), 0);
			assert_int_equal(links_set_ipv6(&links, &device->ipv6, &ipv6), 0);
			if (link + ipv6 != !again)
				fail_msg("%s: %d, %d", changes[i], link, ipv6);
		}
		links_clear(&links);
		links_clear(&changed);
	}
}

/*
 * A change of the MTU is pending from the device's announcement until IPv6 follows, or all are
 * cleared. IPv6 may have its own MTU.
 */
static void test_mtu_moves(void **state)
{
	static const struct {
		uint32_t mtu, mtu6; /* 0: no such message */
		bool pending;
	} steps[] = {
		{ 1500, 1400, false }, { 1600, 0, true },  { 0, 1400, true }, { 1600, 0, true },
		{ 0, 1600, false },    { 0, 1400, false }, { 1500, 0, true },
	};
	struct links links = { 0 };
	struct link link = make_link(1, "");

	set_ipv6(&links, 2, 0);
	assert_false(links_clear_ipv6(&links, 1));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		link.mtu = steps[i].mtu;
		if (steps[i].mtu)
			set(&links, &link);
		if (steps[i].mtu6)
			set_ipv6(&links, 1, steps[i].mtu6);
		assert_int_equal(links_mtu_pending(&links), steps[i].pending);
	}
	links_mtu_clear(&links);
	assert_false(links_mtu_pending(&links));
	link.mtu = 1000;
	set(&links, &link);
	assert_true(links_mtu_pending(&links));
	/* Not where there is no IPv6. */
	assert_true(links_clear_ipv6(&links, 1));
	assert_false(links_clear_ipv6(&links, 1));
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
		link = make_link(i, "");
		set(&links, &link);
	}
	allocations_left = 0;
	link.ifindex = 17;
	assert_int_equal(links_set(&links, &link, &changed), -ENOMEM);
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), -ENOMEM);
	assert_int_equal(links_set_features(&links, 17, 1, &changed), -ENOMEM);
	link.ifindex = 16;
	set(&links, &link);
	allocations_left = -1;
	assert_int_equal(links.n, 16);
	assert_null(links_find(&links, 17));
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store),	  cmocka_unit_test(test_rows),
		cmocka_unit_test(test_parts),	  cmocka_unit_test(test_uppers),
		cmocka_unit_test(test_marks),	  cmocka_unit_test(test_netconf),
		cmocka_unit_test(test_changes),	  cmocka_unit_test(test_memory),
		cmocka_unit_test(test_mtu_moves),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
