// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whichever allocation fails, the ruleset punts every packet, and gives the reason. The code is
 * compiled into this test with allocations that fail on request.
 */
#include "../../unit.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations that still succeed; negative: all do. */
static int allocations_left = -1;

static bool allocation_fails(void)
{
	if (allocations_left > 0)
		allocations_left--;
	return allocations_left == 0;
}

static void *calloc_or_fail(size_t n, size_t size)
{
	return allocation_fails() ? NULL : calloc(n, size);
}

static void *realloc_or_fail(void *old, size_t size)
{
	return allocation_fails() ? NULL : realloc(old, size);
}

static char *strdup_or_fail(const char *text)
{
	return allocation_fails() ? NULL : strdup(text);
}

static void *tsearch_or_fail(const void *key, void **root,
			     int (*compare)(const void *, const void *))
{
	return allocation_fails() ? NULL : tsearch(key, root, compare);
}

#define calloc calloc_or_fail
#define realloc realloc_or_fail
#undef strdup
#define strdup strdup_or_fail
#define tsearch tsearch_or_fail
#include "../../../../user/guard/ruleset.c"
#include "../../../../user/guard/ruleset_devices.c"
#include "../../../../user/guard/ruleset_query.c"
#include "../../../../user/guard/ruleset_registers.c"
#include "../../../../user/guard/ruleset_store.c"
#undef calloc
#undef realloc
#undef strdup
#undef tsearch

#include "../ruleset_text.h"

/* Some of each kind, so that each array grows. Packets from the lan meet nothing. */
static struct guard_ruleset *build(void)
{
	struct guard_ruleset *rules = guard_ruleset_new();

	if (!rules)
		return NULL;
	ruleset_text_add(rules, "base forward accept; base ingress accept at wan0; flowtable wan0\n"
				"set s 16; set m 16");
	for (unsigned int i = 0; i < 40; i++) {
		ruleset_text_add(rules, "set s 16; add s wan0; set m 16; add m wan0 : accept\n"
					"iifname = wan* do log; iifname @s iifname vmap m");
		guard_add_element(rules, 0, "wan0\0\0\0\0\0\0\0\0\0\0\0");
		guard_add_verdict_element(rules, 1, "wan0\0\0\0\0\0\0\0\0\0\0\0", GUARD_JUMP, 1);
	}
	return rules;
}

static void test_every_allocation(void **state)
{
	char reason[GUARD_REASON_LEN];
	unsigned int n_failed = 0;
	bool punted = true;

	for (int i = 1; punted; i++) {
		struct guard_ruleset *rules;

		allocations_left = i;
		rules = build();
		if (!rules)
			continue;
		punted = guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, &lan, &wan, reason);
		allocations_left = -1;
		if (punted) {
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
