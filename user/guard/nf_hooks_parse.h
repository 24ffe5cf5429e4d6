/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of nfnetlink_hook: the functions at a hook, and which of them leave packets alone. Pure.
 */
#ifndef GUARD_NF_HOOKS_PARSE_H
#define GUARD_NF_HOOKS_PARSE_H

#include <libmnl/libmnl.h>

#include "nf_hooks.h"

struct nf_hooks_context {
	bool selinux_checks; /* SELinux checks packets even if none is labelled */
};

/*
 * Adds the function of a message to a hook, of which the first unknown one is kept. 0, or -EBADMSG
 * with out as it was.
 */
int nf_hooks_parse(const struct nlmsghdr *nlh, enum guard_hook hook,
		   const struct nf_hooks_context *context, struct nf_hooks *out);

/* Adds "BPF program 12 at forward". */
void nf_hooks_add_bpf(struct nf_hooks *hooks, enum guard_hook hook, uint32_t program);

#endif
