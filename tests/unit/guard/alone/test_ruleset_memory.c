// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ruleset without memory: whichever allocation fails, it holds everything back, and says why. All
 * of it is built into this test with allocations that fail when told.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../unit.h"

/* Allocations that still succeed; negative: all do. */
static int allocations_left = -1;

static bool allocation_fails(void)
{
	if (allocations_left > 0)
		allocations_left--;
	return allocations_left == 0;
}

static void *calloc_unless_told(size_t n, size_t size)
{
	return allocation_fails() ? NULL : calloc(n, size);
}

static void *realloc_unless_told(void *old, size_t size)
{
	return allocation_fails() ? NULL : realloc(old, size);
}

static char *strdup_unless_told(const char *text)
{
	return allocation_fails() ? NULL : strdup(text);
}

static void *tsearch_unless_told(const void *key, void **root,
				 int (*compare)(const void *, const void *))
{
	return allocation_fails() ? NULL : tsearch(key, root, compare);
}

#define calloc calloc_unless_told
#define realloc realloc_unless_told
#undef strdup
#define strdup strdup_unless_told
#define tsearch tsearch_unless_told
#include "../../../../user/guard/ruleset.c"
#include "../../../../user/guard/ruleset_devices.c"
#include "../../../../user/guard/ruleset_query.c"
#include "../../../../user/guard/ruleset_registers.c"
#include "../../../../user/guard/ruleset_store.c"
#undef calloc
#undef realloc
#undef strdup
#undef tsearch

#include "../ruleset_rules.h"

/* Some of each kind. Without a drop or an effect that a packet from the lan may meet. */
static struct guard_ruleset *build(void)
{
	struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t forward, other, set, map;

	if (!rules)
		return NULL;
	forward = add_forward(rules, true);
	other = guard_add_chain(rules, 0, "other");
	guard_set_base(rules, other, GUARD_HOOK_INGRESS, true, "wan0", false);
	set = guard_add_set(rules, 16);
	map = guard_add_set(rules, 16);
	for (unsigned int i = 0; i < 40; i++) {
		set_name(rules, set, "wan0");
		map_name(rules, map, "wan0", GUARD_JUMP, other);
	}
	for (unsigned int i = 0; i < 40; i++) {
		add_rule(rules, forward);
		iifname(rules, "wan*");
		guard_effect(rules, "log");
	}
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_lookup(rules, set, 0, false);
	guard_lookup_verdict(rules, map, 0);
	return rules;
}

static void test_every_allocation(void **state)
{
	char reason[GUARD_REASON_LEN];
	unsigned int n_failed = 0;
	bool held = true;

	for (int i = 1; held; i++) {
		struct guard_ruleset *rules;

		allocations_left = i;
		rules = build();
		if (!rules)
			continue;
		held = guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, &lan, &wan, reason);
		allocations_left = -1;
		if (held) {
			n_failed++;
			assert_string_equal(reason, "out of memory for the rules");
		} else {
			assert_int_equal(guard_ruleset_error(rules), 0);
		}
		guard_ruleset_free(rules);
	}
	assert_true(n_failed > 10);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_allocation) };

	return cmocka_run_group_tests_name("ruleset without memory", tests, NULL, NULL);
}
