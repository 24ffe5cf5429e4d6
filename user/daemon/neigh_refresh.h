/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the kernel's neighbour entries alive that only XDP uses, and has gateways resolved.
 */
#ifndef USER_DAEMON_NEIGH_REFRESH_H
#define USER_DAEMON_NEIGH_REFRESH_H

#include <stdint.h>

struct sync;

struct neigh_refresh {
	uint64_t *used; /* bitmap by neighbour slot: to be refreshed */
	uint32_t from;	/* word of it at which the next run starts */
};

static inline void neigh_refresh_mark(struct neigh_refresh *refresh, uint32_t slot)
{
	refresh->used[slot / 64] |= 1ull << slot % 64;
}

/* Refresh the neighbours that were used since the last call, at most 2048 of them. */
void neigh_refresh_run(struct sync *sync);

#endif
