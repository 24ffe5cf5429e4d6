/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `ip -6 rule`, and what the datapath is to do about it (fib_rules_lookup, fib6_rule_action):
 * the list as struct sixlane_rule, and which ports need not walk it. Pure.
 */
#ifndef RIB_RULES_H
#define RIB_RULES_H

#include <stddef.h>

#include "links.h"

struct rules {
	struct rule *list; /* in the kernel's order: by priority, then as they were added */
	size_t n, capacity;
};

void rules_clear(struct rules *rules);
/* Append one of a dump, in the dump's order. 0 or -ENOMEM. */
int rules_add(struct rules *rules, const struct rule *rule);

/* A list for the datapath. */
struct rules_program {
	bool expressible; /* false: too many; every packet is to be punted */
	/*
	 * Local is asked by an unconditional rule before any that asks main, and none that asks
	 * main has a suppressor: so main may stand in the trie with local laid over it (see
	 * rules.c), and ports whose rules come to "local, then main" need one lookup.
	 */
	bool local_first;
	/*
	 * And the list is "local, then main" and nothing else: local need not stand in the trie by
	 * itself, which makes every lookup shorter. Ports of VRFs, which walk this list too, find
	 * it in main.
	 */
	bool local_within;
	uint32_t n;
	struct sixlane_rule rules[SIXLANE_MAX_RULES];
};

/*
 * Names of devices (iif) become indices of links as they are now: compile again when links come,
 * go, or are renamed. A rule of a device that is not there applies to nothing. *out is set to the
 * last byte, so that programs can be compared with memcmp().
 */
void rules_compile(const struct rules *rules, const struct links *links, struct rules_program *out);

/*
 * Whether packets that rules see come in by iif must walk the program (vrf: it is a VRF, or a port
 * of one: they must in any case); false: for them it comes to "local, then main", and
 * local_first holds.
 */
bool rules_program_walk(const struct rules_program *program, uint32_t iif, bool vrf);

#endif
