/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath must do with a frame, said a second time in the plainest C: byte by byte,
 * with a linear search for the longest prefix. Shares the layouts with the datapath and no code.
 */
#ifndef TESTS_BPF_MODEL_H
#define TESTS_BPF_MODEL_H

#include "frame.h"
#include "world.h"

struct model_result {
	enum sixlane_verdict verdict;
	uint32_t slot;	  /* where it is counted */
	uint32_t egress;  /* ifindex, if forwarded */
	struct frame out; /* the frame afterwards */
};

void model_run(const struct world *world, uint32_t ingress, const struct frame *in,
	       struct model_result *result);

#endif
