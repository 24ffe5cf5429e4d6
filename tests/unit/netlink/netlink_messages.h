/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For test_parse*.c and fuzz_parse.c: the captured messages as bytes, exactly sized copies whose
 * end AddressSanitizer watches, and all parsers at once, with what must hold of all that they say.
 */
#ifndef NETLINK_MESSAGES_H
#define NETLINK_MESSAGES_H

#include <libmnl/libmnl.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/lib/util.h"
#include "../../../user/netlink/parse.h"
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

/* The one of that name, to be freed; there is no test without it. */
static inline struct nlmsghdr *capture_message(const char *name)
{
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++)
		if (strcmp(netlink_captures[i].name, name) == 0)
			return (struct nlmsghdr *)capture_bytes(&netlink_captures[i], &size);
	fprintf(stderr, "no capture is called %s\n", name);
	abort();
}

/* text NULL: :: */
static inline bool addr_is(const union sixlane_addr *addr, const char *text)
{
	union sixlane_addr expected = { 0 };

	if (text && inet_pton(AF_INET6, text, &expected) != 1)
		return false;
	return memcmp(addr, &expected, sizeof(expected)) == 0;
}

/* What the parsers' contracts say of results, whatever the message was. */

static inline bool prefix_sane(const struct prefix *prefix)
{
	for (unsigned int bit = prefix->len; bit < 128; bit++)
		if (prefix->addr.bytes[bit / 8] >> (7 - bit % 8) & 1)
			return false;
	return prefix->len <= 128;
}

static inline bool route_sane(const struct route *route, const struct route_hop *hops)
{
	return prefix_sane(&route->dst) && prefix_sane(&route->src) &&
	       route->n_hops <= ROUTE_MAX_HOPS && route->hops == hops && route->preference >= 1 &&
	       route->preference <= 3 && (route->expires || route->lifetime_ms == 0) &&
	       route->expires_ns == 0;
}

static inline bool link_sane(const struct link *link)
{
	return memchr(link->name, '\0', sizeof(link->name)) &&
	       memchr(link->kind, '\0', sizeof(link->kind)) &&
	       memchr(link->master_kind, '\0', sizeof(link->master_kind));
}

static inline bool rule_sane(const struct rule *rule)
{
	return prefix_sane(&rule->dst) && prefix_sane(&rule->src) &&
	       memchr(rule->iif, '\0', sizeof(rule->iif)) &&
	       (rule->unknown || !(rule->tclass & ~rule->tclass_mask)) &&
	       (!rule->has_sport || rule->sport.low <= rule->sport.high) &&
	       (!rule->has_dport || rule->dport.low <= rule->dport.high) &&
	       (rule->action != FR_ACT_GOTO || rule->target > rule->priority);
}

static inline bool next_hop_sane(const struct next_hop *next_hop,
				 const struct next_hop_member *members)
{
	bool group = next_hop->kind == NEXT_HOP_GROUP || next_hop->kind == NEXT_HOP_RESILIENT;

	for (uint32_t i = 0; i < next_hop->n_members && i < NEXT_HOP_MAX_MEMBERS; i++)
		if (members[i].id == 0 || members[i].weight == 0 || members[i].weight > 65536)
			return false;
	return next_hop->id != 0 && next_hop->kind <= NEXT_HOP_OTHER &&
	       next_hop->members == members && next_hop->n_members <= NEXT_HOP_MAX_MEMBERS &&
	       (!group || next_hop->n_members > 0) &&
	       (next_hop->kind != NEXT_HOP_RESILIENT || next_hop->n_buckets > 0) &&
	       (next_hop->kind != NEXT_HOP_ONE || next_hop->hop.ifindex > 0);
}

/* To its end, for a sanitizer to see. */
static inline void name_read(void *ctx, const char *name)
{
	*(size_t *)ctx += strlen(name);
}

/*
 * Run every parser on a copy of size bytes, whose nlmsg_len is made to say size. The number of
 * parsers that took it (0 or more), or -1 if one returned what its contract does not have.
 */
static inline int parse_all(const uint8_t *bytes, size_t size)
{
	static struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	static struct route_hop hops[ROUTE_MAX_HOPS];
	struct nlmsghdr *nlh;
	struct route route;
	struct link link;
	struct link_ipv6 link_ipv6;
	struct netconf netconf;
	struct neigh neigh;
	struct rule rule;
	struct next_hop next_hop;
	struct next_hop_bucket bucket;
	uint32_t id, ifindex;
	uint64_t features;
	uint16_t family;
	struct address address;
	size_t name_bytes = 0;
	bool sane = true;
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
		parse_link(nlh, &link) ?: parse_link_names(nlh, name_read, &name_bytes),
		parse_rule(nlh, &rule),
		parse_next_hop(nlh, &next_hop, members),
		parse_next_hop_bucket(nlh, &bucket),
		parse_link_ipv6(nlh, &link_ipv6),
		parse_netconf(nlh, &netconf),
		parse_neigh(nlh, &neigh),
		parse_address(nlh, &address),
		parse_netdev(nlh, &ifindex, &features),
		parse_genl_family(nlh, "mgmt", &family, &id),
	};
	free(nlh);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		taken += results[i] == 0;
		sane &= results[i] == 0 || results[i] == -EBADMSG || results[i] == -ENOMSG;
	}
	sane &= results[0] < 0 || route_sane(&route, hops);
	sane &= results[1] < 0 || link_sane(&link);
	sane &= results[2] < 0 || rule_sane(&rule);
	sane &= results[3] < 0 || next_hop_sane(&next_hop, members);
	sane &= results[8] < 0 || address.ifindex != 0;
	sane &= results[4] < 0 || (bucket.group != 0 && !bucket.member == !!bucket.unknown_attr);
	return sane ? taken : -1;
}

#endif
