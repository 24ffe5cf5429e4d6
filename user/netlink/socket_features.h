/* SPDX-License-Identifier: GPL-2.0-only */
/* XDP features of devices, from the generic netlink family "netdev" (Linux 6.3 and newer). */
#ifndef NETLINK_SOCKET_FEATURES_H
#define NETLINK_SOCKET_FEATURES_H

#include "socket.h"

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
