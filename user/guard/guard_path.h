/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a packet meets at one device on its path, and at the devices below: the lower device of a
 * VLAN device, the slaves of a bond. Looks only at what guard_sources.h has read.
 *
 * reason: NULL, or GUARD_REASON_LEN bytes, set only if the answer is yes.
 */
#ifndef GUARD_GUARD_PATH_H
#define GUARD_GUARD_PATH_H

#include "guard_sources.h"
#include "ruleset_query.h"

struct guard_iface guard_path_iface(const struct device *device);

/* Whether the device has this IFLA_INFO_KIND. */
bool guard_path_is_kind(const struct device *device, const char *kind);

/* As which devices rules see packets that come in by one: as itself and as its VRF. Returns 1 or 2.
 */
size_t guard_path_ingress(const struct links *links, const struct device *device,
			  const struct device *out[2]);

/* Copies a stored reason. False if it is "". */
bool guard_path_copy_reason(char *reason, const char *text);

/* Rules of any kind punt, as of guard_ruleset_holds(). */
bool guard_path_rules(const struct guard_sources *sources, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out, char *reason);

/* Netdev chains and functions, tc's filters, qdiscs and tcx programs, at ingress and at egress. */
bool guard_path_netdev_in(const struct guard_sources *sources, const struct links *links,
			  const struct device *device, char *reason);
bool guard_path_netdev_out(const struct guard_sources *sources, const struct links *links,
			   const struct device *device, char *reason);
bool guard_path_tc_in(const struct guard_sources *sources, const struct links *links,
		      const struct device *device, char *reason);
bool guard_path_tc_out(const struct guard_sources *sources, const struct links *links,
		       const struct device *device, char *reason);

/* The flowtables at the device alone. */
enum guard_flows guard_path_flows(const struct guard_sources *sources, const struct device *device,
				  char *reason);
/* A flowtable is at the device, or at one below. */
bool guard_path_has_flows(const struct guard_sources *sources, const struct links *links,
			  const struct device *device, char *reason);

#endif
