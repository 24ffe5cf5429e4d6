// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sixlane's trie, and the kernel's own tables by bpf_fib_lookup. */
#include "walk.bpf.h"

#define AF_INET 2
#define AF_INET6 10
#define FIB_SUCCESS 0
#define FIB_NO_NEIGH 7

MAP(trie, LPM_TRIE, BPF_F_NO_PREALLOC, 1, struct sixlane_route_key, __u32);

WALK_ENGINE(trie)
{
	struct sixlane_route_key key = {
		.prefix_len = SIXLANE_TABLE_BITS + 128,
		.table = bpf_htonl(SIXLANE_TABLE_MAIN),
		.addr = *addr,
	};
	const __u32 *found = bpf_map_lookup_elem(&trie, &key);

	return found ? *(const volatile __u32 *)found : 0;
}

/* The answer is the route's metric, since a next hop does not tell which route led to it. */
static __always_inline __u32 fib_find(struct xdp_md *ctx, const struct walk_packet *packet,
				      struct bpf_fib_lookup *params)
{
	long code;

	params->ifindex = packet->ifindex;
	code = bpf_fib_lookup(ctx, params, sizeof(*params), packet->fib_flags);
	/* Without FIB_LOOKUP_SKIP_NEIGH the kernel reports that there is no neighbour. */
	return code == FIB_SUCCESS || code == FIB_NO_NEIGH ? params->rt_metric : 0;
}

WALK_ENGINE(kernel6)
{
	struct bpf_fib_lookup params = { .family = AF_INET6 };

	*(union sixlane_addr *)params.ipv6_dst = *addr;
	/* 2001:db8::1, a host that packets come from */
	params.ipv6_src[0] = bpf_htonl(0x20010db8);
	params.ipv6_src[3] = bpf_htonl(1);
	return fib_find(ctx, packet, &params);
}

WALK_ENGINE(kernel4)
{
	struct bpf_fib_lookup params = { .family = AF_INET };

	params.ipv4_dst = addr->words[0];
	params.ipv4_src = bpf_htonl(0xc6336401); /* 198.51.100.1 */
	return fib_find(ctx, packet, &params);
}
