/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For test_parse*.c and fuzz_parse.c: the captured messages as bytes, exactly sized copies whose
 * end AddressSanitizer watches, and all parsers at once.
 */
#ifndef NETLINK_MESSAGES_H
#define NETLINK_MESSAGES_H

#include <libmnl/libmnl.h>

#include <errno.h>
#include <string.h>

#include "../../user/netlink/parse.h"
#include "../../user/util.h"
#include "netlink_captures.h"

/* Decode one into memory of exactly its size, which the caller frees. */
static inline uint8_t *capture_bytes(const struct netlink_capture *capture, size_t *size)
{
	size_t n = strlen(capture->hex) / 2;
	uint8_t *bytes = malloc(n);
	unsigned int value;

	for (size_t i = 0; bytes && i < n; i++) {
		(void)sscanf(capture->hex + 2 * i, "%2x", &value);
		bytes[i] = (uint8_t)value;
	}
	*size = n;
	return bytes;
}

/*
 * Run every parser on a copy of size bytes, whose nlmsg_len is made to say size. The number of
 * parsers that took it (0 or more), or -1 if one returned what its contract does not have.
 */
static inline int parse_all(const uint8_t *bytes, size_t size)
{
	static struct route_hop hops[ROUTE_MAX_HOPS];
	struct nlmsghdr *nlh;
	struct route route;
	struct link link;
	struct link_ipv6 link_ipv6;
	struct netconf netconf;
	struct neigh neigh;
	struct rule rule;
	uint32_t id, ifindex;
	uint64_t features;
	uint16_t family;
	int taken = 0;

	if (size < sizeof(*nlh))
		return 0;
	nlh = malloc(size);
	if (!nlh)
		return 0;
	memcpy(nlh, bytes, size);
	nlh->nlmsg_len = (uint32_t)size;
	const int results[] = {
		parse_route(nlh, &route, hops),
		parse_link(nlh, &link),
		parse_link_ipv6(nlh, &link_ipv6),
		parse_netconf(nlh, &netconf),
		parse_neigh(nlh, &neigh),
		parse_rule(nlh, &rule),
		parse_next_hop_id(nlh, &id),
		parse_netdev(nlh, &ifindex, &features),
		parse_genl_family(nlh, "mgmt", &family, &id),
	};
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		if (results[i] == 0)
			taken++;
		else if (results[i] != -EBADMSG && results[i] != -ENOMSG)
			taken = -1000;
	}
	if (results[0] == 0 && (route.dst.len > 128 || route.src.len > 128 ||
				route.n_hops > ROUTE_MAX_HOPS || route.hops != hops))
		taken = -1000;
	if (results[1] == 0 && (!memchr(link.name, '\0', sizeof(link.name)) ||
				!memchr(link.kind, '\0', sizeof(link.kind))))
		taken = -1000;
	free(nlh);
	return taken < 0 ? -1 : taken;
}

#endif
