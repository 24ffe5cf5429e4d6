// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The compiled FIB, as the datapath reads it: from its head on, by the same function. */
#include "../../../bpf/route.h"

#include "walk.bpf.h"

WALK_ENGINE(compiled)
{
	const struct fib_memory memory = fib_open();
	const union sixlane_fib fib = { .word = fib_roots(&memory) };

	if (!fib.main)
		return 0;
	return compiled_find(&memory, fib.main, bpf_be64_to_cpu(addr->halves[0]),
			     bpf_be64_to_cpu(addr->halves[1]));
}
