/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Firewalls of the router that is measured, by nft(8): rules that accept all, and a stateful one
 * with a flowtable.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_FORWARD_RULES_H
#define BENCH_FORWARD_RULES_H

#include "../../maps/maps.h"
#include "forward_net.h"

enum forward_rules {
	FORWARD_NO_RULES,
	FORWARD_ACCEPTING, /* of the shape of Docker's: jumps, conditions on devices, counters */
	FORWARD_FLOWTABLE,
	FORWARD_N_RULES,
};

/* In the place of the ruleset of the caller's network namespace. Waits, 10 s at most, until the
 * maps serve the port in this slot by them. */
int forward_rules_load(enum forward_rules rules, const struct maps *maps, uint32_t slot);

/* Host b's reply from this address to a packet of source port FLOOD_SRC_PORT_FIRST, which
 * establishes the flow. */
int forward_rules_answer(const struct forward_net *net, const union sixlane_addr *address);

#endif
