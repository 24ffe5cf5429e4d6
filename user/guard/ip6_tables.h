/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads legacy ip6tables by socket options.
 *
 * The blob of a table is a sequence of entries:
 * - a base chain, from its hook entry to its underflow, which is its policy;
 * - a user chain, from an entry with target ERROR, which names it, to an unconditional verdict;
 * - an ERROR entry at the end.
 * The target of a jump is the offset behind an ERROR entry.
 */
#ifndef GUARD_IP6_TABLES_H
#define GUARD_IP6_TABLES_H

#include <net/if.h> /* before <linux/if.h>, which redefines it otherwise */
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "ruleset.h"

/*
 * All tables that exist; empty if the kernel has none. A request for any other would create it. 0
 * (free *out with guard_ruleset_free()) or -errno.
 */
int ip6_tables_read(struct guard_ruleset **out);

/*
 * Adds the table to rules; pure. The INPUT chain is no base chain, because forwarded packets do not
 * come there. Its rules may still need connection tracking, which then sees all packets. 0,
 * -ENOMEM, or -EBADMSG: the blob contradicts itself or has another form. On failure rules must not
 * be used.
 */
int ip6_tables_parse(struct guard_ruleset *rules, const struct ip6t_getinfo *info,
		     const void *entries, size_t size);

#endif
