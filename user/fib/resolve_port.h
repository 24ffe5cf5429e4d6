/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath should know of a port, from all that is known of its device. Pure.
 */
#ifndef FIB_RESOLVE_PORT_H
#define FIB_RESOLVE_PORT_H

#include "../rib/links.h"

struct resolve_port_policy {
	bool pass;	   /* operator: pass every packet of this port */
	bool assume_xmit;  /* operator: it takes redirected frames */
	bool kernel_tells; /* the kernel announces XDP features (Linux 6.3 and newer) */
};

/* Fill *out for a device; an unknown one (NULL link part) gets flags 0, so that packets pass. */
void resolve_port(const struct links *links, const struct device *device,
		  const struct resolve_port_policy *policy, struct sixlane_port *out);

#endif
