// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The compiled FIB, as the datapath reads it: from the word in sl_meta on, by the same function. */
#include "../../bpf/route.h"

#include "lookup_walk.h"

static __always_inline __u32 find(struct xdp_md *ctx, const struct bench_packet *packet,
				  const union sixlane_addr *addr)
{
	const struct sixlane_meta *meta;
	__u32 key = 0, root;

	(void)ctx;
	(void)packet;
	meta = bpf_map_lookup_elem(&sl_meta, &key);
	root = meta ? READ_ONCE(meta->fib.main) : 0;
	if (!root)
		return 0;
	return compiled_find(root, bpf_be64_to_cpu(addr->halves[0]),
			     bpf_be64_to_cpu(addr->halves[1]));
}
BENCH_ENGINE(compiled, find)
