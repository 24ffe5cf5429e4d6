/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Terms that all parts of the guard share. To punt a packet is to leave it to the kernel, by
 * XDP_PASS. A reason is a text for people that says why packets are punted; "" stands for none.
 */
#ifndef GUARD_TERMS_H
#define GUARD_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may punt packets. In the order of guard_cause_names. */
enum guard_cause { GUARD_NETFILTER, GUARD_XFRM, GUARD_TC, GUARD_N_CAUSES };

/* Netfilter's hooks. _INGRESS and _EGRESS are those of a device, of family netdev or inet. */
enum guard_hook {
	GUARD_HOOK_INGRESS,
	GUARD_HOOK_PREROUTING,
	GUARD_HOOK_FORWARD,
	GUARD_HOOK_OUTPUT,
	GUARD_HOOK_POSTROUTING,
	GUARD_HOOK_EGRESS,
	GUARD_N_HOOKS,
};

/* A device as rules match it. */
struct guard_iface {
	uint32_t ifindex;
	uint16_t type;	  /* ARPHRD_* */
	const char *name; /* at most IFNAMSIZ - 1 characters */
	const char *kind; /* IFLA_INFO_KIND, or "" */
};

/* Bytes of a reason, with its NUL. Longer ones are cut. */
#define GUARD_REASON_LEN 256

#endif
