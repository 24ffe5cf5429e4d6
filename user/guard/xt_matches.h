/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extensions of x_tables by name: what matches and targets do beyond answering. Legacy tables name
 * them, and so do nf_tables rules that iptables-nft made. Pure: a table with a reason each.
 */
#ifndef GUARD_XT_MATCHES_H
#define GUARD_XT_MATCHES_H

/* A bit each: some do both. */
enum xt_class {
	XT_PURE = 0,	  /* it looks at the packet; it may match and may not */
	XT_CONNTRACK = 1, /* it asks connection tracking */
	XT_STATEFUL = 2,  /* it does more: it counts, logs, writes to the packet, or may drop it */
	XT_CONNTRACK_STATEFUL = XT_CONNTRACK | XT_STATEFUL,
	XT_ALWAYS = 4, /* it matches every packet */
	XT_BITS = 7,
};

/* Of words, which are cut if they are longer. */
#define XT_WORDS_LEN 96

/*
 * words (may be NULL): for guard_effect(), such as "match limit". A name that is not in the table
 * is XT_STATEFUL.
 */
enum xt_class xt_match_class(const char *name, char *words);

/* The same of a target, which is never XT_PURE. The standard target ("") is none of these. */
enum xt_class xt_target_class(const char *name, char *words);

#endif
