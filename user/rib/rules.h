/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `ip -6 rule`, and what the datapath is to do about it (fib_rules_lookup, fib6_rule_action):
 * the list as struct sixlane_rule, and which ports need not walk it. Pure.
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
