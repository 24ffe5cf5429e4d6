/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sl_punted and sl_fresh: filters of destinations whose packets are the kernel's unless they have
 * an entry in sl_exceptions. The daemon owns the first. The second has two halves: the program adds
 * to one, and the daemon clears the other.
 */
#ifndef USER_MAPS_PUNTED_H
#define USER_MAPS_PUNTED_H

#include <stdbool.h>

#include "../rib/prefix.h"

struct maps;

/* filter is maps->punted or another of its layout, [SIXLANE_PUNTED_WORDS]. One writer. */
void maps_punted_add(uint64_t *filter, const union sixlane_addr *dst);
bool maps_punted_has(const uint64_t *filter, const union sixlane_addr *dst);
/* Replace sl_punted by this filter. */
void maps_punted_set(const struct maps *maps, const uint64_t *filter);

/* Whether dst is in either half of sl_fresh; whether anything is; the number of entries of a half.
 */
bool maps_fresh_has(const struct maps *maps, const union sixlane_addr *dst);
bool maps_fresh_any(const struct maps *maps);
uint32_t maps_fresh_count(const struct maps *maps, uint32_t half);
void maps_fresh_clear(const struct maps *maps, uint32_t half);
/*
 * The program adds to the other half from now on. 0: no packet is under way that uses the former
 * half; or -errno.
 */
int maps_fresh_switch(struct maps *maps);

/* SIXLANE_META_CHECK_PUNTED, which the program sets, too. _no_more clears it if nothing is fresh.
 */
bool maps_checks_punted(const struct maps *maps);
void maps_check_punted(const struct maps *maps);
void maps_uncheck_punted(const struct maps *maps);
/* Set all other flags of sl_meta. */
void maps_set_flags(const struct maps *maps, uint32_t flags);

#endif
