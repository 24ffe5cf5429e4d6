// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of sl_samples, and the word by which a sample is asked for.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "maps_internal.h"

struct maps_samples {
	struct ring_buffer *ring;
	struct sixlane_sample *out; /* in maps_samples_read() */
	size_t n, max;
};

/* libbpf consumes the record before it looks at the result, so that none is lost. */
static int read_one(void *ctx, void *data, size_t bytes)
{
	struct maps_samples *samples = ctx;

	if (bytes >= sizeof(*samples->out))
		memcpy(&samples->out[samples->n++], data, sizeof(*samples->out));
	return samples->n >= samples->max ? -ECANCELED : 0;
}

int maps_samples_open(const struct maps *maps, struct maps_samples **out)
{
	struct maps_samples *samples = calloc(1, sizeof(*samples));
	int rc;

	if (!samples)
		return -ENOMEM;
	samples->ring = ring_buffer__new(maps->fd[LOADER_SAMPLES], read_one, samples, NULL);
	if (!samples->ring) {
		rc = -errno;
		free(samples);
		return rc;
	}
	*out = samples;
	return 0;
}

void maps_samples_close(struct maps_samples *samples)
{
	if (!samples)
		return;
	ring_buffer__free(samples->ring);
	free(samples);
}

int maps_samples_fd(const struct maps_samples *samples)
{
	return ring_buffer__epoll_fd(samples->ring);
}

int maps_samples_read(struct maps_samples *samples, struct sixlane_sample *out, size_t max)
{
	int rc;

	samples->out = out;
	samples->n = 0;
	samples->max = max;
	if (!max)
		return 0;
	rc = ring_buffer__consume(samples->ring);
	return rc < 0 && rc != -ECANCELED ? rc : (int)samples->n;
}

/* The packet that finds `used` at 0 looks at `draw`. */
bool maps_sample_draw(struct maps *maps, uint32_t slot)
{
	ATOMIC_STORE(&maps->neighbours[slot].draw, 1);
	return __atomic_exchange_n(&maps->neighbours[slot].used, 0, __ATOMIC_ACQ_REL) != 0;
}
