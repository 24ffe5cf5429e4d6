/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A token bucket of one CPU, kept as one time stamp: the time at which the bucket would have been
 * empty. The further it is in the past, the more tokens there are, up to the burst. Knows nothing
 * of what the tokens are for.
 */
#ifndef SIXLANE_BUCKET_H
#define SIXLANE_BUCKET_H

#include "maps.h"

/* Takes a token. False: there is none. Plain stores: see verdict_count(). */
static __always_inline int bucket_take(__u64 *filled_ns, __u64 each_ns, __u64 burst)
{
	const __u64 now_ns = bpf_ktime_get_ns(), most_ns = burst * each_ns;
	__u64 start_ns = *filled_ns;

	if (now_ns - start_ns > most_ns)
		start_ns = now_ns - most_ns;
	if (now_ns - start_ns < each_ns)
		return 0;
	*filled_ns = start_ns + each_ns;
	return 1;
}

#endif
