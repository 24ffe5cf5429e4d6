// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store of addresses: sorted by device and address through whatever comes and goes.
 */
#include "rib_unit.h"
#include <arpa/inet.h>
#include <linux/if_addr.h>

#include "../../../user/rib/addrs.h"

#define MANY 1000u

/* In no order. */
static struct address make(uint32_t n)
{
	uint32_t mixed = n * 2654435761u;
	struct address address = { .ifindex = 1 + mixed % 7, .flags = IFA_F_PERMANENT };

	address.addr.bytes[0] = 0x20;
	memcpy(&address.addr.bytes[12], &mixed, sizeof(mixed));
	return address;
}

static bool set(struct addrs *addrs, const struct address *address)
{
	bool changed;

	assert_int_equal(addrs_set(addrs, address, &changed), 0);
	return changed;
}

static void check_order(const struct addrs *addrs)
{
	for (size_t i = 1; i < addrs->n; i++) {
		const struct address *a = &addrs->list[i - 1].address;
		const struct address *b = &addrs->list[i].address;

		assert_true(a->ifindex < b->ifindex ||
			    (a->ifindex == b->ifindex &&
			     memcmp(&a->addr, &b->addr, sizeof(a->addr)) < 0));
	}
}

static void test_set_and_delete(void **state)
{
	struct addrs addrs = { 0 };
	size_t n = 0, of;

	for (uint32_t i = 0; i < MANY; i++) {
		struct address address = make(i);

		assert_true(set(&addrs, &address));
		assert_false(set(&addrs, &address));
		address.expires = true; /* for the routes, not for whom it is kept here */
		assert_false(set(&addrs, &address));
		address.flags |= IFA_F_DEPRECATED;
		assert_true(set(&addrs, &address));
	}
	assert_int_equal(addrs.n, MANY);
	check_order(&addrs);
	for (uint32_t ifindex = 0; ifindex < 10; ifindex++) {
		const struct addrs_entry *first = addrs_of(&addrs, ifindex, &of);

		for (size_t i = 0; i < of; i++)
			assert_int_equal(first[i].address.ifindex, ifindex);
		n += of;
	}
	assert_int_equal(n, MANY);
	for (uint32_t i = 0; i < MANY; i += 2) {
		struct address address = make(i);

		assert_true(addrs_delete(&addrs, address.ifindex, &address.addr));
		assert_false(addrs_delete(&addrs, address.ifindex, &address.addr));
		assert_false(addrs_delete(&addrs, 99, &address.addr));
	}
	assert_int_equal(addrs.n, MANY / 2);
	check_order(&addrs);
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

static void test_sweep(void **state)
{
	struct addrs addrs = { 0 };

	for (uint32_t i = 0; i < MANY; i++) {
		struct address address = make(i);

		set(&addrs, &address);
	}
	addrs_mark(&addrs);
	for (uint32_t i = 0; i < MANY; i += 5) {
		struct address address = make(i);

		assert_false(set(&addrs, &address));
	}
	addrs_sweep(&addrs);
	assert_int_equal(addrs.n, MANY / 5);
	check_order(&addrs);
	for (uint32_t i = 0; i < MANY; i++) {
		struct address address = make(i);

		assert_int_equal(addrs_delete(&addrs, address.ifindex, &address.addr), i % 5 == 0);
	}
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
		cmocka_unit_test(test_set_and_delete), cmocka_unit_test(test_unannounced),
		cmocka_unit_test(test_sweep),	       cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_device_down),
	};

	return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
