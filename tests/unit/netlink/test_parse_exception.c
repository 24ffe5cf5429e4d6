// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of exceptions: what a kernel really told of them (netlink_captures.h), what is none,
 * and what must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../unit.h"
#include "netlink_build.h"
#include "netlink_messages.h"

#define SIX0 3 /* ifindex */

static const struct {
	const char *capture, *dst, *gateway;
	struct route_exception expected; /* without dst, hop and lifetime_ms */
} cases[] = {
	{ "exception_mtu",
	  "2001:db8:12::1",
	  "fe80::1",
	  { .table = RT_TABLE_MAIN,
	    .metric = 7,
	    .type = RTN_UNICAST,
	    .protocol = RTPROT_BIRD,
	    .mtu = 1300,
	    .expires = true } },
	{ "exception_mtu_lock",
	  "2001:db8:13::1",
	  NULL,
	  { .table = 70000,
	    .metric = 1024,
	    .type = RTN_UNICAST,
	    .protocol = RTPROT_BOOT,
	    .mtu = 1300,
	    .mtu_locked = true,
	    .expires = true } },
	{ "exception_source",
	  "2001:db8:14::1",
	  NULL,
	  { .table = RT_TABLE_MAIN,
	    .metric = 1024,
	    .type = RTN_UNICAST,
	    .protocol = RTPROT_BOOT,
	    .has_src = true,
	    .mtu = 1300,
	    .expires = true } },
	{ "exception_redirect",
	  "2001:db8:12::2",
	  "fe80::2",
	  { .table = RT_TABLE_MAIN, .metric = 7, .type = RTN_UNICAST, .protocol = RTPROT_BIRD } },
	{ "exception_redirect_on_link",
	  "2001:db8:12::3",
	  NULL,
	  { .table = RT_TABLE_MAIN, .metric = 7, .type = RTN_UNICAST, .protocol = RTPROT_BIRD } },
	{ "exception_get",
	  "2001:db8:12::1",
	  "fe80::1",
	  { .table = RT_TABLE_MAIN,
	    .metric = 7,
	    .type = RTN_UNICAST,
	    .protocol = RTPROT_BIRD,
	    .has_src = true,
	    .mtu = 1300,
	    .expires = true } },
};

static void captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(cases[i].capture);
		const struct route_exception *e = &cases[i].expected;
		struct route_exception out;

		print_message("%s\n", cases[i].capture);
		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_exception(nlh, &out), 0);
		assert_true(addr_is(&out.dst, cases[i].dst));
		assert_int_equal(out.hop.ifindex, SIX0);
		assert_int_equal(out.hop.has_gateway, cases[i].gateway != NULL);
		assert_true(addr_is(&out.hop.gateway, cases[i].gateway));
		assert_int_equal(out.table, e->table);
		assert_int_equal(out.metric, e->metric);
		assert_int_equal(out.type, e->type);
		assert_int_equal(out.protocol, e->protocol);
		assert_int_equal(out.has_src, e->has_src);
		assert_int_equal(out.mtu, e->mtu);
		assert_int_equal(out.mtu_locked, e->mtu_locked);
		assert_int_equal(out.expires, e->expires);
		/* a Path MTU is kept for ten minutes, and was a moment old */
		if (out.expires)
			assert_in_range(out.lifetime_ms, 590 * 1000, 600 * 1000);
		else
			assert_int_equal(out.lifetime_ms, 0);
	}
}

static void routes_are_none(void **state)
{
	static const char *const captures[] = { "route_gateway", "route_local", "route_get",
						"route_multipath", "route_del" };
	struct route_exception out;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(captures); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(captures[i]);

		assert_int_equal(parse_exception(nlh, &out), -ENOMSG);
	}
}

static struct nlmsghdr *build_exception(void)
{
	static const union sixlane_addr dst = { .bytes = { 0x20, 0x01, [15] = 1 } };
	struct nlmsghdr *nlh = build_route();
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	rtm->rtm_dst_len = 128;
	rtm->rtm_table = 77;
	rtm->rtm_flags = RTM_F_CLONED;
	mnl_attr_put(nlh, RTA_DST, sizeof(dst), &dst);
	return nlh;
}

static void built(void **state)
{
	struct route_exception out;
	struct nlmsghdr *nlh = build_exception();

	(void)state;
	/* no device: no kernel says so */
	assert_int_equal(PARSE(parse_exception, nlh, &out), -EBADMSG);
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
	assert_int_equal(out.table, 77);
	assert_int_equal(out.hop.ifindex, 5);
	assert_false(out.expires || out.mtu_locked || out.mtu || out.has_src);
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_dst_len = 127;
	assert_int_equal(PARSE(parse_exception, nlh, &out), -ENOMSG);
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_dst_len = 128;
	nlh->nlmsg_type = RTM_DELROUTE;
	assert_int_equal(PARSE(parse_exception, nlh, &out), -ENOMSG);
}

/* Another metric's lock is none of the MTU's. */
static void locks(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < 32; bit++) {
		struct nlmsghdr *nlh = build_exception();
		struct route_exception out;
		struct nlattr *nest;

		mnl_attr_put_u32(nlh, RTA_OIF, 5);
		nest = mnl_attr_nest_start(nlh, RTA_METRICS);
		mnl_attr_put_u32(nlh, RTAX_LOCK, 1u << bit);
		mnl_attr_put_u32(nlh, RTAX_MTU, 1400);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
		assert_int_equal(out.mtu, 1400);
		assert_int_equal(out.mtu_locked, bit == RTAX_MTU);
	}
}

/* One that is past its end and not collected yet is no redirect, which has none. */
static void over(void **state)
{
	const struct rta_cacheinfo info = { .rta_expires = -1 };
	struct nlmsghdr *nlh = build_exception();
	struct route_exception out;

	(void)state;
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(info), &info);
	assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
	assert_true(out.expires);
	assert_int_equal(out.lifetime_ms, 0);
}

/* What a kernel to come says of one, by itself or among its metrics. */
static void unknown(void **state)
{
	struct nlmsghdr *nlh = build_exception();
	struct route_exception out;
	struct nlattr *nest;

	(void)state;
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	nest = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_MTU, 1400);
	mnl_attr_nest_end(nlh, nest);
	assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
	assert_int_equal(out.unknown_attr, 0);
	mnl_attr_put_u32(nlh, 40, 1);
	assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
	assert_int_equal(out.unknown_attr, 41);
	assert_int_equal(out.mtu, 1400);
	nlh = build_exception();
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	nest = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_MAX + 1, 1400);
	mnl_attr_nest_end(nlh, nest);
	assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
	assert_int_equal(out.unknown_attr, RTA_METRICS + 1);
	mnl_attr_put_u32(nlh, 40, 1);
	assert_int_equal(PARSE(parse_exception, nlh, &out), 0);
	assert_int_equal(out.unknown_attr, 41); /* the first that was met in the message itself */
}

static void damaged(void **state)
{
	struct nlmsghdr *nlh = build_route();
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	struct route_exception out;

	(void)state;
	rtm->rtm_dst_len = 128;
	rtm->rtm_flags = RTM_F_CLONED;
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	assert_int_equal(PARSE(parse_exception, nlh, &out), -EBADMSG); /* no destination */
	nlh = build_exception();
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	mnl_attr_put_u16(nlh, RTA_METRICS, 1);
	assert_int_equal(PARSE(parse_exception, nlh, &out), -EBADMSG);
	nlh = build_exception();
	mnl_attr_put_u16(nlh, RTA_OIF, 5);
	assert_int_equal(PARSE(parse_exception, nlh, &out), -EBADMSG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured), cmocka_unit_test(routes_are_none),
		cmocka_unit_test(built),    cmocka_unit_test(locks),
		cmocka_unit_test(over),	    cmocka_unit_test(unknown),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests_name("parse_exception", tests, NULL, NULL);
}
