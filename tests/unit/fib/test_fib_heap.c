// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap against a list that is searched: items come, move and go at random, and the smallest is
 * always first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../user/fib/heap.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

#define N_ITEMS 200u
#define N_STEPS 20000u

static uint64_t smallest(const struct fib_heap_item *items, size_t *n)
{
	uint64_t key = UINT64_MAX;

	*n = 0;
	for (size_t i = 0; i < N_ITEMS; i++) {
		if (!items[i].at)
			continue;
		++*n;
		if (items[i].key < key)
			key = items[i].key;
	}
	return key;
}

static void test_smallest_is_first(void **state)
{
	static struct fib_heap_item items[N_ITEMS];
	struct fib_heap heap = { 0 };
	uint64_t random = 1;
	size_t n;

	(void)state;
	assert_null(fib_heap_first(&heap));
	assert_int_equal(fib_heap_reserve(&heap, N_ITEMS), 0);
	for (uint32_t step = 0; step < N_STEPS; step++) {
		struct fib_heap_item *item;
		uint64_t least;

		random = random * 6364136223846793005u + 1442695040888963407u;
		item = &items[(random >> 33) % N_ITEMS];
		if ((random >> 60) % 3)
			fib_heap_set(&heap, item, (random >> 20) % 100);
		else
			fib_heap_remove(&heap, item);
		least = smallest(items, &n);
		assert_int_equal(heap.n, n);
		if (n)
			assert_int_equal(fib_heap_first(&heap)->key, least);
	}
	while (fib_heap_first(&heap))
		fib_heap_remove(&heap, fib_heap_first(&heap));
	assert_int_equal(heap.n, 0);
	fib_heap_free(&heap);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_smallest_is_first) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
