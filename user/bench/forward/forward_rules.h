/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Firewalls of the router that is measured, by nft(8): rules that accept all, and one whose flows a
 * flowtable has.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_FORWARD_RULES_H
#define BENCH_FORWARD_RULES_H

#include "../../fib/maps.h"
#include "forward_net.h"

enum forward_rules {
	FORWARD_NO_RULES,
	FORWARD_ACCEPTING, /* of the shape of Docker's: jumps, conditions on devices, counters */
	FORWARD_FLOWTABLE,
	FORWARD_N_RULES,
};

/* In the place of what is there. Until the port in this slot is served as they want. */
int forward_rules_load(enum forward_rules rules, const struct maps *maps, uint32_t slot);

/* Host b answers the first packet of a flow that this address got (FLOOD_SRC_PORT_FIRST). */
int forward_rules_answer(const struct forward_net *net, const union sixlane_addr *address);

#endif
