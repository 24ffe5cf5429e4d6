/* SPDX-License-Identifier: GPL-2.0-only */
/* Source address and hop limit of ICMPv6 errors by a port. Private to resolve/. */
#ifndef USER_RESOLVE_ICMP_SOURCE_H
#define USER_RESOLVE_ICMP_SOURCE_H

#include "../rib/addrs.h"
#include "../rib/links.h"
#include "../rib/rules.h"

/*
 * Set source and hop_limit. SIXLANE_PORT_SOURCE if the kernel uses just this source for every
 * global destination; otherwise 0, and a source that is set is only a usable address.
 */
uint32_t resolve_icmp_source(const struct links *links, const struct device *device,
			     const struct addrs *addrs, const struct rules_program *rules,
			     struct sixlane_port *out);

#endif
