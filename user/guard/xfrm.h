/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads IPsec policies over NETLINK_XFRM. Which ones matter is left to xfrm_parse.h. */
#ifndef GUARD_XFRM_H
#define GUARD_XFRM_H

#include "policies.h"

struct xfrm;

int xfrm_new(struct xfrm **out); /* 0 or -errno */
void xfrm_free(struct xfrm *xfrm);
int xfrm_fd(const struct xfrm *xfrm); /* to be polled for input; -1: this kernel has no xfrm */
/* Read the notifications. True: a policy or a default may have changed. */
bool xfrm_read_events(struct xfrm *xfrm);
/* 0 (free *out with policies_free(); empty if the kernel has no xfrm) or -errno. */
int xfrm_read(struct xfrm *xfrm, struct policies **out);

#endif
