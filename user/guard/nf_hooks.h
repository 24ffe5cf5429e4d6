/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions at netfilter's hooks that are no tables of rules, by nfnetlink_hook (Linux 5.14).
 * Functions here return 0, or -errno and leave *out as it was.
 */
#ifndef GUARD_NF_HOOKS_H
#define GUARD_NF_HOOKS_H

#include <libmnl/libmnl.h>

#include "terms.h"

struct nf_hooks {
	bool known;	  /* the kernel lists its hooks; otherwise nothing else is known */
	bool defragments; /* IPv6 fragments are reassembled before they are forwarded */
	/* For each hook, a function that may touch packets: "BPF program 12 at forward", "function
	 * foo of module bar at postrouting"; "" for none. */
	char unknown[GUARD_N_HOOKS][GUARD_REASON_LEN];
};

/* The hooks prerouting, forward, output and postrouting of IPv6. */
int nf_hooks_read(struct nf_hooks *out);
/* The hooks _INGRESS and _EGRESS of a device. -ENODEV: it is gone. */
int nf_hooks_read_device(uint32_t ifindex, const char *name, struct nf_hooks *out);
/*
 * If hooks are not known: add BPF programs that links attach (Linux 6.4); needs CAP_SYS_ADMIN. A
 * link does not tell its network namespace, so that those of all namespaces count.
 */
int nf_hooks_read_bpf(struct nf_hooks *out);
/*
 * If hooks are not known: whether this namespace has tracked connections, and so defragments. That
 * is a guess: it may defragment without one, and those may be of IPv4. Ask
 * guard_ruleset_needs_conntrack() as well.
 */
int nf_hooks_guess_defragments(bool *out);

/*
 * Adds the function of a message of nfnetlink_hook to a hook, of which the first unknown one is
 * kept. selinux_checks: SELinux checks packets even if none is labelled. 0, or -EBADMSG with out as
 * it was.
 */
int nf_hooks_parse(const struct nlmsghdr *nlh, enum guard_hook hook, bool selinux_checks,
		   struct nf_hooks *out);

/* Adds "BPF program 12 at forward". */
void nf_hooks_add_bpf(struct nf_hooks *hooks, enum guard_hook hook, uint32_t program);

#endif
