// SPDX-License-Identifier: GPL-2.0-only
/* See exceptions_count.h. */
#include "exceptions_count.h"

#include <errno.h>

#include "../bench.h"

#define STATS "/proc/thread-self/net/rt6_stats"

/* Routes of all tables, those of addresses among them; and what is learnt (rt6_stats_seq_show). */
static int read_kernel(uint64_t *routes, uint64_t *exceptions)
{
	FILE *file = fopen(STATS, "re");
	unsigned int n_routes, n_exceptions;
	int n;

	if (!file)
		return bench_fail(-errno, STATS);
	n = fscanf(file, "%*x %*x %*x %x %x", &n_routes, &n_exceptions);
	fclose(file);
	if (n != 2)
		return bench_bad(-EPROTO, STATS " is not as it was in other kernels");
	*routes = n_routes;
	*exceptions = n_exceptions;
	return 0;
}

int exceptions_count_kernel(uint64_t *out)
{
	uint64_t routes;

	return read_kernel(&routes, out);
}

struct sum {
	uint64_t entries, hits;
};

static int add_exception(void *ctx, const union sixlane_addr *dst,
			 const struct sixlane_exception *value)
{
	struct sum *sum = ctx;

	(void)dst;
	sum->entries++;
	sum->hits += value->hits;
	return 0;
}

int exceptions_count_ours(const struct maps *maps, uint64_t *entries, uint64_t *hits)
{
	struct sum sum = { 0 };
	int ret = maps_exception_each(maps, add_exception, &sum);

	if (ret)
		return bench_fail(ret, "cannot count sixlane's exceptions");
	if (entries)
		*entries = sum.entries;
	if (hits)
		*hits = sum.hits;
	return 0;
}

static int add_route(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	uint64_t *n = ctx;

	(void)key;
	(void)value;
	++*n;
	return 0;
}

int exceptions_count_all(const struct maps *maps, struct exceptions_counts *out)
{
	int ret;

	*out = (struct exceptions_counts){ 0 };
	ret = maps_route_each(maps, add_route, &out->routes);
	if (ret)
		return bench_fail(ret, "cannot count sixlane's routes");
	return exceptions_count_ours(maps, &out->exceptions, NULL)
		       ?: read_kernel(&out->kernel_routes, &out->kernel_exceptions);
}
