// SPDX-License-Identifier: GPL-2.0-only
/* What the generator sends to, and what it understands of a request. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/bench/generator/generator.h"
#include "../unit.h"

static char said[512];

static int begin(void **state)
{
	bench_keep_errors(said, sizeof(said));
	return 0;
}

/* --- destinations --------------------------------------------------------------------------- */

static struct bench_table table_of(const char *const *prefixes, size_t n)
{
	struct bench_table table = { .name = "test", .seed = 1, .n = n };

	table.prefixes = calloc(n, sizeof(*table.prefixes));
	assert_non_null(table.prefixes);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(prefix_parse(prefixes[i], &table.prefixes[i]), 0);
	assert_int_equal(bench_table_finish(&table), 0);
	return table;
}

#define TABLE(...) \
	table_of((const char *[]){ __VA_ARGS__ }, ARRAY_SIZE(((const char *[]){ __VA_ARGS__ })))

static void assert_range(const struct generator_range *range, const char *low, const char *high)
{
	struct prefix first, last;

	assert_int_equal(prefix_parse(low, &first), 0);
	assert_int_equal(prefix_parse(high, &last), 0);
	assert_memory_equal(&range->low, &first.addr, sizeof(range->low));
	assert_memory_equal(&range->high, &last.addr, sizeof(range->high));
}

static void test_whole_prefixes(void **state)
{
	static const struct {
		const char *prefix, *low, *high;
	} rows[] = {
		{ "2001:db8:7::/48", "2001:db8:7::", "2001:db8:7:ffff:ffff:ffff:ffff:ffff" },
		{ "2001:db8::1/128", "2001:db8::1", "2001:db8::1" },
		{ "2001:db8::2/127", "2001:db8::2", "2001:db8::3" },
		{ "2001:db8:0:1::/64", "2001:db8:0:1::", "2001:db8::1:ffff:ffff:ffff:ffff" },
		{ "2a00:8000::/17", "2a00:8000::", "2a00:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "::/0", "2000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "::/2", "2000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench_table table = TABLE(rows[i].prefix);
		struct generator_range ranges[4];
		size_t n = ARRAY_SIZE(ranges);

		assert_int_equal(generator_ranges(&table, GENERATOR_RANDOM, 1, ranges, &n), 0);
		assert_int_equal(n, 1);
		assert_range(ranges, rows[i].low, rows[i].high);
		bench_table_free(&table);
	}
}

static bool is_in(const struct bench_table *table, const struct generator_range *range)
{
	struct prefix low = { range->low, 128 }, high = { range->high, 128 };
	const struct radix_node *node = radix_match(&table->radix, &low);

	return node && node == radix_match(&table->radix, &high);
}

/* Each once; which ones the seed says. */
static void test_choice(void **state)
{
	struct bench_table table;
	struct generator_range first[100], again[100], others[100];
	size_t n = 100, more = 100;

	assert_int_equal(bench_table_named("1k", 1, &table), 0);
	assert_int_equal(generator_ranges(&table, GENERATOR_RANDOM, 5, first, &n), 0);
	assert_int_equal(n, 100);
	for (size_t i = 0; i < n; i++) {
		assert_true(is_in(&table, &first[i]));
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&first[i], &first[k], sizeof(*first));
	}
	assert_int_equal(generator_ranges(&table, GENERATOR_RANDOM, 5, again, &more), 0);
	assert_memory_equal(first, again, sizeof(first));
	assert_int_equal(generator_ranges(&table, GENERATOR_RANDOM, 6, others, &more), 0);
	assert_memory_not_equal(first, others, sizeof(first));
	bench_table_free(&table);
}

static void test_flow(void **state)
{
	struct bench_table table = TABLE("2001:db8::/32", "2400::/12");
	struct generator_range range[2];
	size_t n = 2;

	assert_int_equal(generator_ranges(&table, GENERATOR_FLOW, 1, range, &n), 0);
	assert_int_equal(n, 1);
	assert_memory_equal(&range->low, &range->high, sizeof(range->low));
	assert_true(is_in(&table, range));
	/* not the prefix itself, whose host part is zero */
	assert_int_not_equal(range->low.halves[1], 0);
	bench_table_free(&table);
}

static void test_misses(void **state)
{
	/* all of 2000::/3 but 3fff::/16 */
	struct bench_table table = TABLE("2000::/4", "3000::/5", "3800::/6", "3c00::/7", "3e00::/8",
					 "3f00::/9", "3f80::/10", "3fc0::/11", "3fe0::/12",
					 "3ff0::/13", "3ff8::/14", "3ffc::/15", "3ffe::/16");
	struct generator_range ranges[64];
	struct prefix hole;
	size_t n = ARRAY_SIZE(ranges);

	assert_int_equal(prefix_parse("3fff::/16", &hole), 0);
	assert_int_equal(generator_ranges(&table, GENERATOR_MISS, 1, ranges, &n), 0);
	assert_int_not_equal(n, 0);
	for (size_t i = 0; i < n; i++) {
		struct prefix low = { ranges[i].low, 128 }, high = { ranges[i].high, 128 };

		assert_true(prefix_covers(&hole, &low) && prefix_covers(&hole, &high));
	}
	bench_table_free(&table);
	table = TABLE("::/0", "2001:db8::/32");
	n = ARRAY_SIZE(ranges);
	assert_int_equal(generator_ranges(&table, GENERATOR_MISS, 1, ranges, &n), -ENOENT);
	assert_int_equal(n, ARRAY_SIZE(ranges));
	assert_non_null(strstr(said, "cover all addresses"));
	bench_table_free(&table);
}

/* --- requests ------------------------------------------------------------------------------- */

static const struct generator agent = {
	.source = &generator_pktgen,
	.tx = { { .name = "a", .mtu = 1500 }, { .name = "b", .mtu = 1400 } },
	.n_tx = 2,
};

#define MACS "'dst_macs':['2:0:0:0:0:1','02:00:00:00:00:02']"
#define REST "'src':'2001:db8::1','prefixes':'file','pattern':'random'"

static int parse(const char *text, struct generator_request *out)
{
	static json_t *json; /* the last one, to which the request points */
	char quoted[512];

	snprintf(quoted, sizeof(quoted), "%s", text);
	for (char *c = quoted; *c; c++)
		if (*c == '\'')
			*c = '"';
	json_decref(json);
	json = json_loads(quoted, 0, NULL);
	assert_non_null(json);
	snprintf(said, sizeof(said), "nothing");
	return generator_parse(&agent, json, out);
}

static void test_request(void **state)
{
	static const uint8_t second[6] = { 2, 0, 0, 0, 0, 2 };
	struct generator_request request;

	assert_int_equal(parse("{'seconds':0.5,'rate_pps':1e6,'frame_bytes':100,'seed':9," MACS
			       "," REST "}",
			       &request),
			 0);
	assert_int_equal(request.traffic.ns, 500000000);
	assert_int_equal(request.traffic.count, 0);
	assert_int_equal(request.traffic.rate_pps, 1000000);
	assert_int_equal(request.traffic.frame_bytes, 100);
	assert_int_equal(request.traffic.seed, 9);
	assert_int_equal(request.traffic.pattern, GENERATOR_RANDOM);
	assert_int_equal(request.traffic.src.bytes[15], 1);
	assert_memory_equal(request.dst_macs[1], second, sizeof(second));
	assert_string_equal(request.prefixes, "file");
	assert_int_equal(request.hops, 1);
	assert_false(request.latency);
	assert_int_equal(parse("{'count':7,'rate_pps':0.25," MACS "," REST "}", &request), 0);
	assert_int_equal(request.traffic.rate_pps, 1);
	assert_int_equal(parse("{'count':7,'rate_pps':99.5," MACS "," REST "}", &request), 0);
	assert_int_equal(request.traffic.rate_pps, 99);
	/* defaults, and the smaller MTU */
	assert_int_equal(parse("{'count':7,'seconds':null,'hops':0," MACS "," REST "}", &request),
			 0);
	assert_int_equal(request.traffic.count, 7);
	assert_int_equal(request.traffic.rate_pps, 0);
	assert_int_equal(request.traffic.frame_bytes, 82);
	assert_int_equal(request.hops, 0);
	assert_int_equal(parse("{'count':7,'frame_bytes':1418," MACS "," REST "}", &request), 0);
	assert_int_equal(parse("{'count':7," MACS
			       ",'src':'fd00::1','prefixes':'f','pattern':'miss'}",
			       &request),
			 0);
}

static void test_bad_requests(void **state)
{
	static const struct {
		const char *request, *word;
	} rows[] = {
		{ "{" MACS "," REST "}", "a duration is needed" },
		{ "{'seconds':-1," MACS "," REST "}", "a duration is needed" },
		{ "{'seconds':1e9," MACS "," REST "}", "a duration is needed" },
		{ "{'seconds':'1'," MACS "," REST "}", "a duration is needed" },
		{ "{'count':1.5," MACS "," REST "}", "count" },
		{ "{'count':1e300," MACS "," REST "}", "count" },
		{ "{'count':1,'rate_pps':-1," MACS "," REST "}", "rate_pps" },
		{ "{'count':1,'rate_pps':true," MACS "," REST "}", "rate_pps" },
		{ "{'count':1,'hops':32," MACS "," REST "}", "hops" },
		{ "{'count':1,'frame_bytes':81," MACS "," REST "}", "82 to 1418" },
		{ "{'count':1,'frame_bytes':1419," MACS "," REST "}", "82 to 1418" },
		{ "{'count':1,'dst_macs':['02:00:00:00:00:01']," REST "}", "list of 2" },
		{ "{'count':1,'dst_macs':'02:00:00:00:00:01'," REST "}", "list of 2" },
		{ "{'count':1,'dst_macs':['02:00:00:00:00:01',7]," REST "}", "is not a MAC" },
		{ "{'count':1,'dst_macs':['02:00:00:00:00:01','x']," REST "}", "is not a MAC" },
		{ "{'count':1," MACS ",'prefixes':'f','pattern':'random'}", "src" },
		{ "{'count':1," MACS ",'src':'::1','prefixes':'f','pattern':'random'}", "src" },
		{ "{'count':1," MACS ",'src':'fe80::1','prefixes':'f','pattern':'random'}", "src" },
		{ "{'count':1," MACS ",'src':'ff0e::1','prefixes':'f','pattern':'random'}", "src" },
		{ "{'count':1," MACS ",'src':'2001:db8::1','prefixes':'f'}", "pattern" },
		{ "{'count':1," MACS ",'src':'2001:db8::1','prefixes':'f','pattern':'syn'}",
		  "UDP only" },
		{ "{'count':1," MACS ",'src':'2001:db8::1','pattern':'random'}", "prefixes" },
		{ "{'count':1,'latency':true," MACS "," REST "}", "nothing receives" },
		{ "[]", "a duration is needed" },
	};
	struct generator_request request, before;

	memset(&before, 0x5a, sizeof(before));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		request = before;
		assert_int_not_equal(parse(rows[i].request, &request), 0);
		if (!strstr(said, rows[i].word))
			fail_msg("%s: %s", rows[i].request, said);
		assert_memory_equal(&request, &before, sizeof(request));
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_prefixes), cmocka_unit_test(test_choice),
		cmocka_unit_test(test_flow),	       cmocka_unit_test(test_misses),
		cmocka_unit_test(test_request),	       cmocka_unit_test(test_bad_requests),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
