/* SPDX-License-Identifier: GPL-2.0-only */
/* What the datapath has to know of a port, from all that is known of its device. Pure. */
#ifndef USER_RESOLVE_PORT_H
#define USER_RESOLVE_PORT_H

#include "../rib/addrs.h"
#include "../rib/links.h"
#include "../rib/rules.h"

struct resolve_port_policy {
	bool features_announced; /* the kernel announces XDP features (Linux 6.3 and newer) */
	bool old_bonds;		 /* bonds hash differently from bpf/bond.h (before Linux 5.18) */
	const struct rules_program *rules;
	const struct addrs *addrs;
};

/*
 * Fill *out for a device. One without a link part gets flags 0, so that its packets pass. The
 * operator's settings (device->pass, device->assume_xmit) apply to the VLAN devices above it, too.
 * A VLAN device is served if the device under all its tags is.
 */
void resolve_port(const struct links *links, const struct device *device,
		  const struct resolve_port_policy *policy, struct sixlane_port *out);

/*
 * For resolve_port(): set source and hop_limit of ICMPv6 errors by the port. SIXLANE_PORT_SOURCE if
 * the kernel uses just this source for every global destination; otherwise 0, and a source that is
 * set is only a usable address.
 */
uint32_t resolve_icmp_source(const struct links *links, const struct device *device,
			     const struct addrs *addrs, const struct rules_program *rules,
			     struct sixlane_port *out);

#endif
