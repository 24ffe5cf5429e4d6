/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds a device by its name, or by an alternative one (ip link property add … altname). */
#ifndef NETLINK_SOCKET_LINK_H
#define NETLINK_SOCKET_LINK_H

#include <net/if.h>
#include <stdint.h>

/*
 * The ifindex of the device in this network namespace, or 0 and errno. own, which may be NULL,
 * becomes the device's own name if there is a device. Unlike if_nametoindex(), accepts names over
 * 15 characters and with colons.
 */
uint32_t nl_link_find(const char *name, char own[IFNAMSIZ]);

/* Returns the device's own name, copied to own, or name if there is no such device. */
const char *nl_link_own_name(const char *name, char own[IFNAMSIZ]);

#endif
