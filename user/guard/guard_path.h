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

/* The ingress devices that rules see: the device, and its VRF if there is one. Returns 1 or 2. */
size_t guard_path_ingress(const struct links *links, const struct device *device,
			  const struct device *out[2]);

/* Copies a stored reason. False if it is "". */
bool guard_path_copy_reason(char *reason, const char *text);

/* Rules of any kind punt, as of guard_ruleset_punts(). */
bool guard_path_rules(const struct guard_sources *sources, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out, char *reason);

/* The flowtables at the device alone. */
enum guard_flows guard_path_flows(const struct guard_sources *sources, const struct device *device,
				  char *reason);

/* At ingress and at egress; PATH_TC_*: filters, qdiscs, tcx; PATH_NETDEV_*: chains, functions. */
enum guard_path { PATH_TC_IN, PATH_TC_OUT, PATH_NETDEV_IN, PATH_NETDEV_OUT, PATH_FLOWS };
/* The device punts, or one below it does. */
bool guard_path_punts(const struct guard_sources *sources, const struct links *links,
		      const struct device *device, enum guard_path what, char *reason);

#endif
