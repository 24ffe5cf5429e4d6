/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions to the kernel: a device by name, the route of an address, XDP features of devices. */
#ifndef NETLINK_SOCKET_QUERY_H
#define NETLINK_SOCKET_QUERY_H

#include <net/if.h>

#include "../../bpf/abi/sixlane.h"
#include "socket.h"

/*
 * The ifindex of the device in this network namespace, or 0 and errno. own, which may be NULL,
 * becomes the device's own name if there is a device. Unlike if_nametoindex(), accepts alternative
 * names (ip link property add … altname), also over 15 characters and with colons.
 */
uint32_t nl_link_find(const char *name, char own[IFNAMSIZ]);

/* Returns the device's own name, copied to own, or name if there is no such device. */
const char *nl_link_own_name(const char *name, char own[IFNAMSIZ]);

/*
 * Looks a route up by the kernel's rules and tables, as `ip route get` does. ifindex: of the output
 * device; len: of the route's prefix. 0, -ENETUNREACH … or -errno.
 */
int nl_route_get(const union sixlane_addr *dst, uint32_t *ifindex, uint32_t *len);

/* The generic netlink family "netdev" (Linux 6.3 and newer). */
struct nl_features_family {
	uint16_t id;	/* 0: this kernel does not have the family */
	uint32_t group; /* multicast group of its notifications */
};

/* socket: of NETLINK_GENERIC. 0 or -errno. */
int nl_features_family(struct nl_socket *socket, struct nl_features_family *out);

#define NL_FEATURES_BYTES 64
/* A request to dump all devices; parse_netdev() parses the replies. */
struct nlmsghdr *nl_features_request(char buf[NL_FEATURES_BYTES], uint16_t family);

/* Calls fn for each device. 0, -EOPNOTSUPP (this kernel has no such family) or -errno. */
typedef void (*nl_features_fn)(void *ctx, uint32_t ifindex, uint64_t features);
int nl_features_each(nl_features_fn fn, void *ctx);

#endif
