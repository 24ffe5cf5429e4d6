/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a ruleset may do to an IPv6 packet.
 *
 * reason: NULL, or GUARD_REASON_LEN bytes such as "table inet fw, chain forward, rule handle 7:
 * drop"; untouched unless the answer is yes. A set with an error answers yes.
 */
#ifndef GUARD_RULESET_QUERY_H
#define GUARD_RULESET_QUERY_H

#include "ruleset.h"

/* Over these a query answers yes: elements and operations looked at, and nested jumps. */
#define GUARD_MAX_STEPS 20000000u
#define GUARD_MAX_DEPTH 256u

/*
 * A packet may meet anything but acceptance at a hook: a drop, a side effect, a policy of drop.
 * in, out: NULL if not known. At _INGRESS and _PREROUTING only in counts, at _OUTPUT and _EGRESS
 * only out. Time is proportional to the rules and elements, whatever their jumps.
 */
bool guard_ruleset_punts(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out, char *reason);

/* A rule that a forwarded packet may reach needs connection tracking. */
bool guard_ruleset_tracks(const struct guard_ruleset *rules, char *reason);

/*
 * Any rule needs it, also where no forwarded packet comes: the kernel then tracks every packet of
 * the namespace, and defragments before that.
 */
bool guard_ruleset_needs_conntrack(const struct guard_ruleset *rules);

/* There is a base chain of type nat at a hook, with or without rules. */
bool guard_ruleset_nat(const struct guard_ruleset *rules, enum guard_hook hook, char *reason);

enum guard_flows {
	GUARD_FLOWS_NONE,
	GUARD_FLOWS_KERNEL, /* only the kernel may forward them */
	GUARD_FLOWS_XDP,
};
/*
 * Which flowtables a packet may belong to that comes in by a device (NULL: any). The kernel
 * forwards its flows past the rules from prerouting on. A set with an error answers _NONE.
 */
enum guard_flows guard_ruleset_flows(const struct guard_ruleset *rules,
				     const struct guard_iface *in, char *reason);

/* No packet meets anything: there is neither a base chain nor a flowtable. */
bool guard_ruleset_is_empty(const struct guard_ruleset *rules);

/* The same as guard_ruleset_punts(), with the number of steps: for tests of the bounds. */
bool ruleset_query_steps(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out,
			 uint32_t *steps);

#endif
