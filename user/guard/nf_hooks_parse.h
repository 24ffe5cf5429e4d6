/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What nfnetlink_hook says of the functions at a hook, and which of them leave packets alone. Pure.
 */
#ifndef GUARD_NF_HOOKS_PARSE_H
#define GUARD_NF_HOOKS_PARSE_H

#include <libmnl/libmnl.h>

#include "nf_hooks.h"

/* What the judgement of functions needs to know beside their names. */
struct nf_hooks_facts {
	bool selinux_checks; /* SELinux checks packets even if none is labelled */
};

/*
 * Add one function, of a message, at a hook. The first unknown one is kept for each hook. 0 or
 * -EBADMSG, which leaves out untouched.
 */
int nf_hooks_parse(const struct nlmsghdr *nlh, enum guard_hook hook,
		   const struct nf_hooks_facts *facts, struct nf_hooks *out);

/* "BPF program 12 at forward". */
void nf_hooks_add_bpf(struct nf_hooks *hooks, enum guard_hook hook, uint32_t program);

#endif
