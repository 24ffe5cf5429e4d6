// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What takes the place of flowtable_forwards() in a loaded program: see flowtable.h. Has no maps.
 *
 * The kernel forwards a packet of a flow in nf_flow_offload_ipv6_hook(), by the route that the flow
 * was set up with, as long as that stands. Only TCP and UDP without extension headers are looked up
 * here. What the kernel would not forward there, or would translate, or send another way than
 * sixlane has found, is not taken for a packet of a flow.
 */
#include <linux/bpf.h> /* first: libbpf's headers need its types */

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include "abi/sixlane.h"

#define FLOW_AF_INET6 10 /* AF_INET6 */

/* include/uapi/linux/ipv6_route.h and route.h, include/net/dst.h */
#define FLOW_RTF_GATEWAY 0x0002
#define FLOW_RTF_EXPIRES 0x00400000
#define FLOW_RTF_CACHE 0x01000000
#define FLOW_FORCE_CHK (-1) /* DST_OBSOLETE_FORCE_CHK */

/* --- the kernel's own types: libbpf finds where the fields are that are read ------------------ */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct netns_ipv6 {
	atomic_t fib6_sernum;
};

struct net {
	struct netns_ipv6 ipv6;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct dst_entry {
	struct net_device *dev;
	unsigned long expires;
	short obsolete;
};

struct fib6_node {
	__u32 fn_sernum;
};

struct fib6_info {
	struct fib6_node *fib6_node;
	unsigned long expires;
	__u32 fib6_flags;
};

struct rt6key {
	struct in6_addr addr;
};

struct rt6_info {
	struct dst_entry dst;
	struct fib6_info *from;
	int sernum;
	struct rt6key rt6i_dst;
	struct in6_addr rt6i_gateway;
	__u32 rt6i_flags;
};

enum flow_offload_xmit_type { FLOW_OFFLOAD_XMIT_UNSPEC, FLOW_OFFLOAD_XMIT_NEIGH };

enum nf_flow_flags { NF_FLOW_SNAT, NF_FLOW_DNAT };

struct flow_offload_tuple {
	__u8 dir : 2, xmit_type : 3, encap_num : 2, tun_num : 2;
	__u16 mtu;
	struct dst_entry *dst_cache;
	__u32 dst_cookie;
};

struct flow_offload_tuple_rhash {
	struct flow_offload_tuple tuple;
};

struct flow_offload {
	unsigned long flags;
};

#pragma clang attribute pop

struct bpf_flowtable_opts {
	__s32 error;
};

/* net/netfilter/nf_flow_table_bpf.c. NULL: no flow, or one that is being torn down. */
struct flow_offload_tuple_rhash *bpf_xdp_flow_lookup(struct xdp_md *ctx,
						     struct bpf_fib_lookup *tuple,
						     struct bpf_flowtable_opts *opts,
						     __u32 opts_len) __ksym;
/* Linux 6.2: the object as one of another type, to read. */
void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym;

/* --- the packet --------------------------------------------------------------------------- */

struct flow_ports {
	__be16 source, dest;
};

/*
 * The ports of a packet that a flow may go on with; NULL: not TCP or UDP, cut off, SYN, FIN or RST.
 * The first and the last packets of a connection change the flow, which is for the kernel to do.
 */
static __always_inline const struct flow_ports *flow_ports_of(struct xdp_md *ctx,
							      const struct ipv6hdr *ip6)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct flow_ports *ports = (const void *)(ip6 + 1);
	const struct tcphdr *tcp = (const void *)ports;

	if (ip6->nexthdr == IPPROTO_UDP)
		return (const void *)(ports + 1) <= end ? ports : NULL;
	if (ip6->nexthdr != IPPROTO_TCP || (const void *)(tcp + 1) > end)
		return NULL;
	return tcp->syn | tcp->fin | tcp->rst ? NULL : ports;
}

static __always_inline struct flow_offload_tuple_rhash *flow_find(struct xdp_md *ctx,
								  const struct ipv6hdr *ip6)
{
	const struct flow_ports *ports = flow_ports_of(ctx, ip6);
	struct bpf_flowtable_opts opts = { 0 };
	struct bpf_fib_lookup tuple = {
		.family = FLOW_AF_INET6,
		.l4_protocol = ip6->nexthdr,
		.ifindex = ctx->ingress_ifindex,
	};

	if (!ports)
		return NULL;
	tuple.sport = ports->source;
	tuple.dport = ports->dest;
	__builtin_memcpy(tuple.ipv6_src, &ip6->saddr, sizeof(tuple.ipv6_src));
	__builtin_memcpy(tuple.ipv6_dst, &ip6->daddr, sizeof(tuple.ipv6_dst));
	return bpf_xdp_flow_lookup(ctx, &tuple, &opts, sizeof(opts));
}

/* --- the flow ------------------------------------------------------------------------------ */

/* Linux 6.19: this direction comes in by a tunnel, and so the other one leaves by it. */
static __always_inline int flow_has_tunnel(const struct flow_offload_tuple_rhash *hash)
{
	const struct flow_offload_tuple *tuple = &hash->tuple;

	return bpf_core_field_exists(tuple->tun_num) &&
	       BPF_CORE_READ_BITFIELD_PROBED(tuple, tun_num);
}

/* Whether the kernel sends packets of the flow as they are, by a neighbour. */
static __always_inline int flow_is_plain(const struct flow_offload_tuple_rhash *found)
{
	const struct flow_offload_tuple *tuple = &found->tuple;
	const __u64 size = bpf_core_type_size(struct flow_offload_tuple_rhash);
	/* both directions stand in the flow, one behind the other, before its flags */
	const void *flow = found;
	unsigned long flags;

	if (BPF_CORE_READ_BITFIELD(tuple, xmit_type) !=
		    bpf_core_enum_value(enum flow_offload_xmit_type, FLOW_OFFLOAD_XMIT_NEIGH) ||
	    BPF_CORE_READ_BITFIELD(tuple, encap_num))
		return 0;
	if (BPF_CORE_READ_BITFIELD(tuple, dir))
		/* a subtraction: the verifier refuses to add a negative constant */
		asm volatile("%0 -= %1" : "+r"(flow) : "r"(size));
	if (flow_has_tunnel(flow) || flow_has_tunnel(flow + size) ||
	    bpf_probe_read_kernel(&flags, sizeof(flags),
				  flow + bpf_core_field_offset(struct flow_offload, flags)))
		return 0;
	return !(flags & (1ul << bpf_core_enum_value(enum nf_flow_flags, NF_FLOW_SNAT) |
			  1ul << bpf_core_enum_value(enum nf_flow_flags, NF_FLOW_DNAT)));
}

/* A time in jiffies has passed, if it counts. */
static __always_inline int flow_has_expired(__u32 flags, unsigned long expires)
{
	return flags & FLOW_RTF_EXPIRES && (__s64)(bpf_jiffies64() - expires) > 0;
}

/*
 * As ip6_dst_check() finds it. The cookie is the network namespace's serial number for a route by a
 * nexthop object, and else its node's.
 */
static __always_inline int flow_route_stands(const struct rt6_info *rt, __u32 cookie)
{
	const struct fib6_info *from = rt->from;
	const struct fib6_node *node = from ? from->fib6_node : NULL;
	__u32 number;

	if (!node)
		return 0;
	number = rt->sernum ? (__u32)rt->dst.dev->nd_net.net->ipv6.fib6_sernum.counter
			    : node->fn_sernum;
	return number == cookie && rt->dst.obsolete == FLOW_FORCE_CHK &&
	       !flow_has_expired(rt->rt6i_flags, rt->dst.expires) &&
	       !flow_has_expired(from->fib6_flags, from->expires);
}

static __always_inline int flow_addr_is(const struct in6_addr *addr,
					const union sixlane_addr *other)
{
	return addr->s6_addr32[0] == other->words[0] && addr->s6_addr32[1] == other->words[1] &&
	       addr->s6_addr32[2] == other->words[2] && addr->s6_addr32[3] == other->words[3];
}

/* rt6_nexthop(). on_link: next_hop is the packet's destination. */
static __always_inline int flow_goes_to(const struct rt6_info *rt,
					const union sixlane_addr *next_hop, int on_link)
{
	if (rt->rt6i_flags & FLOW_RTF_GATEWAY)
		return flow_addr_is(&rt->rt6i_gateway, next_hop);
	if (rt->rt6i_flags & FLOW_RTF_CACHE)
		return flow_addr_is(&rt->rt6i_dst.addr, next_hop);
	return on_link;
}

static __always_inline int flow_goes_our_way(const struct flow_offload_tuple *tuple, __u32 egress,
					     const union sixlane_addr *next_hop, int on_link)
{
	const struct rt6_info *rt =
		bpf_rdonly_cast(tuple->dst_cache, bpf_core_type_id_kernel(struct rt6_info));

	return rt->dst.dev->ifindex == (int)egress && flow_route_stands(rt, tuple->dst_cookie) &&
	       flow_goes_to(rt, next_hop, on_link);
}

SEC("freplace/flowtable_forwards")
int flowtable_forwards(struct xdp_md *ctx, __u32 egress, __u64 next_hop_high, __u64 next_hop_low)
{
	const union sixlane_addr next_hop = { .halves = { next_hop_high, next_hop_low } };
	const struct ethhdr *eth = (const void *)(long)ctx->data;
	const struct ipv6hdr *ip6 = (const void *)(eth + 1);
	const struct flow_offload_tuple_rhash *found;
	__u32 bytes;
	int on_link;

	if ((const void *)(ip6 + 1) > (const void *)(long)ctx->data_end ||
	    eth->h_proto != bpf_htons(ETH_P_IPV6))
		return 0;
	bytes = sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
	/* the kernel cuts padding off a packet, but not off one of a flow */
	if (bpf_xdp_get_buff_len(ctx) != sizeof(*eth) + bytes)
		return 0;
	on_link = flow_addr_is(&ip6->daddr, &next_hop);
	found = flow_find(ctx, ip6);
	return found && bytes <= found->tuple.mtu && flow_is_plain(found) &&
	       flow_goes_our_way(&found->tuple, egress, &next_hop, on_link);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
