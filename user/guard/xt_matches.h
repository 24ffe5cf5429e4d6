/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The matches of xtables, which iptables of either kind uses: what it means to ask one.
 */
#ifndef GUARD_XT_MATCHES_H
#define GUARD_XT_MATCHES_H

enum xt_class {
	XT_UNKNOWN,
	XT_PURE,      /* looks at the packet, the devices or the clock, and leaves no trace */
	XT_CONNTRACK, /* the same of the packet's connection */
	XT_STATEFUL,  /* counts: to see fewer packets changes what it says of others */
};

enum xt_class xt_match_class(const char *name);

#endif
