/* SPDX-License-Identifier: GPL-2.0-only */
/* The network devices of this namespace, read once over netlink. */
#ifndef USER_CLI_PORTS_H
#define USER_CLI_PORTS_H

#include <stddef.h>

#include "../../bpf/abi/sixlane.h"
#include "../rib/link.h"

struct ports {
	struct link *links; /* by ascending ifindex */
	size_t n;
};

/* 0 or -errno. Free with ports_free(). */
int ports_read(struct ports *ports);
void ports_free(struct ports *ports);

/* NULL: no such device. */
const struct link *ports_find(const struct ports *ports, uint32_t ifindex);
const struct link *ports_find_name(const struct ports *ports, const char *name);
/* The name of a device in buf, which is returned, or "#IFINDEX". */
const char *ports_name(const struct ports *ports, uint32_t ifindex, char buf[IFNAMSIZ]);

/* The upper device that takes a port's frames before IPv6 sees them. */
struct port_upper {
	char name[IFNAMSIZ];
	const char *kind; /* IFLA_INFO_KIND, or "" */
};

/* Searches the links of the kernel's device tree, then the master that netlink reports. False: no
 * such device is visible. */
bool ports_find_upper(const struct ports *ports, const struct link *link, struct port_upper *out);

#endif
