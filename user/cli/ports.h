/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network devices of this namespace at one moment, read over netlink, for the CLI.
 */
#ifndef USER_CLI_PORTS_H
#define USER_CLI_PORTS_H

#include <stddef.h>

#include "../../bpf/abi/sixlane.h"
#include "../rib/link.h"

struct ports {
	struct link *links; /* by ascending ifindex */
	size_t n;
};

/* 0 or -errno. Free with ports_free. */
int ports_read(struct ports *ports);
void ports_free(struct ports *ports);

/* NULL: no such device. */
const struct link *ports_find(const struct ports *ports, uint32_t ifindex);
const struct link *ports_find_name(const struct ports *ports, const char *name);

/* The device that takes a port's frames before IPv6 sees them. */
struct port_owner {
	char name[IFNAMSIZ];
	const char *kind; /* as IFLA_INFO_KIND says, or "" */
};

/*
 * Find it by the kernel's own links, or else by the master that netlink tells. False: none that
 * can be seen.
 */
bool ports_find_owner(const struct ports *ports, const struct link *link, struct port_owner *out);

#endif
