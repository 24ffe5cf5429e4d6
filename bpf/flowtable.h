/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet belongs to a flow of a flowtable, which the kernel forwards past netfilter's
 * rules by the same device and next hop.
 *
 * bpf_xdp_flow_lookup() exists since Linux 6.11, in a module; a program that calls a missing
 * function does not load. So this is a stub that returns 0. Where the kernel has flowtables, the
 * daemon replaces it by sixlane.flows.bpf.c (BPF_PROG_TYPE_EXT).
 */
#ifndef SIXLANE_FLOWTABLE_H
#define SIXLANE_FLOWTABLE_H

#include "packet.h"

/*
 * egress: ifindex. next_hop: the neighbour's address in network order; of an on-link route the
 * destination. 1: the kernel would forward the packet so; the flow's timeout was renewed. 0: not
 * known.
 */
__attribute__((noinline)) int flowtable_forwards(struct xdp_md *ctx, __u32 egress,
						 __u64 next_hop_high, __u64 next_hop_low)
{
	int forwards = 0;

	/* keeps the compiler from replacing calls by the constant result */
	asm volatile(""
		     : "+r"(forwards)
		     : "r"(ctx), "r"(egress), "r"(next_hop_high), "r"(next_hop_low));
	return forwards;
}

#endif
