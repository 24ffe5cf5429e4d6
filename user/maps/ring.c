// SPDX-License-Identifier: GPL-2.0-only
/* The reader of a ring of records that the datapath writes: sl_icmp_events, sl_samples. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "access.h"

struct maps_ring {
	struct ring_buffer *ring;
	size_t record_bytes;
	/* Of the current maps_ring_read(): */
	uint8_t *out;
	size_t n, max; /* records */
};

/* libbpf consumes the record before it checks the result, so none is lost. */
static int read_one(void *ctx, void *data, size_t bytes)
{
	struct maps_ring *ring = ctx;

	if (bytes >= ring->record_bytes)
		memcpy(ring->out + ring->n++ * ring->record_bytes, data, ring->record_bytes);
	return ring->n >= ring->max ? -ECANCELED : 0;
}

int maps_ring_open(const struct maps *maps, enum loader_map map, size_t record_bytes,
		   struct maps_ring **out)
{
	struct maps_ring *ring = calloc(1, sizeof(*ring));
	int rc;

	if (!ring)
		return -ENOMEM;
	ring->record_bytes = record_bytes;
	ring->ring = ring_buffer__new(maps->fd[map], read_one, ring, NULL);
	if (!ring->ring) {
		rc = -errno;
		free(ring);
		return rc;
	}
	*out = ring;
	return 0;
}

void maps_ring_close(struct maps_ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->ring);
	free(ring);
}

int maps_ring_fd(const struct maps_ring *ring)
{
	return ring_buffer__epoll_fd(ring->ring);
}

int maps_ring_read(struct maps_ring *ring, void *out, size_t max)
{
	int rc;

	ring->out = out;
	ring->n = 0;
	ring->max = max;
	rc = ring_buffer__consume(ring->ring);
	return rc < 0 && rc != -ECANCELED ? rc : (int)ring->n;
}
