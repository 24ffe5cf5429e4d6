// SPDX-License-Identifier: GPL-2.0-only
/* All that can be measured, in the order of a round. */
#include "../bench.h"

const struct bench_engine *const bench_engines[] = {
	&bench_compiled,  &bench_trie,		&bench_load,
	&bench_load_user, &bench_compiled_load, &bench_compiled_chunks,
	&bench_kernel6,	  &bench_kernel4,	&bench_dpdk_fib6,
	&bench_dpdk_lpm6,
};
const size_t bench_n_engines = ARRAY_SIZE(bench_engines);
