/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device by any of its names: its own, or one that `ip link property add … altname` gave it.
 */
#ifndef NETLINK_SOCKET_LINK_H
#define NETLINK_SOCKET_LINK_H

#include <net/if.h>
#include <stdint.h>

/*
 * The ifindex of the device of this network namespace that has the name; 0 and errno if none has.
 * own (may be NULL) becomes its own name, and is untouched without one. if_nametoindex() does not
 * do: it takes no name over 15 characters, and cuts others at a colon.
 */
uint32_t nl_link_find(const char *name, char own[IFNAMSIZ]);

/* own, filled by nl_link_find(), or name where there is no such device. */
const char *nl_link_own_name(const char *name, char own[IFNAMSIZ]);

#endif
