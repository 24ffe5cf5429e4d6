/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Side effects of x_tables extensions, by name. Legacy tables use them, and so do nf_tables rules
 * that iptables-nft made. Pure.
 */
#ifndef GUARD_XT_MATCHES_H
#define GUARD_XT_MATCHES_H

#include "ruleset.h"

/* Bits, because some do several things. */
enum xt_class {
	XT_PURE = 0,	  /* it only looks at the packet, and may match or not */
	XT_CONNTRACK = 1, /* it needs connection tracking */
	XT_STATEFUL = 2,  /* it counts, logs, writes to the packet, or may drop it */
	XT_CONNTRACK_STATEFUL = XT_CONNTRACK | XT_STATEFUL,
	XT_ALWAYS = 4, /* it matches every packet */
	XT_BITS = 7,
};

/* Bytes of a text; longer ones are cut. */
#define XT_TEXT_LEN 96

/*
 * text: NULL, or XT_TEXT_LEN bytes that become a text for guard_effect(), such as "match limit". An
 * unknown name is XT_STATEFUL.
 */
enum xt_class xt_match_class(const char *name, char *text);

/* The same for a target, which is never XT_PURE. Not for the standard target (""). */
enum xt_class xt_target_class(const char *name, char *text);

/* Adds a match to the current rule, and its side effect only if with_effect is true. */
void xt_add_match(struct guard_ruleset *rules, const char *name, bool with_effect);
void xt_add_target(struct guard_ruleset *rules, const char *name);

#endif
