/* SPDX-License-Identifier: GPL-2.0-only */
/* sl_guard and sl_policies: what firewall rules and IPsec policies hold back. */
#ifndef USER_MAPS_GUARD_H
#define USER_MAPS_GUARD_H

#include <stdbool.h>

#include "walk.h"

struct maps;

/* Whether no firewall rule can affect packets from one port's slot to another's. */
bool maps_pair_is_free(const struct maps *maps, uint32_t in_slot, uint32_t out_slot);
/* One thread writes; packets read. */
void maps_set_pair(struct maps *maps, uint32_t in_slot, uint32_t out_slot, bool is_free);
/* Hold back all pairs of a slot, which is about to be another device's. */
void maps_guard_clear(struct maps *maps, uint32_t slot);

struct maps_policy {
	struct sixlane_route_key key;
	uint32_t value;
};
/*
 * Replace all of sl_policies, as made by policies_entries(). The caller has set
 * SIXLANE_META_IPSEC_ALL; packets that came before are waited for. 0, or -errno: some may be
 * missing.
 */
int maps_set_policies(const struct maps *maps, const struct maps_policy *policies, size_t n);
/* Whether a policy covers both addresses; src NULL: whether one covers dst. */
bool maps_has_policy(const struct maps *maps, const union sixlane_addr *src,
		     const union sixlane_addr *dst);
int maps_policy_each(const struct maps *maps, maps_route_fn fn, void *ctx);

#endif
