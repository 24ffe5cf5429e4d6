// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of sl_icmp_events, and how many hints were lost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "maps_internal.h"

struct maps_hints {
	struct ring_buffer *ring;
	void (*fn)(void *ctx, const struct sixlane_hint *hint);
	void *ctx;
	size_t n, max; /* in maps_hints_read() */
};

/* libbpf takes the record before it heeds the answer, so that an end asked for loses nothing. */
static int read_one(void *ctx, void *data, size_t bytes)
{
	struct maps_hints *hints = ctx;
	struct sixlane_hint hint;

	if (bytes >= sizeof(hint)) {
		memcpy(&hint, data, sizeof(hint));
		hints->fn(hints->ctx, &hint);
	}
	return ++hints->n >= hints->max ? -ECANCELED : 0;
}

int maps_hints_open(const struct maps *maps, void (*fn)(void *ctx, const struct sixlane_hint *hint),
		    void *ctx, struct maps_hints **out)
{
	struct maps_hints *hints = calloc(1, sizeof(*hints));
	int rc;

	if (!hints)
		return -ENOMEM;
	hints->fn = fn;
	hints->ctx = ctx;
	hints->ring = ring_buffer__new(maps->fd[LOADER_HINTS], read_one, hints, NULL);
	if (!hints->ring) {
		rc = -errno;
		free(hints);
		return rc;
	}
	*out = hints;
	return 0;
}

void maps_hints_close(struct maps_hints *hints)
{
	if (!hints)
		return;
	ring_buffer__free(hints->ring);
	free(hints);
}

int maps_hints_fd(const struct maps_hints *hints)
{
	return ring_buffer__epoll_fd(hints->ring);
}

int maps_hints_read(struct maps_hints *hints, size_t max)
{
	int rc;

	hints->n = 0;
	hints->max = max;
	if (!max)
		return 0;
	rc = ring_buffer__consume(hints->ring);
	return rc < 0 && rc != -ECANCELED ? rc : (int)hints->n;
}

int maps_hints_lost(const struct maps *maps, uint64_t *lost)
{
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct sixlane_cpu *cpus = NULL;
	const uint32_t zero = 0;
	uint64_t sum = 0;

	if (n_cpus <= 0)
		return n_cpus ? n_cpus : -EIO;
	cpus = calloc((size_t)n_cpus, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	if (bpf_map_lookup_elem(maps->fd[LOADER_CPU], &zero, cpus))
		return -errno;
	for (int cpu = 0; cpu < n_cpus; cpu++)
		sum += cpus[cpu].hints_lost;
	*lost = sum;
	return 0;
}
