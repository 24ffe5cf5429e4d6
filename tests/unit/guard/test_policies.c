// SPDX-License-Identifier: GPL-2.0-only
/* The list of policies and the entries for the datapath must punt the same packets. */
#include "../unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/xfrm.h>
#include <string.h>

#include "../../../user/guard/policies.h"
#include "../../../user/lib/util.h"
#include "../../../user/rib/radix.h"

/* sl_policies, as a list. */
struct entries {
	struct {
		struct sixlane_route_key key;
		uint32_t value;
	} at[SIXLANE_MAX_POLICIES];
	size_t n;
};

static struct entries entries;

static void add(struct policies *policies, const char *src, const char *dst, uint32_t priority)
{
	struct policy policy = { .dir = XFRM_POLICY_OUT,
				 .index = 8 * priority + 1,
				 .priority = priority };

	assert_int_equal(prefix_parse(src, &policy.src), 0);
	assert_int_equal(prefix_parse(dst, &policy.dst), 0);
	assert_int_equal(policies_add(policies, &policy), 0);
}

static int store_entry(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct entries *e = ctx;

	assert_true(e->n < SIXLANE_MAX_POLICIES);
	assert_int_not_equal(value, 0);
	assert_in_range(key->prefix_len, SIXLANE_TABLE_BITS, SIXLANE_TABLE_BITS + 128);
	e->at[e->n].key = *key;
	e->at[e->n++].value = value;
	return 0;
}

static void make_entries(const struct policies *policies)
{
	entries.n = 0;
	assert_int_equal(policies_entries(policies, store_entry, &entries), 0);
}

/* The value of the longest match, or 0. */
static uint32_t lookup(uint32_t table, const union sixlane_addr *addr)
{
	const struct prefix wanted = { .addr = *addr, .len = 128 };
	uint32_t value = 0, longest = 0;

	for (size_t i = 0; i < entries.n; i++) {
		const struct sixlane_route_key *key = &entries.at[i].key;
		struct prefix prefix = { .addr = key->addr,
					 .len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS) };

		if (ntohl(key->table) != table || !prefix_covers(&prefix, &wanted) ||
		    key->prefix_len < longest)
			continue;
		assert_int_not_equal(key->prefix_len, longest); /* no key twice */
		longest = key->prefix_len;
		value = entries.at[i].value;
	}
	return value;
}

static bool is_punted(const union sixlane_addr *src, const union sixlane_addr *dst)
{
	uint32_t set = lookup(0, dst);

	return set && lookup(set, src);
}

#define A "2001:db8:a::/64"
#define B "2001:db8:b::/64"

static const struct {
	const char *name;
	struct {
		const char *src, *dst;
		uint32_t priority; /* the index is 8 times that and 1 */
	} policies[4];
	struct {
		const char *src, *dst;
		const char *text; /* of the policy that punts; NULL: none */
	} packets[5];
	size_t n_entries;
} rows[] = {
	{ "no policy", { { NULL } }, { { "2001:db8:a::1", "2001:db8:b::1", NULL } }, 0 },
	{ "both prefixes",
	  { { A, B, 5 } },
	  { { "2001:db8:a::1", "2001:db8:b::1", "policy out " A " to " B ", index 41, priority 5" },
	    { "2001:db8:c::1", "2001:db8:b::1", NULL },
	    { "2001:db8:a::1", "2001:db8:c::1", NULL },
	    { "2001:db8:b::1", "2001:db8:a::1", NULL } },
	  2 },
	/* Three destinations; one source, two, and ::/0 alone. */
	{ "policies of wider destinations punt, too",
	  { { "2001:db8:1::/48", "2001:db8::/32", 1 },
	    { "2001:db8:2::/48", "2001:db8:b::/48", 2 },
	    { "::/0", "2001:db8:b::5/128", 3 } },
	  { { "2001:db8:1::1", "2001:db8:b::1",
	      "policy out 2001:db8:1::/48 to 2001:db8::/32, index 9, priority 1" },
	    { "2001:db8:2::1", "2001:db8:b::1",
	      "policy out 2001:db8:2::/48 to 2001:db8:b::/48, index 17, priority 2" },
	    { "2001:db8:2::1", "2001:db8:c::1", NULL },
	    { "2001:db8:3::1", "2001:db8:b::5",
	      "policy out ::/0 to 2001:db8:b::5/128, index 25, priority 3" } },
	  3 + 1 + 2 + 1 },
	{ "priority",
	  { { "::/0", "::/0", 7 },
	    { "2001:db8::/32", "::/0", 2 },
	    { "2001:db8:1::/48", "::/0", 9 } },
	  { { "2001:db8:1::1", "::1", "policy out 2001:db8::/32 to ::/0, index 17, priority 2" },
	    { "2001:db7::1", "::1", "policy out ::/0 to ::/0, index 57, priority 7" } },
	  2 },
};

static void check_packet(const struct policies *policies, const char *src, const char *dst,
			 const char *text)
{
	const struct policy *policy;
	union sixlane_addr s, d;
	char reason[GUARD_REASON_LEN] = "";

	assert_int_equal(inet_pton(AF_INET6, src, &s), 1);
	assert_int_equal(inet_pton(AF_INET6, dst, &d), 1);
	policy = policies_find(policies, &s, &d);
	if (policy)
		policy_format(policy, reason);
	assert_string_equal(reason, text ? text : "");
	assert_int_equal(is_punted(&s, &d), policy != NULL);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(policies_freep) struct policies *policies = policies_new();

		for (size_t j = 0; rows[i].policies[j].src; j++)
			add(policies, rows[i].policies[j].src, rows[i].policies[j].dst,
			    rows[i].policies[j].priority);
		make_entries(policies);
		assert_int_equal(entries.n, rows[i].n_entries);
		for (size_t j = 0; rows[i].packets[j].src; j++)
			check_packet(policies, rows[i].packets[j].src, rows[i].packets[j].dst,
				     rows[i].packets[j].text);
	}
}

/* n policies, in whose prefixes %x is their number. */
static void add_many(struct policies *policies, unsigned int n, const char *src, const char *dst)
{
	char texts[2][64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(texts[0], sizeof(texts[0]), src, i);
		snprintf(texts[1], sizeof(texts[1]), dst, i);
		add(policies, texts[0], texts[1], i);
	}
}

/* Equal sets are stored once, and none where the next wider destination has it. */
static void test_shared_sets(void **state)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();

	add_many(policies, 100, "2001:db8:a::/64", "2001:db8:%x::/48");
	add_many(policies, 100, "2001:db8:b::/64", "2001:db8:%x::/48");
	add_many(policies, 100, "2001:db8:b::/72", "2001:db8:%x:1::/64");
	make_entries(policies);
	assert_int_equal(entries.n, 100 + 2);
}

static void test_too_many_policies(void **state)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();

	add_many(policies, POLICIES_MAX, "::/0", "2001:db8:%x::/48");
	assert_string_equal(policies->all, "");
	make_entries(policies);
	assert_int_equal(entries.n, POLICIES_MAX + 1);
	add(policies, "::/0", "2001:db9::/32", 1);
	assert_string_equal(policies->all, "more than 16384 IPsec policies");
	assert_int_equal(policies->n, POLICIES_MAX);
}

static int fail_entry(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	++*(int *)ctx;
	return -EIO;
}

/* n sources by ::/0, and one more by n destinations below it: two sets, however often merged. */
static void add_nested(struct policies *policies, unsigned int n)
{
	add_many(policies, n, "2001:db8:%x::/48", "::/0");
	add_many(policies, n, "2001:db9::/32", "2001:db8:%x::/48");
}

static void expect_too_big(const struct policies *policies)
{
	int calls = 0;

	assert_int_equal(policies_entries(policies, fail_entry, &calls), -E2BIG);
	assert_int_equal(calls, 0);
}

/* Every destination has a set of its own, which holds that of ::/0. */
static void test_too_many_entries(void **state)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();

	add_nested(policies, 1000);
	make_entries(policies);
	assert_int_equal(entries.n, 1001 + 1000 + 1001);
	add_many(policies, 80, "2001:db7:%x::/48", "2001:db7:%x::/48");
	expect_too_big(policies);
}

/* Merged sets without new entries are bounded, too. */
static void test_too_much_work(void **state)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();

	add_nested(policies, POLICIES_MAX / 2);
	expect_too_big(policies);
}

static void test_error_of_caller(void **state)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();
	int calls = 0;

	add(policies, "::/0", "::/0", 1);
	assert_int_equal(policies_entries(policies, fail_entry, &calls), -EIO);
	assert_int_equal(calls, 1);
}

static void test_icmp(void **state)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();
	struct policy policy = { .dir = XFRM_POLICY_FWD, .index = 18, .icmp = true };

	add(policies, "::/0", "2001:db8::/32", 1);
	assert_string_equal(policies->icmp_errors, "");
	assert_int_equal(policies_add(policies, &policy), 0);
	assert_string_equal(policies->icmp_errors, "policy fwd ::/0 to ::/0, index 18, priority 0");
}

/* --- random sets -------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t bound)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % bound;
}

/* Few bits differ, at both ends and in the middle, so that prefixes often lie in each other. */
static union sixlane_addr random_address(void)
{
	union sixlane_addr addr = {
		.bytes = { (uint8_t)(0x20 | random_below(2) << 7), [7] = (uint8_t)random_below(4),
			   [8] = (uint8_t)(random_below(2) << 7), [15] = (uint8_t)random_below(4) }
	};

	return addr;
}

static struct prefix random_prefix(void)
{
	static const uint8_t lengths[] = { 0, 1, 2, 3, 62, 63, 64, 65, 66, 126, 127, 128 };
	struct prefix prefix = { .addr = random_address() };

	prefix.len = random_below(4) ? lengths[random_below(ARRAY_SIZE(lengths))]
				     : (uint8_t)random_below(129);
	prefix_mask(&prefix);
	return prefix;
}

static void check_random_set(unsigned int n)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();

	for (unsigned int i = 0; i < n; i++) {
		struct policy policy = { .dir = XFRM_POLICY_FWD,
					 .src = random_prefix(),
					 .dst = random_prefix() };

		assert_int_equal(policies_add(policies, &policy), 0);
	}
	make_entries(policies);
	for (int i = 0; i < 100; i++) {
		const union sixlane_addr src = random_address(), dst = random_address();

		assert_int_equal(is_punted(&src, &dst),
				 policies_find(policies, &src, &dst) != NULL);
	}
}

static void test_random(void **state)
{
	for (int i = 0; i < 4000; i++)
		check_random_set(random_below(i % 50 ? 12 : 100));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_shared_sets),
		cmocka_unit_test(test_too_many_policies),
		cmocka_unit_test(test_too_many_entries),
		cmocka_unit_test(test_too_much_work),
		cmocka_unit_test(test_error_of_caller),
		cmocka_unit_test(test_icmp),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
