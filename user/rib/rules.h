/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `ip -6 rule` (fib_rules_lookup, fib6_rule_action), compiled for the datapath as a list of struct
 * sixlane_rule, and which ports need not evaluate it. Pure.
 */
#ifndef RIB_RULES_H
#define RIB_RULES_H

#include <stddef.h>

#include "links.h"
#include "prefix.h"

struct port_range {
	uint16_t low, high;
};

/* One RTM_NEWRULE of AF_INET6. */
struct rule {
	uint32_t priority;
	uint32_t table;
	uint32_t target;	/* FRA_GOTO: priority of the rule to go on at */
	int32_t suppress_len;	/* FRA_SUPPRESS_PREFIXLEN, -1: none */
	struct prefix src, dst; /* len 0: any */
	char iif[IFNAMSIZ];	/* "": any */
	struct port_range sport, dport;
	uint8_t action;		     /* FR_ACT_* */
	uint8_t tclass, tclass_mask; /* traffic class; mask 0: any */
	uint8_t ip_proto;
	bool has_ip_proto, has_sport, has_dport;
	bool invert; /* FIB_RULE_INVERT */
	bool l3mdev;
	bool never;   /* a selector matches no forwarded packet: oif, tun_id, uids without root */
	bool unknown; /* a selector or suppressor that the packet on the wire does not show: fwmark,
			 suppress_ifgroup, flow label, or an attribute unknown to the parser */
	uint16_t unknown_attr; /* 1 + its type, for the log; 0: none */
};

struct rules {
	struct rule *list; /* in the kernel's order: by priority, then by time of addition */
	size_t n, capacity;
};

void rules_clear(struct rules *rules);
/* Append one of a dump, in the dump's order. 0 or -ENOMEM. */
int rules_add(struct rules *rules, const struct rule *rule);

/* A list for the datapath. */
struct rules_program {
	bool expressible; /* false: too many; every packet is to be punted */
	/*
	 * An unconditional rule looks up local before any rule looks up main, and no rule for main
	 * has a suppressor. So main can be stored with local laid over it (see rules.c), and ports
	 * whose rules mean "local, then main" need one lookup.
	 */
	bool local_first;
	/*
	 * The list is exactly "local, then main". So local needs no entries of its own, which makes
	 * lookups shorter. Ports of VRFs, which evaluate this list, find local in main.
	 */
	bool local_within;
	uint32_t n;
	struct sixlane_rule rules[SIXLANE_MAX_RULES];
};

/*
 * Device names (iif) become ifindices, so that the list must be compiled again when a link is
 * added, deleted or renamed. A rule for a missing device matches nothing. Sets every byte of *out,
 * so that programs can be compared with memcmp().
 */
void rules_compile(const struct rules *rules, const struct links *links, struct rules_program *out);

/*
 * Packets with this iif must evaluate the program. False: for them it means "local, then main", and
 * local_first is set. vrf: iif is a VRF or a port of one, for which it is always true.
 */
bool rules_program_walk(const struct rules_program *program, uint32_t iif, bool vrf);

#endif
