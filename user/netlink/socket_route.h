/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's own answer where packets to an address go, by its rules and tables, as `ip route
 * get`.
 */
#ifndef NETLINK_SOCKET_ROUTE_H
#define NETLINK_SOCKET_ROUTE_H

#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

/* ifindex: they leave by; len: of the route's prefix. 0 or -errno; -ENETUNREACH …: no route. */
int nl_route_get(const union sixlane_addr *dst, uint32_t *ifindex, uint32_t *len);

#endif
