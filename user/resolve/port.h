/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath should know of a port, from all that is known of its device. Pure.
 */
#ifndef USER_RESOLVE_PORT_H
#define USER_RESOLVE_PORT_H

#include "../rib/addrs.h"
#include "../rib/links.h"
#include "../rib/rules.h"

struct resolve_port_policy {
	bool kernel_tells; /* the kernel announces XDP features (Linux 6.3 and newer) */
	bool old_bonds;	   /* they hash otherwise (before Linux 5.18): otherwise than bpf/bond.h */
	const struct rules_program *rules;
	const struct addrs *addrs;
};

/*
 * Fill *out for a device; an unknown one (NULL link part) gets flags 0, so that packets pass. What
 * the operator said of it (device->pass, device->assume_xmit) holds for the VLAN devices above
 * it, too. A VLAN device is served if the device under all its tags is.
 */
void resolve_port(const struct links *links, const struct device *device,
		  const struct resolve_port_policy *policy, struct sixlane_port *out);

/* What an egress of this kind is: one of SIXLANE_PORT_NO_XMIT; 0: frames go to it as they are. */
uint32_t resolve_kind(const struct link *link);

/*
 * answer.c. Fill in source and hop_limit of what the kernel sends by the device itself.
 * SIXLANE_PORT_SOURCE, or 0.
 */
uint32_t resolve_answer(const struct links *links, const struct device *device,
			const struct resolve_port_policy *policy, struct sixlane_port *out);

/* slaves.c. Whether frames given to the bond's slaves reach the wire as they are. */
bool resolve_slaves_are_plain(const struct links *links, const struct device *bond);

/*
 * Fill in how a bond that hashes chooses the slave for a frame with so many tags, and among which.
 * False: only the kernel knows.
 */
bool resolve_slaves(const struct links *links, const struct device *bond,
		    const struct resolve_port_policy *policy, unsigned int n_tags,
		    const union sixlane_tag tags[2], struct sixlane_port *out);

#endif
