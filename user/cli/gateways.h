/* SPDX-License-Identifier: GPL-2.0-only */
/* Gateways that are not resolved, for one finding of `sixlane doctor`. */
#ifndef USER_CLI_GATEWAYS_H
#define USER_CLI_GATEWAYS_H

#include "check.h"

#define GATEWAYS_MAX 8

/* All zero at first. */
struct gateways {
	struct sixlane_neigh_key at[GATEWAYS_MAX];
	size_t n, more; /* more: those beyond GATEWAYS_MAX */
};

/* Adds a gateway unless it is there. */
void gateways_add(struct gateways *gateways, const union sixlane_addr *addr, uint32_t ifindex);
/* Reports checkup->gateways. */
void gateways_report(struct checkup *checkup);

#endif
