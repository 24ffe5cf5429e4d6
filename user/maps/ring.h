/* SPDX-License-Identifier: GPL-2.0-only */
/* The reader of a ring of records that the datapath writes: sl_icmp_events, sl_samples. */
#ifndef USER_MAPS_RING_H
#define USER_MAPS_RING_H

#include "../loader/loader.h"

struct maps;
struct maps_ring;

/* One reader at a time. 0 or -errno. */
int maps_ring_open(const struct maps *maps, enum loader_map map, size_t record_bytes,
		   struct maps_ring **out);
void maps_ring_close(struct maps_ring *ring);
/* Readable when there are records. */
int maps_ring_fd(const struct maps_ring *ring);
/* Consume at most max records into out. Returns their number, or -errno. */
int maps_ring_read(struct maps_ring *ring, void *out, size_t max);

#endif
