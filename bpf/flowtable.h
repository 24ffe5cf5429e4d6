/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet belongs to a flow that the kernel would forward, past the rules from prerouting
 * to postrouting, by the device and the next hop that sixlane has found.
 *
 * The kernel's function for it, bpf_xdp_flow_lookup(), is of Linux 6.11 and in a module, and a
 * program that calls what is not there does not load. So here stands a stub that returns 0, and
 * where the kernel has flowtables the daemon puts sixlane.flows.bpf.c in its place
 * (BPF_PROG_TYPE_EXT).
 */
#ifndef SIXLANE_FLOWTABLE_H
#define SIXLANE_FLOWTABLE_H

#include "packet.h"

/*
 * egress: ifindex. next_hop: the two halves of the address that its neighbour has, the destination
 * itself on a link, as they stand in packets. 1: the kernel would forward it so, and the flow lives
 * on, as by any packet of it; 0: not known to.
 */
__attribute__((noinline)) int flowtable_forwards(struct xdp_md *ctx, __u32 egress,
						 __u64 next_hop_high, __u64 next_hop_low)
{
	int forwards = 0;

	/* or else the compiler, which knows the answer, would not ask */
	asm volatile(""
		     : "+r"(forwards)
		     : "r"(ctx), "r"(egress), "r"(next_hop_high), "r"(next_hop_low));
	return forwards;
}

#endif
