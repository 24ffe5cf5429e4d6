// SPDX-License-Identifier: GPL-2.0-only
/* sl_rules: two lists of policy-routing rules, of which sl_meta names the one in use. */
#include <errno.h>
#include <string.h>

#include "access.h"

bool maps_has_rules(const struct maps *maps, const struct sixlane_rule *rules, uint32_t n)
{
	const union sixlane_rules list = { .word = maps->meta->rules.word };

	return list.n == n && n <= SIXLANE_MAX_RULES && list.first <= SIXLANE_MAX_RULES &&
	       !memcmp(&maps->rules[list.first], rules, n * sizeof(*rules));
}

/*
 * Packets that came before the last change may still walk the unused list: hence the grace period
 * first. It comes for an unchanged list, too, since the caller may have punted tables.
 */
int maps_set_rules(struct maps *maps, const struct sixlane_rule *rules, uint32_t n)
{
	union sixlane_rules list = { .word = maps->meta->rules.word };
	int rc;

	if (n > SIXLANE_MAX_RULES)
		return -E2BIG;
	rc = maps_write_grace(maps);
	if (rc || maps_has_rules(maps, rules, n))
		return rc;
	list.first = list.first ? 0 : SIXLANE_MAX_RULES;
	list.n = n;
	memcpy(&maps->rules[list.first], rules, n * sizeof(*rules));
	ATOMIC_STORE(&maps->meta->rules.word, list.word);
	return 0;
}
