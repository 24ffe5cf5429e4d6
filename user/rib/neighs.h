/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's IPv6 neighbours, by device and address. Pure. */
#ifndef RIB_NEIGHS_H
#define RIB_NEIGHS_H

#include <stddef.h>

#include "prefix.h"

/* A neighbour, as a message has it. */
struct neigh {
	union sixlane_addr addr;
	uint32_t ifindex;
	uint16_t state; /* NUD_* */
	uint8_t flags;	/* NTF_* */
	bool has_mac;	/* NDA_LLADDR of 6 bytes, and no unknown attribute */
	uint8_t mac[6];
	uint32_t flags_ext;    /* NTF_EXT_*, NDA_FLAGS_EXT */
	uint16_t unknown_attr; /* 1 + type of an unknown attribute, for the log; 0: none */
};

struct neighs;

struct neighs *neighs_new(void);
void neighs_free(struct neighs *neighs);

/* Store or replace. 0 or -ENOMEM. */
int neighs_set(struct neighs *neighs, const struct neigh *neigh);
void neighs_delete(struct neighs *neighs, uint32_t ifindex, const union sixlane_addr *addr);
/* NULL: unknown. Valid until the next change. */
const struct neigh *neighs_find(const struct neighs *neighs, uint32_t ifindex,
				const union sixlane_addr *addr);

void neighs_each(const struct neighs *neighs, void (*fn)(void *ctx, const struct neigh *neigh),
		 void *ctx);

/* Mark and sweep: neighbours without neighs_set() since the mark are deleted. */
void neighs_mark(struct neighs *neighs);
void neighs_sweep(struct neighs *neighs);

/* A neighbour whose MAC may be used: NUD_VALID and an Ethernet address. */
bool neigh_usable(const struct neigh *neigh);

#endif
