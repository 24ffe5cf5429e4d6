/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks a route up in the kernel, by its rules and tables, as `ip route get` does. */
#ifndef NETLINK_SOCKET_ROUTE_H
#define NETLINK_SOCKET_ROUTE_H

#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

/* ifindex: of the output device; len: of the route's prefix. 0, -ENETUNREACH … or -errno. */
int nl_route_get(const union sixlane_addr *dst, uint32_t *ifindex, uint32_t *len);

#endif
