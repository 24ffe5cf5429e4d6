/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads nf_tables over netlink: dumps of one generation of the ruleset, and notifications. What
 * messages mean is left to nf_tables_parse.h.
 */
#ifndef GUARD_NF_TABLES_H
#define GUARD_NF_TABLES_H

#include "nf_tables_parse.h"
#include "notifications.h"

/*
 * Their context is the parser of nf_tables_read(); with NULL every message is a change. No change
 * are counters, and elements of sets in which no rule looks up devices.
 */
extern const struct notifications nf_tables_notifications;
/*
 * The ruleset of families ip6, inet and netdev; empty if the kernel has no nf_tables.
 * idle(idle_ctx), which may be NULL, is called every few milliseconds. 0 or -errno, which leaves
 * *parser and *out. -EINTR: it changed again and again. -ETIMEDOUT: after NF_TABLES_MAX_SECONDS,
 * which the kernel takes for some 200,000 rules of one chain.
 *
 * *out is to be freed with guard_ruleset_free(). *parser: NULL, or that of the last reading, which
 * is replaced; to be freed with nf_parser_free().
 */
#define NF_TABLES_MAX_SECONDS 30u
int nf_tables_read(void (*idle)(void *ctx), void *idle_ctx, struct nf_parser **parser,
		   struct guard_ruleset **out);

#endif
