// SPDX-License-Identifier: GPL-2.0-only
/* The store of addresses against an array, and which addresses it stores. */
#include "rib_unit.h"
#include <arpa/inet.h>
#include <linux/if_addr.h>

#include "../../../user/rib/addrs.h"

#define MANY 1000u

/* The n-th address. Neither addresses nor devices are in order. */
static struct address make(uint32_t n)
{
	uint32_t mixed = n * 2654435761u;
	struct address address = { .ifindex = 1 + mixed % 7, .flags = IFA_F_PERMANENT };

	address.addr.bytes[0] = 0x20;
	memcpy(&address.addr.bytes[8], &n, sizeof(n));
	memcpy(&address.addr.bytes[4], &mixed, sizeof(mixed));
	return address;
}

static bool set(struct addrs *addrs, const struct address *address)
{
	bool changed;

	assert_int_equal(addrs_set(addrs, address, &changed), 0);
	return changed;
}

/* flags: of each address; 0: it is not there. */
static void check(const struct addrs *addrs, const uint32_t flags[MANY])
{
	size_t n = 0, of, expected = 0;
	uint32_t which;

	for (uint32_t ifindex = 0; ifindex < 10; ifindex++) {
		const struct addrs_entry *first = addrs_of(addrs, ifindex, &of);

		for (size_t i = 0; i < of; i++) {
			assert_int_equal(first[i].address.ifindex, ifindex);
			assert_true(!i || memcmp(&first[i - 1].address.addr, &first[i].address.addr,
						 sizeof(first->address.addr)) < 0);
			memcpy(&which, &first[i].address.addr.bytes[8], sizeof(which));
			assert_int_equal(first[i].address.flags, flags[which]);
		}
		n += of;
	}
	for (uint32_t i = 0; i < MANY; i++)
		expected += flags[i] != 0;
	assert_int_equal(n, expected);
	assert_int_equal(addrs->n, expected);
}

static void test_random(void **state)
{
	static uint32_t flags[MANY];
	struct addrs addrs = { 0 };
	uint32_t random = 1;

	for (unsigned int step = 1; step <= 20000; step++) {
		uint32_t i = (random = random * 1664525u + 1013904223u) / 7 % MANY, old = flags[i];
		struct address address = make(i);

		flags[i] = step % 3 ? address.flags |= step % 2 ? IFA_F_DEPRECATED : 0 : 0;
		address.expires = step % 5; /* for its route, not here */
		if (flags[i])
			assert_int_equal(set(&addrs, &address), flags[i] != old);
		else
			assert_int_equal(addrs_delete(&addrs, address.ifindex, &address.addr),
					 old != 0);
		assert_false(addrs_delete(&addrs, 99, &address.addr));
		if (step % 2000 == 0) {
			check(&addrs, flags);
			addrs_mark(&addrs);
			for (i = 0; i < MANY; i += 5) {
				address = make(i);
				set(&addrs, &address);
			}
			for (i = 0; i < MANY; i++)
				flags[i] = i % 5 ? 0 : IFA_F_PERMANENT;
			addrs_sweep(&addrs);
			check(&addrs, flags);
		}
	}
	addrs_clear(&addrs);
}

/* Until it is announced; and what is announced counts. */
static void test_unannounced(void **state)
{
	struct address address = make(1);
	struct addrs addrs = { 0 };
	bool changed;

	for (int again = 0; again < 2; again++) {
		assert_int_equal(
			addrs_set_unannounced(&addrs, address.ifindex, &address.addr, &changed), 0);
		assert_int_equal(changed, !again);
		assert_int_equal(addrs.n, 1);
		assert_int_equal(addrs.list->address.flags, IFA_F_TENTATIVE | IFA_F_OPTIMISTIC);
	}
	assert_true(set(&addrs, &address));
	assert_int_equal(addrs_set_unannounced(&addrs, address.ifindex, &address.addr, &changed),
			 0);
	assert_false(changed);
	assert_int_equal(addrs.list->address.flags, IFA_F_PERMANENT);
	address.addr.words[0] = htobe32(0xfe800000);
	assert_int_equal(addrs_set_unannounced(&addrs, address.ifindex, &address.addr, &changed),
			 0);
	assert_int_equal(addrs.n, 1);
	addrs_clear(&addrs);
}

static void test_what_is_kept(void **state)
{
	static const struct {
		const char *text;
		bool kept, site;
	} rows[] = {
		{ "2001:db8::1", true, false }, { "fd00::1", true, false },
		{ "fc00::1", true, false },	{ "fec0::1", true, true },
		{ "feff::1", true, true },	{ "fe80::1", false, false },
		{ "febf::1", false, false },	{ "::1", false, false },
		{ "ff02::1", false, false },	{ "::ffff:1.2.3.4", true, false },
		{ "::2", true, false },		{ "fe7f::1", true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct address address = { .ifindex = 1 };
		struct addrs addrs = { 0 };

		assert_int_equal(inet_pton(AF_INET6, rows[i].text, &address.addr), 1);
		assert_int_equal(set(&addrs, &address), rows[i].kept);
		assert_int_equal(addrs.n, rows[i].kept);
		assert_int_equal(address_is_site_local(&address.addr), rows[i].site);
		addrs_clear(&addrs);
	}
}

static void test_device_down(void **state)
{
	struct address address = { .addr.bytes = { 0x20 }, .ifindex = 2 };
	struct addrs addrs = { 0 };

	assert_false(addrs_device_down(&addrs, 2));
	set(&addrs, &address);
	address.addr.bytes[15] = 1;
	address.flags = IFA_F_NODAD;
	set(&addrs, &address);
	address.ifindex = 3;
	address.flags = 0;
	set(&addrs, &address);
	assert_true(addrs_device_down(&addrs, 2));
	assert_false(addrs_device_down(&addrs, 2));
	assert_int_equal(addrs.list[0].address.flags, IFA_F_TENTATIVE);
	assert_int_equal(addrs.list[1].address.flags, IFA_F_NODAD);
	assert_int_equal(addrs.list[2].address.flags, 0);
	addrs_clear(&addrs);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_unannounced),
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_device_down),
	};

	return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
