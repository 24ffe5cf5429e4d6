/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads nf_tables over netlink: dumps of one generation of the ruleset, and notifications. What
 * messages mean is left to nf_tables_parse.h.
 */
#ifndef GUARD_NF_TABLES_H
#define GUARD_NF_TABLES_H

#include "ruleset.h"

struct nf_tables;

/* rcvbuf_bytes: of notifications; 0 for the system's default. 0 or -errno. */
int nf_tables_new(size_t rcvbuf_bytes, struct nf_tables **out);
void nf_tables_free(struct nf_tables *tables);
/* To be polled for input; -1: this kernel has no nf_tables. */
int nf_tables_fd(const struct nf_tables *tables);
/*
 * Read the notifications. True: a rule may have changed, or some were lost. False also for changes
 * that cannot matter: counters, elements of sets in which no rule looks up devices.
 */
bool nf_tables_read_events(struct nf_tables *tables);
/*
 * The ruleset of families ip6, inet and netdev; empty if the kernel has no nf_tables. 0 (free *out
 * with guard_ruleset_free()) or -errno. -EINTR: it changed again and again. -ETIMEDOUT: after
 * NF_TABLES_MAX_SECONDS, which the kernel takes for some 200,000 rules of one chain.
 */
#define NF_TABLES_MAX_SECONDS 30u
int nf_tables_read(struct nf_tables *tables, struct guard_ruleset **out);
/* idle is called every few milliseconds of a reading; it may call nf_tables_read_events(). */
void nf_tables_set_idle(struct nf_tables *tables, void (*idle)(void *ctx), void *ctx);

#endif
