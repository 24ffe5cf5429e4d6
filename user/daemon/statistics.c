// SPDX-License-Identifier: GPL-2.0-only
#include "statistics.h"

#include "audit.h"
#include "daemon.h"
#include "exceptions.h"
#include "parity.h"

void statistics_write(struct sync *sync)
{
	const struct statistics *statistics = &sync->statistics;
	struct sixlane_meta *meta = sync->maps->meta;
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	meta->generation = statistics->generation;
	meta->routes = stats.routes;
	meta->next_hops = stats.next_hops;
	meta->neighbours = stats.neighbours;
	meta->sources = stats.sources;
	meta->buckets = stats.buckets;
	meta->routes_missing = stats.missing;
	meta->overruns = statistics->overruns;
	meta->sync_ns = statistics->sync_ns;
	meta->synced_at = statistics->synced_at;
	meta->malformed = statistics->malformed;
	meta->bypassed = sync->config->bypass;
	meta->max_routes = sync->config->max_routes;
	meta->exceptions = stats.exceptions;
	meta->max_exceptions = sync->config->max_exceptions;
	meta->fib_chunk_bytes = stats.compiled.chunk_bytes;
	meta->fib_used_bytes = stats.compiled.used_bytes;
	meta->fib_free_bytes = stats.compiled.free_bytes;
	meta->fib_nodes = stats.compiled.nodes;
	meta->fib_builds = stats.compiled.builds;
	meta->fib_failures = stats.compiled.failures;
	meta->fib_replans = stats.compiled.replans;
	meta->fib_build_ns = stats.compiled.build_ns;
	meta->fib_built_at = sync->compile.built_at;
	audit_write_meta(sync->audit, meta);
	parity_write_meta(sync, meta);
	exceptions_write_meta(sync, meta);
}
