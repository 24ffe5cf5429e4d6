// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath knows of ports above or below others: VLAN devices, members of a VRF, slaves of
 * a bond; and how a bond selects the slave for a tagged frame, as the kernel does.
 */
#include <stdio.h>

#include "resolve_ports.h"

#define PORT(what_, devices_, ifindex_, lost_, gained_, ...)                            \
	{                                                                               \
		.what = what_, .devices = devices_, .ifindex = ifindex_, .lost = lost_, \
		.gained = gained_, __VA_ARGS__                                          \
	}
#define TAGS(text) .rest = text
#define NO_BOTTOM (P(INGRESS) | P(UP) | P(XMIT))
#define TO_KERNEL (P(TAGGED) | P(UNSUPPORTED))

#define ON_5 "lower 5 tx 5 tags 8100:100"
#define VLAN "; 6 kind=vlan lower=5 vid=100 "
#define VLAN_ROW(what, lower, lost, gained) \
	PORT(what, lower VLAN, 6, lost, P(TAGGED) | (gained), TAGS(ON_5))

#define INNER "lower 6 tx 5 tags 88a8:100 8100:200"
#define STACK "5 kind=bond ours" VLAN "tpid=0x88a8; 7 kind=vlan lower=6 vid=200 "

#define TWINS "lower 6 tx 5 tags 8100:100 8100:100"
#define MTU(mtu, what, devices)                                                                 \
	PORT(what, "5" VLAN "; 7 kind=vlan lower=6 vid=100 " devices, 7, P(INGRESS), P(TAGGED), \
	     TAGS("mtu " #mtu " " TWINS))

#define MEMBER "5 ours master=9 of=vrf"
#define SLAVE "6 slave=5 mac=170 "
#define BOND "; 5 kind=bond mac=170 ours "

static const struct port_row rows[] = {
	/* what is said of the NIC holds for a VLAN device */
	VLAN_ROW("on a NIC", "5 ours", 0, 0),
	VLAN_ROW("… generic", "5 ours generic", 0, P(GENERIC)),
	VLAN_ROW("… that strips tags", "5 ours native strips_tags", 0, P(PASS)),
	VLAN_ROW("… with open checksums", "5 ours open_checksums", 0, P(OPEN_CHECKSUMS)),
	VLAN_ROW("… that takes no frames", "5 ours features=0", P(XMIT), 0),
	VLAN_ROW("… without a carrier, not served", "5 no_carrier", P(UP) | P(INGRESS), 0),
	VLAN_ROW("… whose other frames a master takes", "5 ours master=90", 0, 0),
	VLAN_ROW("on a bridge", "5 ours kind=bridge", 0, P(BRIDGE)),
	VLAN_ROW("on a macvlan", "5 ours kind=macvlan", 0, P(MACVLAN)),
	VLAN_ROW("on a gretap", "5 ours kind=gretap", 0, P(TUNNEL)),
	VLAN_ROW("on a team", "5 ours kind=team", 0, P(UNSUPPORTED)),
	VLAN_ROW("on a veth", "5 ours kind=veth", 0, P(OPEN_CHECKSUMS)),
	VLAN_ROW("on a bond", "5 ours kind=bond", 0, 0),
	VLAN_ROW("on a vxlan", "5 ours kind=vxlan", 0, P(TUNNEL)),
	/* rules see the tunnel of what came in by it, and XDP does not */
	VLAN_ROW("… that is external", "5 ours kind=vxlan external", P(INGRESS), P(TUNNEL)),
	PORT("an external vxlan", "5 ours kind=vxlan external", 5, P(INGRESS), P(TUNNEL)),
	PORT("priorities mapped", "5 ours" VLAN "maps_priority", 6, 0, TO_KERNEL, TAGS(ON_5)),
	PORT("a ring", "5 kind=vlan lower=6" VLAN, 5, NO_BOTTOM, P(UNSUPPORTED)),

	/* a frame of two tags and 1500 bytes is dropped by a device of MTU 1500 */
	PORT("two tags", STACK, 7, 0, P(TAGGED), TAGS("mtu 1496 " INNER)),
	PORT("the outer one", STACK, 6, 0, P(TAGGED), TAGS("lower 5 tx 5 tags 88a8:100")),
	PORT("the outer one is to pass", STACK "; 6 pass", 7, 0, P(TAGGED) | P(PASS),
	     TAGS("mtu 1496 " INNER)),
	PORT("… is down", STACK "; 6 down", 7, P(UP), P(TAGGED), TAGS("mtu 1496 " INNER)),
	PORT("… maps priorities", STACK "; 6 maps_priority", 7, 0, TO_KERNEL,
	     TAGS("mtu 1496 " INNER)),
	PORT("three tags", STACK "; 8 kind=vlan lower=7 vid=3", 8, NO_BOTTOM, P(UNSUPPORTED)),

	MTU(1400, "IPv6 MTU", "mtu6=1400"),
	MTU(1496, "large IPv6 MTU", "mtu6=9000"),
	MTU(1300, "MTU", "mtu6=9000 mtu=1300"),
	MTU(1280, "small MTU", "mtu=1000"),
	MTU(1276, "the lowest device's MTU", "; 5 mtu=1280"),
	MTU(0, "too small for tags", "; 5 mtu=2"),
	PORT("too small", "5 ours mtu=2", 5, 0, 0, TAGS("mtu 1280")),

	PORT("in a VRF", MEMBER "; 9 kind=vrf table=700", 5, 0, P(VRF) | P(RULES),
	     TAGS("iif 9 table 700")),
	PORT("the VRF", MEMBER "; 9 kind=vrf table=700", 9, P(INGRESS), P(UNSUPPORTED)),
	PORT("in a VRF that is down", MEMBER "; 9 kind=vrf table=700 down", 5, 0, P(UPPER)),
	PORT("… of an unknown table", MEMBER "; 9 kind=vrf", 5, 0, P(UPPER)),
	PORT("in an unknown VRF", MEMBER, 5, 0, P(UPPER)),

	PORT("a slave that has the program alone", SLAVE "ours; 5 kind=bond mac=170", 6, 0,
	     P(UPPER)),
	PORT("a slave", SLAVE BOND, 6, 0, P(SLAVE), TAGS("lower 5")),
	PORT("its bond", SLAVE BOND, 5, 0, 0),
	PORT("… inactive", SLAVE "inactive" BOND, 6, 0, P(BACKUP)),
	PORT("… of another MAC", SLAVE "mac=171" BOND, 6, 0, P(UPPER)),
	PORT("… to pass", SLAVE "pass" BOND, 6, 0, P(PASS)),
	PORT("… below another device", SLAVE BOND "; 7 kind=macsec lower=6", 6, 0, P(UPPER)),
	/* its tagged frames never reach the bond, wherever the device that takes them is */
	PORT("… below a VLAN device", SLAVE BOND "; 8 kind=vlan lower=6 vid=10", 6, 0, P(UPPER)),
	PORT("that VLAN device", SLAVE BOND "; 8 kind=vlan lower=6 vid=10", 8, P(INGRESS),
	     P(TAGGED), TAGS("lower 6 tx 6 tags 8100:10")),
	PORT("… which is elsewhere", SLAVE "tags_elsewhere" BOND, 6, 0, P(UPPER)),
	PORT("a VLAN device on the bond", SLAVE BOND "; 9 kind=vlan lower=5 vid=10", 6, 0, P(SLAVE),
	     TAGS("lower 5")),
	PORT("… of an unknown bond", SLAVE, 6, P(INGRESS), P(UPPER)),
};

static void test_rows(void **state)
{
	ports_set_rules(true);
	ports_check(rows, ARRAY_SIZE(rows));
}

/* --- slaves by a hash ------------------------------------------------------------------------- */

#define HASHED(hash)                                                                            \
	"5 kind=bond ours " hash VLAN "; 7 kind=vlan lower=6 vid=200 tpid=0x88a8; 10 slave=5; " \
	"11 slave=5; "
#define IN_100 "mtu 1496 lower 6 tx 5 tags 8100:100 88a8:200"
#define CHOSEN (P(TAGGED) | P(SLAVES))
/* The bond itself, a VLAN device on it, and one in that, whose tag alone is found. */
#define BOND_ROWS(hash, bond, tagged, by_outer, by_inner)                            \
	PORT("bond " hash, HASHED(hash), 5, 0, bond),                                \
		PORT("vlan " hash, HASHED(hash), 6, 0, tagged, TAGS(ON_5 by_outer)), \
		PORT("in a vlan " hash, HASHED(hash), 7, 0, tagged, TAGS(IN_100 by_inner))
#define VLAN_OF(what, devices, gained, slaves) \
	PORT(what, HASHED("l34") devices, 6, 0, gained, TAGS(ON_5 slaves))

static const struct port_row bonds[] = {
	BOND_ROWS("unknown_hash", P(UNSUPPORTED), TO_KERNEL, "", ""),
	BOND_ROWS("by_state", 0, P(TAGGED), "", ""),
	BOND_ROWS("l2", 0, CHOSEN, " slaves 0 86dd 10 11", " slaves 0 88a8 10 11"),
	BOND_ROWS("l23", 0, CHOSEN, " slaves 2 86dd 10 11", " slaves 0 88a8 10 11"),
	BOND_ROWS("l34", 0, CHOSEN, " slaves 1 86dd 10 11", " slaves 0 88a8 10 11"),
	BOND_ROWS("encap23", 0, TO_KERNEL, "", ""),
	PORT("before Linux 5.18", HASHED("l34"), 6, 0, TO_KERNEL, TAGS(ON_5),
	     .kernel = KERNEL_OLD_BONDS),
	/* the kernel's own frames have the tag in them, too */
	VLAN_OF("tag in the frame", "6 in_frame", TO_KERNEL, ""),
	PORT("… of the outer device", HASHED("l34") "6 in_frame", 7, 0, TO_KERNEL, TAGS(IN_100)),
	PORT("… and the bond", HASHED("l34") "6 in_frame", 5, 0, 0),
	VLAN_OF("order", "10 place=3; 11 place=1; 12 slave=5 place=4; 13 slave=5 place=2", CHOSEN,
		" slaves 1 86dd 11 13 10 12"),
	VLAN_OF("unknown order", "11 place=0", TO_KERNEL, ""),
	/* bond_slave_can_tx() */
	VLAN_OF("not in use",
		"10 inactive; 11 mii_down; 12 slave=5 no_carrier; 13 slave=5 down; 14 slave=5; "
		"15 slave=5 master=90",
		CHOSEN, " slaves 1 86dd 14"),
	VLAN_OF("none in use", "10 inactive; 11 inactive", CHOSEN, " slaves 1 86dd"),
	/* what a slave takes must not depend on which one it is */
	VLAN_OF("another MTU", "11 mtu=1499", TO_KERNEL, ""),
	PORT("an unknown program", HASHED("l34") "10 unknown_program", 5, 0, P(UNSUPPORTED)),
	PORT("an odd device of another bond", HASHED("l34") "11 kind=gretap master=90", 5, 0, 0),
};

static void test_bonds(void **state)
{
	ports_set_rules(true);
	ports_check(bonds, ARRAY_SIZE(bonds));
}

/* However the bond selects: a slave must not change frames, nor hash again. */
static void test_kinds_of_slaves(void **state)
{
	static const struct {
		const char *kind;
		bool plain;
	} kinds[] = { { "", true },	 { "veth", true },  { "tun", true },
		      { "bond", false }, { "vlan", false }, { "gretap", false } };
	static const char *const hashes[] = { "by_state", "l34" };

	ports_set_rules(true);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		struct links links = { .forwarding = true };
		char text[256];

		snprintf(text, sizeof(text), HASHED("%s") "11 kind=%s", hashes[i % 2],
			 kinds[i / 2].kind);
		devices_set(&links, text);
		for (uint32_t ifindex = 5; ifindex <= 6; ifindex++)
			assert_int_equal(
				!(ports_port(&links, ifindex, KERNEL_NEW).flags & P(UNSUPPORTED)),
				kinds[i / 2].plain);
		links_clear(&links);
	}
}

static void test_many_slaves(void **state)
{
	struct links links = { .forwarding = true };
	struct sixlane_port port;
	char text[32];

	ports_set_rules(true);
	devices_set(&links, "5 kind=bond ours l34" VLAN);
	for (unsigned int i = 0; i <= SIXLANE_MAX_SLAVES; i++) {
		snprintf(text, sizeof(text), "%u slave=5", 10 + i);
		devices_set(&links, text);
	}
	port = ports_port(&links, 6, KERNEL_NEW);
	assert_int_equal(port.flags, SERVED | TO_KERNEL);
	assert_int_equal(port.n_slaves, 0);
	/* An inactive slave takes no room. */
	devices_set(&links, strcat(text, " inactive"));
	port = ports_port(&links, 6, KERNEL_NEW);
	assert_int_equal(port.flags, SERVED | CHOSEN);
	assert_int_equal(port.n_slaves, SIXLANE_MAX_SLAVES);
	for (uint32_t i = 0; i < SIXLANE_MAX_SLAVES; i++)
		assert_int_equal(port.slaves[i], 10 + i);
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bonds),
		cmocka_unit_test(test_kinds_of_slaves),
		cmocka_unit_test(test_many_slaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
