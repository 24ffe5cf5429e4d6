/* SPDX-License-Identifier: GPL-2.0-only */
/* sl_rules: two lists of policy-routing rules, of which sl_meta names the one in use. */
#ifndef USER_MAPS_RULES_H
#define USER_MAPS_RULES_H

#include <stdbool.h>

#include "../rib/prefix.h"

struct maps;

/* Whether the list in use is this one. */
bool maps_has_rules(const struct maps *maps, const struct sixlane_rule *rules, uint32_t n);
/*
 * Publish a list as a whole, beside the one in use. 0: no packet is under way that came before the
 * call; or -errno: the old list stays.
 */
int maps_set_rules(struct maps *maps, const struct sixlane_rule *rules, uint32_t n);

#endif
