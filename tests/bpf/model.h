/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath must do with a frame, written a second time in the plainest C: byte by byte,
 * with a linear search for the longest prefix. Shares the layouts with the datapath and no code.
 *
 * Of a route with several next hops the model accepts any that is up.
 */
#ifndef TESTS_BPF_MODEL_H
#define TESTS_BPF_MODEL_H

#include <stdbool.h>

#include "frame.h"
#include "world.h"

#define MODEL_ENTRIES 48

struct model_result {
	enum sixlane_verdict verdict;
	uint32_t slot;		       /* where it is counted */
	uint32_t egress;	       /* ifindex that it is redirected to, if forwarded */
	struct frame out;	       /* the frame afterwards */
	const union sixlane_addr *hit; /* in the world; NULL: no exception is hit */
	bool has_icmp_event;
	struct sixlane_icmp_event icmp_event;
};

/* Returns how many next-hop entries the frame may meet. */
size_t model_run(const struct world *world, uint32_t ingress, const struct frame *in,
		 struct model_result results[MODEL_ENTRIES]);

#endif
