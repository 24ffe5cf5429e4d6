// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the slave for a frame with VLAN tags is chosen on a bond: the hash, and the list that it is
 * over. It is to be the one that the kernel would choose.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>

#include "resolve_ports.h"

enum { BOND = 5, VLAN = 6, INNER = 7, SLAVE = 10 };

#define TO_SLAVES (TO_VLAN | P(SLAVES))
#define TO_KERNEL (TO_VLAN | P(UNSUPPORTED))

/* VLAN devices on a bond of so many slaves, in the order of their ifindex. */
static void add_bond(struct links *links, enum bond_choice choice, uint32_t n_slaves)
{
	ports_set_rules(true);
	ports_add(links, BOND, "bond")->ours = true;
	links_find(links, BOND)->link.bond_choice = choice;
	ports_add_vlan(links, VLAN, BOND, 100);
	ports_add_vlan(links, INNER, VLAN, 200)->link.vlan_protocol = ETH_P_8021AD;
	for (uint32_t i = 0; i < n_slaves; i++)
		ports_add_slave(links, SLAVE + i, BOND);
}

static void test_hash(void **state)
{
	static const struct {
		enum bond_choice choice;
		uint32_t untagged, tagged;
		uint16_t by;
	} bonds[] = {
		{ BOND_CHOICE_UNKNOWN, P(UNSUPPORTED), TO_KERNEL, 0 },
		{ BOND_CHOICE_STATE, 0, TO_VLAN, 0 },
		{ BOND_CHOICE_L2, 0, TO_SLAVES, SIXLANE_SLAVES_BY_L2 },
		{ BOND_CHOICE_L23, 0, TO_SLAVES, SIXLANE_SLAVES_BY_L23 },
		{ BOND_CHOICE_L34, 0, TO_SLAVES, SIXLANE_SLAVES_BY_L34 },
		{ BOND_CHOICE_ENCAP23, 0, TO_KERNEL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bonds); i++) {
		bool chosen = bonds[i].tagged == TO_SLAVES;
		struct links links = { 0 };
		struct sixlane_port port;

		add_bond(&links, bonds[i].choice, 2);
		port = ports_port(&links, BOND);
		assert_int_equal(port.flags, SERVED | bonds[i].untagged);
		assert_int_equal(port.n_slaves, 0);
		port = ports_port(&links, VLAN);
		assert_int_equal(port.flags, bonds[i].tagged);
		assert_int_equal(port.n_slaves, chosen ? 2 : 0);
		assert_int_equal(port.slaves_by, bonds[i].by);
		assert_int_equal(port.slaves_type, chosen ? ETH_P_IPV6 : 0);
		assert_int_equal(port.tx_ifindex, BOND);
		/* Nothing but the inner tag is found. */
		port = ports_port(&links, INNER);
		assert_int_equal(port.flags, bonds[i].tagged);
		assert_int_equal(port.n_slaves, chosen ? 2 : 0);
		assert_int_equal(port.slaves_by, SIXLANE_SLAVES_BY_L2);
		assert_int_equal(port.slaves_type, chosen ? ETH_P_8021AD : 0);
		links_clear(&links);
	}
}

/* Before Linux 5.18 all bonds hash differently. */
/* Before Linux 5.18 all bonds hash differently. */
static void test_old_bonds(void **state)
{
	const struct resolve_port_policy policy = { .features_announced = true,
						    .old_bonds = true,
						    .rules = &ports_program,
						    .addrs = &ports_addrs };
	struct sixlane_port port;
	struct links links = { 0 };

	add_bond(&links, BOND_CHOICE_L34, 1);
	resolve_port(&links, links_find(&links, VLAN), &policy, &port);
	assert_int_equal(port.flags, TO_KERNEL);
	links_clear(&links);
}

/* Whatever the bond goes by: one below would hash what it sees of the frame. */
static void test_slaves_that_are_no_ports(void **state)
{
	static const struct {
		const char *kind;
		bool plain;
	} kinds[] = { { "", true },	 { "veth", true },  { "tun", true },
		      { "bond", false }, { "vlan", false }, { "gretap", false } };
	static const enum bond_choice choices[] = { BOND_CHOICE_STATE, BOND_CHOICE_L34 };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		const char *kind = kinds[i / 2].kind;
		bool plain = kinds[i / 2].plain;
		struct links links = { 0 };

		add_bond(&links, choices[i % 2], 2);
		strcpy(links_find(&links, SLAVE + 1)->link.kind, kind);
		assert_int_equal(!(ports_port(&links, BOND).flags & P(UNSUPPORTED)), plain);
		assert_int_equal(!(ports_port(&links, VLAN).flags & P(UNSUPPORTED)), plain);
		links_find(&links, SLAVE)->link.xdp_mode = XDP_MODE_UNKNOWN;
		assert_true(ports_port(&links, BOND).flags & P(UNSUPPORTED));
		links_find(&links, SLAVE)->link.xdp_mode = XDP_MODE_NATIVE;
		links_find(&links, SLAVE + 1)->link.master = 90;
		assert_int_equal(ports_port(&links, BOND).flags, SERVED);
		links_clear(&links);
	}
}

/* The kernel's own frames have the tag in them, too. */
static void test_header_in_place(void **state)
{
	struct links links = { 0 };

	add_bond(&links, BOND_CHOICE_L34, 1);
	links_find(&links, VLAN)->link.vlan_reorders = false;
	assert_int_equal(ports_port(&links, VLAN).flags, TO_KERNEL);
	assert_int_equal(ports_port(&links, INNER).flags, TO_KERNEL);
	assert_int_equal(ports_port(&links, BOND).flags, SERVED);
	links_clear(&links);
}

static void assert_slaves(const struct links *links, const uint32_t *slaves, uint32_t n)
{
	struct sixlane_port port = ports_port(links, VLAN);

	assert_int_equal(port.flags, TO_SLAVES);
	assert_int_equal(port.n_slaves, n);
	for (uint32_t i = 0; i < SIXLANE_MAX_SLAVES; i++)
		assert_int_equal(port.slaves[i], i < n ? slaves[i] : 0);
}

static void test_order(void **state)
{
	static const uint32_t places[] = { 3, 1, 4, 2 };
	struct links links = { 0 };

	add_bond(&links, BOND_CHOICE_L34, 4);
	assert_slaves(&links, (const uint32_t[]){ 10, 11, 12, 13 }, 4);
	for (uint32_t i = 0; i < 4; i++)
		links_find(&links, SLAVE + i)->slave_place = places[i];
	assert_slaves(&links, (const uint32_t[]){ 11, 13, 10, 12 }, 4);
	links_find(&links, 13)->slave_place = 0;
	assert_int_equal(ports_port(&links, VLAN).flags, TO_KERNEL);
	links_clear(&links);
}

/* bond_slave_can_tx() */
static void test_slaves_not_in_use(void **state)
{
	struct links links = { 0 };

	add_bond(&links, BOND_CHOICE_L34, 6);
	links_find(&links, 10)->link.slave_active = false;
	links_find(&links, 11)->link.slave_link = false;
	links_find(&links, 12)->link.carrier = false;
	links_find(&links, 13)->link.flags = 0;
	links_find(&links, 14)->link.master = 90;
	assert_slaves(&links, (const uint32_t[]){ 15 }, 1);
	links_find(&links, 15)->link.slave_active = false;
	assert_slaves(&links, NULL, 0);
	links_clear(&links);
}

/* What a slave takes is not to hang on which one it is. */
static void test_other_mtu(void **state)
{
	struct links links = { 0 };

	add_bond(&links, BOND_CHOICE_L34, 2);
	links_find(&links, 11)->link.mtu--;
	assert_int_equal(ports_port(&links, VLAN).flags, TO_KERNEL);
	links_clear(&links);
}

static void test_many_slaves(void **state)
{
	struct links links = { 0 };
	uint32_t all[SIXLANE_MAX_SLAVES];

	add_bond(&links, BOND_CHOICE_L34, SIXLANE_MAX_SLAVES + 1);
	assert_int_equal(ports_port(&links, VLAN).flags, TO_KERNEL);
	assert_int_equal(ports_port(&links, VLAN).n_slaves, 0);
	/* One that is not used takes no room. */
	links_find(&links, SLAVE + SIXLANE_MAX_SLAVES)->link.slave_active = false;
	for (uint32_t i = 0; i < SIXLANE_MAX_SLAVES; i++)
		all[i] = SLAVE + i;
	assert_slaves(&links, all, SIXLANE_MAX_SLAVES);
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_old_bonds),
		cmocka_unit_test(test_slaves_that_are_no_ports),
		cmocka_unit_test(test_header_in_place),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_slaves_not_in_use),
		cmocka_unit_test(test_other_mtu),
		cmocka_unit_test(test_many_slaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
