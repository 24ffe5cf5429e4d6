/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One legacy table as its socket options hand it out, into the model of rules. Pure.
 *
 * The blob is a row of entries: a base chain from its hook entry to its underflow, which is its
 * policy; a user chain from an entry with target ERROR, which names it, to an unconditional
 * verdict; an ERROR entry at the end. Jumps name the offset behind an ERROR entry.
 */
#ifndef GUARD_IP6_TABLES_PARSE_H
#define GUARD_IP6_TABLES_PARSE_H

/* Before the kernel's headers, which then leave out what it has. */
#include <net/if.h> /* before <linux/if.h>, which then leaves out what is there */
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "ruleset.h"

/*
 * Add the table to the rules. The chain of input is no base chain, since forwarded packets do not
 * come there; its rules may still ask connection tracking, which then sees all packets.
 * 0; -EBADMSG: the blob contradicts itself, or has another shape; -ENOMEM. On failure part of the
 * table is in rules, which are then not to be used.
 */
int ip6_tables_parse(struct guard_ruleset *rules, const struct ip6t_getinfo *info,
		     const void *entries, size_t size);

#endif
