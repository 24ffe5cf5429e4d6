// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switches for all ports, and what the ingress port decides: readiness, operator's switches,
 * ports that are not served, and stale slots.
 */
#include <stdbool.h>

#include "rows.h"

const struct row rows_port[] = {
	{ "maps of another ABI", WITH(SET(meta.abi, SIXLANE_ABI + 1)), PASS(NOT_READY) },
	{ "maps that no daemon has seen", WITH(SET(meta.abi, 0)), PASS(NOT_READY) },
	{ "maps that were never complete", WITH(FLIP_META(READY)), PASS(NOT_READY) },
	{ "maps that are being synchronised again", WITH(FLIP_META(IN_SYNC)) },
	{ "pass all", WITH(FLIP_META(PASS_ALL)), PASS(ALL) },
	{ "pass all, of a port without a slot", .in = DEV_STRANGER, WITH(FLIP_META(PASS_ALL)),
	  PASS(ALL) },
	{ "rules beyond the default", WITH(FLIP_META(RULES)), PUNT(RULES) },
	{ "pass all before the rules", WITH(FLIP_META(PASS_ALL), FLIP_META(RULES)), PASS(ALL) },
	{ "port without a slot", .in = DEV_STRANGER, PASS(UNKNOWN_PORT) },
	{ "port that is not served", WITH(FLIP_PORT(IN, INGRESS)), PASS(UNKNOWN_PORT) },
	{ "pass port", WITH(FLIP_PORT(IN, PASS)), PASS(PORT) },
	{ "port with a master", WITH(FLIP_PORT(IN, UPPER)), PASS(PORT_UPPER) },
	{ "pass port, of another port", WITH(FLIP_PORT(ALT, PASS), FLIP_PORT(ALT, UPPER)) },
	{ "forwarding off", WITH(FLIP_PORT(IN, FORWARDING)), PASS(NO_FORWARDING) },
	{ "forwarding off at the egress does not matter", WITH(FLIP_PORT(OUT, FORWARDING)) },
	{ "forwarding off does not save from a blackhole", .routes = { TO_ENTRY(DROP_BLACKHOLE) },
	  WITH(FLIP_PORT(IN, FORWARDING)), DROP(BLACKHOLE) },
	{ "index names a slot of another interface",
	  WITH(SET(port_index[DEV_IN].slot, DEV_ALT + 1)), PASS(UNKNOWN_PORT), .slot_lost = true },
	{ "index names a slot out of range", WITH(SET(port_index[DEV_IN].slot, SIXLANE_MAX_PORTS)),
	  PASS(UNKNOWN_PORT), .slot_lost = true },
	{ "index names slot 0", WITH(SET(port_index[DEV_IN].slot, 0)), PASS(UNKNOWN_PORT),
	  .slot_lost = true },
	{ "slot was freed", WITH(SET(PORT(IN).ifindex, 0)), PASS(UNKNOWN_PORT), .slot_lost = true },
	{ "ports in the slots tried first", .at_home = true },
	{ "slot tried first is another's",
	  WITH(SET(ports[WORLD_IFINDEX(DEV_IN)].ifindex, WORLD_IFINDEX(DEV_ALT))) },
	{ "port without a slot, others in the slots tried first", .in = DEV_STRANGER,
	  .at_home = true, PASS(UNKNOWN_PORT), .slot_lost = true },
	{ "back out, in the slots tried first", .routes = { TO(NH_BACK) }, .at_home = true,
	  PASS(SAME_PORT) },
	{ "flags beside a port's MAC stay out of frames",
	  WITH(SET(PORT(IN).mac.flags, 0xffff), SET(PORT(OUT).mac.flags, 0xffff)) },
	{ "another port as ingress", .in = DEV_ALT },
	{ "ingress in generic mode", .in = DEV_GENERIC },
};
const size_t rows_port_n = sizeof(rows_port) / sizeof(rows_port[0]);
