// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink parsers on what a kernel really sent (captures.txt): each message is accepted by its
 * own parsers only, and every field is as that file says. Damaged copies of the messages break no
 * contract, and AddressSanitizer sees no read beyond their end.
 */

#include "../unit.h"

#include <string.h>

#include "../../../user/lib/util.h"
#include "messages.h"

static struct parsed parsed;

static void every_field(void **state)
{
	size_t n;
	const struct capture *all = captures(&n);

	assert_true(n > 100);
	for (size_t i = 0; i < n; i++) {
		assert_true(parse_all(all[i].bytes, all[i].size, &parsed) >= 0);
		if (strcmp(parsed_text(&parsed), all[i].parsed) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", all[i].name, parsed_text(&parsed),
				 all[i].parsed);
	}
}

static void cut_at_every_byte(void **state)
{
	size_t n;
	const struct capture *all = captures(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t size = sizeof(struct nlmsghdr); size < all[i].size; size++)
			assert_true(parse_all(all[i].bytes, size, &parsed) >= 0);
}

static void every_byte_changed(void **state)
{
	static const uint8_t values[] = { 0, 1, 3, 5, 0x7f, 0x80, 0xff };
	size_t n;
	const struct capture *all = captures(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t at = sizeof(uint32_t); at < all[i].size; at++) {
			uint8_t original = all[i].bytes[at];

			for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
				all[i].bytes[at] = values[v];
				assert_true(parse_all(all[i].bytes, all[i].size, &parsed) >= 0);
			}
			all[i].bytes[at] = original;
		}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_byte_changed),
	};

	return cmocka_run_group_tests_name("captures", tests, NULL, NULL);
}
