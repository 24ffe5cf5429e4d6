// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects, groups of them, and the buckets of resilient groups: everything that
 * nh_fill_node() and nh_fill_res_bucket() (net/ipv4/nexthop.c) can say. An object that struct
 * next_hop cannot express is NEXT_HOP_OTHER, so that its routes are punted.
 */
#include "parse.h"

#include <linux/lwtunnel.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "parse_attr.h"

/*
 * NHA_OP_FLAGS and NHA_OP_FLAG_RESP_GRP_RESVD_0 of Linux 6.12: the bytes behind the 8-bit weight of
 * a group's entry are valid. Without that flag they may be the upper bits of the weight (stable
 * kernels with a backport that lacks the flag) or uninitialised memory (5.15 to 6.10).
 */
#define NEXT_HOP_OP_FLAGS 14
#define OP_FLAG_ENTRIES_CLEAN (1u << 31)

/* NHA_GROUP_STATS, NHA_HW_STATS_ENABLE and NHA_HW_STATS_USED of Linux 6.9: only counters. */
#define NEXT_HOP_GROUP_STATS 15
#define NEXT_HOP_HW_STATS_USED 17

static const struct attr_spec next_hop_attrs[] = {
	[NHA_ID] = ATTR_U32,
	[NHA_GROUP] = ATTR_ANY,
	[NHA_GROUP_TYPE] = ATTR_U16,
	[NHA_BLACKHOLE] = ATTR_ANY,
	[NHA_OIF] = ATTR_U32,
	[NHA_GATEWAY] = ATTR_ANY,
	[NHA_ENCAP_TYPE] = ATTR_U16,
	[NHA_ENCAP] = ATTR_ANY,
	[NHA_FDB] = ATTR_ANY,
	[NHA_RES_GROUP] = ATTR_NEST,
	[NHA_RES_BUCKET] = ATTR_NEST,
	[NEXT_HOP_OP_FLAGS] = ATTR_U32,
	[NEXT_HOP_GROUP_STATS... NEXT_HOP_HW_STATS_USED] = ATTR_ANY,
};
#define N_NEXT_HOP_ATTRS ARRAY_SIZE(next_hop_attrs)

static const struct attr_spec res_group_attrs[] = {
	[NHA_RES_GROUP_PAD] = ATTR_ANY,
	[NHA_RES_GROUP_BUCKETS] = ATTR_U16,
	[NHA_RES_GROUP_IDLE_TIMER... NHA_RES_GROUP_UNBALANCED_TIME] = ATTR_ANY,
};

static const struct attr_spec res_bucket_attrs[] = {
	[NHA_RES_BUCKET_PAD] = ATTR_ANY,
	[NHA_RES_BUCKET_INDEX] = ATTR_U16,
	[NHA_RES_BUCKET_IDLE_TIME] = ATTR_ANY,
	[NHA_RES_BUCKET_NH_ID] = ATTR_U32,
};

/* struct nexthop_grp; older headers do not name weight_high. */
struct group_entry {
	uint32_t id;
	uint8_t weight, weight_high;
	uint16_t reserved;
};
_Static_assert(sizeof(struct group_entry) == sizeof(struct nexthop_grp), "as the kernel has it");

/* The header and attributes of a message about next hops. -ENOMSG: it is of IPv4. */
static int message_walk(const struct nlmsghdr *nlh, const struct nhmsg **nhm,
			const struct nlattr **at, uint16_t *unknown)
{
	*nhm = attr_header(nlh, sizeof(**nhm));
	if (!*nhm)
		return -EBADMSG;
	if ((*nhm)->nh_family != AF_INET6 && (*nhm)->nh_family != AF_UNSPEC)
		return -ENOMSG;
	return attr_walk_message(nlh, sizeof(**nhm), SPECS(next_hop_attrs), at, unknown);
}

/* False if the entry may mean more than struct next_hop_member can express. */
static bool member_parse(const struct group_entry *entry, bool clean,
			 struct next_hop_member *member)
{
	member->id = entry->id;
	member->weight = 1u + entry->weight + 256u * entry->weight_high;
	return entry->reserved == 0 && (clean || entry->weight_high == 0);
}

static int members_parse(const struct nlattr **at, struct next_hop *next_hop,
			 struct next_hop_member *members)
{
	bool clean = attr_u32(at[NEXT_HOP_OP_FLAGS], 0) & OP_FLAG_ENTRIES_CLEAN;
	const char *data = mnl_attr_get_payload(at[NHA_GROUP]);
	size_t size = mnl_attr_get_payload_len(at[NHA_GROUP]), n;
	struct group_entry entry;
	bool plain;

	n = size / sizeof(entry);
	if (n == 0 || size % sizeof(entry) != 0)
		return -EBADMSG;
	plain = n <= NEXT_HOP_MAX_MEMBERS;
	for (size_t i = 0; i < n && plain; i++) {
		memcpy(&entry, data + i * sizeof(entry), sizeof(entry));
		if (entry.id == 0)
			return -EBADMSG;
		plain = member_parse(&entry, clean, &members[i]);
	}
	if (plain)
		next_hop->n_members = (uint32_t)n;
	else
		next_hop->kind = NEXT_HOP_OTHER;
	return 0;
}

static int group_parse(const struct nlattr **at, struct next_hop *next_hop,
		       struct next_hop_member *members)
{
	const struct nlattr *res[ARRAY_SIZE(res_group_attrs)];
	uint16_t unknown = 0;
	int r = attr_walk_whole_nest(at[NHA_RES_GROUP], SPECS(res_group_attrs), res, &unknown);

	if (r < 0)
		return r;
	if (unknown)
		next_hop->unknown_attr = attr_unknown(NHA_RES_GROUP);
	next_hop->is_group = true;
	switch (attr_u16(at[NHA_GROUP_TYPE], NEXTHOP_GRP_TYPE_MPATH)) {
	case NEXTHOP_GRP_TYPE_MPATH:
		next_hop->kind = NEXT_HOP_GROUP;
		break;
	case NEXTHOP_GRP_TYPE_RES:
		next_hop->kind = NEXT_HOP_RESILIENT;
		next_hop->n_buckets = attr_u16(res[NHA_RES_GROUP_BUCKETS], 0);
		if (next_hop->n_buckets == 0)
			return -EBADMSG;
		break;
	default:
		next_hop->kind = NEXT_HOP_OTHER;
	}
	r = members_parse(at, next_hop, members);
	if (at[NHA_FDB])
		next_hop->kind = NEXT_HOP_OTHER;
	return r;
}

/* It sends packets in a way that struct next_hop cannot express. */
static bool one_is_other(const struct nlattr **at, const struct next_hop *next_hop)
{
	return at[NHA_FDB] || at[NHA_ENCAP] ||
	       attr_u16(at[NHA_ENCAP_TYPE], LWTUNNEL_ENCAP_NONE) != LWTUNNEL_ENCAP_NONE ||
	       (at[NHA_GATEWAY] && !next_hop->hop.has_gateway) ||
	       (!at[NHA_BLACKHOLE] && next_hop->hop.ifindex == 0);
}

/* An object that is not a group. */
static int one_parse(const struct nlattr **at, struct next_hop *next_hop)
{
	const struct nlattr *gateway = at[NHA_GATEWAY];
	size_t size = gateway ? mnl_attr_get_payload_len(gateway) : 0;

	if (gateway && size != sizeof(struct in6_addr) && size != sizeof(struct in_addr))
		return -EBADMSG;
	next_hop->hop.ifindex = attr_u32(at[NHA_OIF], 0);
	next_hop->hop.weight = 1;
	if (size == sizeof(next_hop->hop.gateway)) {
		next_hop->hop.has_gateway = true;
		attr_copy(&next_hop->hop.gateway, gateway, size);
	}
	if (!one_is_other(at, next_hop))
		next_hop->kind = at[NHA_BLACKHOLE] ? NEXT_HOP_BLACKHOLE : NEXT_HOP_ONE;
	return 0;
}

int parse_next_hop(const struct nlmsghdr *nlh, struct next_hop *out,
		   struct next_hop_member members[NEXT_HOP_MAX_MEMBERS])
{
	struct next_hop next_hop = { .kind = NEXT_HOP_OTHER, .members = members };
	const struct nlattr *at[N_NEXT_HOP_ATTRS];
	const struct nhmsg *nhm;
	int r;

	if (nlh->nlmsg_type != RTM_NEWNEXTHOP && nlh->nlmsg_type != RTM_DELNEXTHOP)
		return -ENOMSG;
	r = message_walk(nlh, &nhm, at, &next_hop.unknown_attr);
	if (r < 0)
		return r;
	next_hop.id = attr_u32(at[NHA_ID], 0);
	if (next_hop.id == 0)
		return -EBADMSG;
	/* a deleted object is removed, whatever it was */
	if (nlh->nlmsg_type == RTM_NEWNEXTHOP) {
		if (at[NHA_GROUP])
			r = group_parse(at, &next_hop, members);
		else
			r = nhm->nh_family == AF_INET6 ? one_parse(at, &next_hop) : -EBADMSG;
	}
	if (r < 0)
		return r;
	if (next_hop.unknown_attr)
		next_hop.kind = NEXT_HOP_OTHER;
	*out = next_hop;
	return 0;
}

int parse_next_hop_bucket(const struct nlmsghdr *nlh, struct next_hop_bucket *out)
{
	const struct nlattr *bucket[ARRAY_SIZE(res_bucket_attrs)];
	const struct nlattr *at[N_NEXT_HOP_ATTRS];
	const struct nhmsg *nhm;
	uint16_t unknown = 0, unknown_in_nest = 0;
	int r;

	if (nlh->nlmsg_type != RTM_NEWNEXTHOPBUCKET)
		return -ENOMSG;
	r = message_walk(nlh, &nhm, at, &unknown);
	if (r == 0)
		r = attr_walk_whole_nest(at[NHA_RES_BUCKET], SPECS(res_bucket_attrs), bucket,
					 &unknown_in_nest);
	if (r != 0)
		return r;
	if (attr_u32(at[NHA_ID], 0) == 0 || !bucket[NHA_RES_BUCKET_INDEX] ||
	    attr_u32(bucket[NHA_RES_BUCKET_NH_ID], 0) == 0)
		return -EBADMSG;
	if (unknown_in_nest)
		unknown = attr_unknown(NHA_RES_BUCKET);
	*out = (struct next_hop_bucket){
		.group = attr_u32(at[NHA_ID], 0),
		.index = attr_u16(bucket[NHA_RES_BUCKET_INDEX], 0),
		.member = unknown ? 0 : attr_u32(bucket[NHA_RES_BUCKET_NH_ID], 0),
		.unknown_attr = unknown,
	};
	return 0;
}
