// SPDX-License-Identifier: GPL-2.0-only
/* See draw.h. */
#include "draw.h"

#include <errno.h>

#include "../../user/bench/forward/forward_pattern.h"

int draw_targets(struct gen *gen, const char *file, uint64_t seed, uint32_t n)
{
	const struct forward_pattern pattern = { .kind = FORWARD_RANDOM };
	_cleanup_free_ union sixlane_addr *addresses = calloc(n, sizeof(*addresses));
	struct bench_table table;
	int ret;

	if (!addresses)
		return bench_fail(-ENOMEM, "%u destinations", n);
	ret = bench_table_file(file, seed, &table);
	if (ret)
		return ret;
	ret = forward_pattern_draw(&pattern, &table, seed, n, addresses) ?: gen_aim(gen, addresses);
	bench_table_free(&table);
	return ret;
}
