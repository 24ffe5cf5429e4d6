/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard's readers, one a source of rules in the kernel. Each reads everything that its source
 * has, into a result that replaces the one before, and tells when to read anew.
 *
 * All of them: 0, or -errno; on failure outputs are untouched. A kernel that lacks the source is no
 * failure: the result is empty.
 */
#ifndef GUARD_READER_H
#define GUARD_READER_H

#include "policies.h"
#include "queueing.h"
#include "ruleset.h"

/* --- nf_tables.c: NETLINK_NETFILTER, by libnftnl ------------------------------------- */

struct nf_tables;

/* rcvbuf_bytes: of notifications; 0: the system's default. Free with nf_tables_free(). */
int nf_tables_new(size_t rcvbuf_bytes, struct nf_tables **out);
void nf_tables_free(struct nf_tables *tables);
/* To be polled for input; -1: this kernel has no nf_tables. */
int nf_tables_fd(const struct nf_tables *tables);
/*
 * Read the notifications that have come. True: a rule may have changed, or some notifications were
 * lost; read anew. False also for changes that cannot matter: counters, elements of sets that no
 * rule looks devices up in.
 */
bool nf_tables_follow(struct nf_tables *tables);
/*
 * The whole ruleset of families ip6, inet and netdev. -EINTR: it changed meanwhile, again and
 * again. -ETIMEDOUT: it took longer than NF_TABLES_MAX_SECONDS, which the kernel takes for some
 * 200,000 rules of one chain. Free with guard_ruleset_free().
 */
#define NF_TABLES_MAX_SECONDS 30u
int nf_tables_read(struct nf_tables *tables, struct guard_ruleset **out);
/* To be called every few milliseconds of a reading; it may call nf_tables_follow(). NULL: none. */
void nf_tables_set_idle(struct nf_tables *tables, void (*idle)(void *ctx), void *ctx);

/* --- ip6_tables.c: socket options of the legacy tables ------------------------------- */

/* Tables that exist; asks for no other, which would create it. Free as above. */
int ip6_tables_read(struct guard_ruleset **out);

/* --- nf_hooks.c: nfnetlink_hook (Linux 5.14) ----------------------------------------- */

/* Functions at hooks that are no tables of rules. */
struct nf_hooks {
	bool known;	  /* the kernel tells; else nothing below is known */
	bool defragments; /* IPv6 fragments are put together before they are forwarded */
	/* A function that is not known to leave packets alone, by hook; "": none. As people should
	 * read it: "BPF program 12 at forward", "function foo of module bar at postrouting". */
	char unknown[GUARD_N_HOOKS][GUARD_REASON_LEN];
};

/* At prerouting, forward, output and postrouting of IPv6. */
int nf_hooks_read(struct nf_hooks *out);
/* At a device's ingress and egress: sets unknown[GUARD_HOOK_INGRESS] and [GUARD_HOOK_EGRESS]. */
int nf_hooks_read_device(uint32_t ifindex, const char *name, struct nf_hooks *out);
/*
 * Where hooks are not known: add the BPF programs that links hold at them (Linux 6.4), with
 * CAP_SYS_ADMIN. A link does not tell its network namespace, so that those of all count.
 */
int nf_hooks_read_bpf(struct nf_hooks *out);
/*
 * Where hooks are not known: whether this network namespace has tracked connections, and therefore
 * puts fragments together. It may do so without one, and it may have some of IPv4 only: rules that
 * ask connection tracking, guard_ruleset_tracks(), are to be asked beside this.
 */
int nf_hooks_guess_defragments(bool *out);

/* --- xfrm.c: NETLINK_XFRM ------------------------------------------------------------ */

struct xfrm;

int xfrm_new(struct xfrm **out);
void xfrm_free(struct xfrm *xfrm);
int xfrm_fd(const struct xfrm *xfrm); /* -1: this kernel has no xfrm */
/* As nf_tables_follow(). */
bool xfrm_follow(struct xfrm *xfrm);
/* Free with policies_free(). */
int xfrm_read(struct xfrm *xfrm, struct policies **out);

/* --- tc.c: NETLINK_ROUTE and BPF_PROG_QUERY ------------------------------------------ */

struct tc;

int tc_new(size_t rcvbuf_bytes, struct tc **out);
void tc_free(struct tc *tc);
int tc_fd(const struct tc *tc);
/* A device that comes up may get its qdiscs without a notification: then read anew as well. */
bool tc_follow(struct tc *tc);
/* Qdiscs and filters of all devices. Free with queueing_free(). */
int tc_read(struct tc *tc, struct queueing **out);
/* tcx programs, which come and go without a notification. ingress, egress: GUARD_REASON_LEN bytes;
 * "": none. */
int tc_read_tcx(uint32_t ifindex, char *ingress, char *egress);

/* --- uppers.c: sysfs of this network namespace --------------------------------------- */

/*
 * fn for each device above one, by the kernel's own links (upper_*). name: of the upper device, as
 * it is called in this namespace. sysfs is mounted for this process alone, so that it is that of
 * the namespace whoever mounted /sys.
 */
struct uppers;
int uppers_new(struct uppers **out);
void uppers_free(struct uppers *uppers);
int uppers_each(const struct uppers *uppers, const char *device,
		void (*fn)(void *ctx, const char *name), void *ctx);

#endif
