// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of rules: on what a kernel really sent, and on built messages: selectors that may mean
 * more than is known, those that hold for no forwarded packet, and values at their limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../unit.h"
#include "netlink_build.h"
#include "netlink_messages.h"

/* Those that the oldest headers lack. */
enum {
	DSCP = 25,
	FLOWLABEL = 26,
	FLOWLABEL_MASK = 27,
	SPORT_MASK = 28,
	DPORT_MASK = 29,
	DSCP_MASK = 30,
};

struct rule_case {
	const char *capture;
	const char *src, *dst; /* NULL: :: */
	struct rule expected; /* but for prefixes' addresses; suppress_len 0: none, NO_DEFAULT: 0 */
};

#define NO_DEFAULT (-2)
#define TO_TABLE .action = FR_ACT_TO_TBL, .table = 100
#define ONE_PORT(port)                    \
	{                                 \
		.low = port, .high = port \
	}

static const struct rule_case rule_cases[] = {
	{ "rule_default_1", .expected = { .action = FR_ACT_TO_TBL, .table = 255 } },
	{ "rule_default_2",
	  .expected = { .action = FR_ACT_TO_TBL, .table = 254, .priority = 32766 } },
	{ "rule_plain", .expected = { .action = FR_ACT_TO_TBL, .table = 70000, .priority = 100 } },
	{ "rule_from",
	  .src = "2001:db8::", .expected = { TO_TABLE, .priority = 101, .src.len = 32 } },
	{ "rule_to",
	  .dst = "2001:db8::", .expected = { TO_TABLE, .priority = 102, .dst.len = 47 } },
	{ "rule_iif", .expected = { TO_TABLE, .priority = 103, .iif = "six0" } },
	{ "rule_iif_not_there", .expected = { TO_TABLE, .priority = 104, .iif = "sixteen" } },
	{ "rule_tos",
	  .expected = { TO_TABLE, .priority = 105, .tclass = 0xb8, .tclass_mask = 0xfc } },
	{ "rule_proto",
	  .expected = { TO_TABLE, .priority = 106, .has_ip_proto = true, .ip_proto = 58 } },
	{ "rule_sport", .expected = { TO_TABLE, .priority = 107, .has_ip_proto = true,
				      .ip_proto = 6, .has_sport = true, .sport = { 1000, 2000 } } },
	{ "rule_dport", .expected = { TO_TABLE, .priority = 108, .has_ip_proto = true,
				      .ip_proto = 17, .has_dport = true, .dport = ONE_PORT(53) } },
	{ "rule_not", .src = "2001:db8::",
	  .expected = { TO_TABLE, .priority = 109, .src.len = 32, .invert = true } },
	{ "rule_suppress", .expected = { .action = FR_ACT_TO_TBL,
					 .table = 254,
					 .priority = 110,
					 .suppress_len = NO_DEFAULT } },
	{ "rule_suppress_group",
	  .expected = { .action = FR_ACT_TO_TBL, .table = 254, .priority = 111, .unknown = true } },
	{ "rule_fwmark", .expected = { TO_TABLE, .priority = 112, .unknown = true } },
	{ "rule_fwmask", .expected = { TO_TABLE, .priority = 113, .unknown = true } },
	{ "rule_oif", .expected = { TO_TABLE, .priority = 114, .never = true } },
	{ "rule_tun_id", .expected = { TO_TABLE, .priority = 115, .never = true } },
	{ "rule_uid", .expected = { TO_TABLE, .priority = 116, .never = true } },
	{ "rule_uid_root", .expected = { TO_TABLE, .priority = 117 } },
	{ "rule_not_oif",
	  .expected = { TO_TABLE, .priority = 118, .never = true, .invert = true } },
	{ "rule_l3mdev",
	  .expected = { .action = FR_ACT_TO_TBL, .priority = 1000, .l3mdev = true } },
	{ "rule_goto", .src = "2001:db8::",
	  .expected = { .action = FR_ACT_GOTO, .priority = 119, .target = 200, .src.len = 32 } },
	{ "rule_nop", .expected = { .action = FR_ACT_NOP, .priority = 120 } },
	{ "rule_blackhole", .expected = { .action = FR_ACT_BLACKHOLE, .priority = 121 } },
	{ "rule_unreachable", .expected = { .action = FR_ACT_UNREACHABLE, .priority = 122 } },
	{ "rule_prohibit", .expected = { .action = FR_ACT_PROHIBIT, .priority = 123 } },
	{ "rule_dscp", .expected = { TO_TABLE, .priority = 130, .tclass_mask = 0xfc } },
	{ "rule_dscp_mask",
	  .expected = { TO_TABLE, .priority = 131, .tclass = 0xa0, .tclass_mask = 0xe0 } },
	{ "rule_flowlabel", .expected = { TO_TABLE, .priority = 132, .unknown = true } },
	{ "rule_port_mask",
	  .expected = { TO_TABLE, .priority = 133, .has_ip_proto = true, .ip_proto = 17,
			.has_sport = true, .sport = { 0x1200, 0x12ff }, .unknown = true } },
	{ "rule_del", .expected = { .action = FR_ACT_PROHIBIT, .priority = 123 } },
};

static int32_t expected_suppress_len(const struct rule *rule)
{
	return rule->suppress_len == NO_DEFAULT ? 0 : -1;
}

static void assert_rule(const struct rule_case *c, const struct rule *rule)
{
	const struct rule *e = &c->expected;

	assert_true(addr_is(&rule->src.addr, c->src));
	assert_true(addr_is(&rule->dst.addr, c->dst));
	assert_int_equal(rule->src.len, e->src.len);
	assert_int_equal(rule->dst.len, e->dst.len);
	assert_int_equal(rule->priority, e->priority);
	assert_int_equal(rule->table, e->table);
	assert_int_equal(rule->target, e->target);
	assert_int_equal(rule->suppress_len, expected_suppress_len(e));
	assert_string_equal(rule->iif, e->iif);
	assert_int_equal(rule->action, e->action);
	assert_int_equal(rule->tclass, e->tclass);
	assert_int_equal(rule->tclass_mask, e->tclass_mask);
	assert_int_equal(rule->has_ip_proto, e->has_ip_proto);
	assert_int_equal(rule->ip_proto, e->ip_proto);
	assert_int_equal(rule->has_sport, e->has_sport);
	assert_memory_equal(&rule->sport, &e->sport, sizeof(rule->sport));
	assert_int_equal(rule->has_dport, e->has_dport);
	assert_memory_equal(&rule->dport, &e->dport, sizeof(rule->dport));
	assert_int_equal(rule->invert, e->invert);
	assert_int_equal(rule->l3mdev, e->l3mdev);
	assert_int_equal(rule->never, e->never);
	assert_int_equal(rule->unknown, e->unknown);
}

static void captured(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(rule_cases[i].capture);
		struct rule out;

		print_message("%s\n", rule_cases[i].capture);
		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_rule(nlh, &out), 0);
		assert_rule(&rule_cases[i], &out);
	}
}

/* A rule that kernels to come add to is one whose packets are the kernel's. */
static void every_other_attribute_is_unknown(void **state)
{
	static const struct {
		uint16_t type, size;
	} known[] = {
		{ FRA_DST, 16 },	{ FRA_SRC, 16 },	{ FRA_IIFNAME, 1 },
		{ FRA_GOTO, 4 },	{ FRA_PRIORITY, 4 },	{ FRA_FWMARK, 4 },
		{ FRA_TUN_ID, 8 },	{ FRA_TABLE, 4 },	{ FRA_FWMASK, 4 },
		{ FRA_OIFNAME, 1 },	{ FRA_PAD, 0 },		{ FRA_L3MDEV, 1 },
		{ FRA_UID_RANGE, 8 },	{ FRA_PROTOCOL, 1 },	{ FRA_IP_PROTO, 1 },
		{ FRA_SPORT_RANGE, 4 }, { FRA_DPORT_RANGE, 4 }, { FRA_SUPPRESS_PREFIXLEN, 4 },
		{ SPORT_MASK, 2 },	{ DPORT_MASK, 2 },
	};

	for (uint16_t type = 0; type < 64; type++) {
		struct nlmsghdr *nlh = build_rule();
		struct rule out;
		bool is_known = false;
		uint16_t size = 4;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (known[i].type == type) {
				size = known[i].size;
				is_known = true;
			}
		if (type == FRA_SPORT_RANGE || type == FRA_DPORT_RANGE)
			mnl_attr_put(nlh, type, size, "\1\0\2");
		else if (type == FRA_SUPPRESS_IFGROUP || type == DSCP || type == DSCP_MASK)
			continue; /* below */
		else
			mnl_attr_put(nlh, type, size, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.unknown, !is_known);
		is_known |= type == FLOWLABEL || type == FLOWLABEL_MASK;
		assert_int_equal(out.unknown_attr, is_known ? 0 : type + 1);
		assert_int_equal(out.never, type == FRA_OIFNAME);
	}
}

static void prefixes(void **state)
{
	const union sixlane_addr all_ones = { .halves = { ~0ull, ~0ull } };

	for (unsigned int len = 0; len <= 255; len++) {
		struct nlmsghdr *nlh = build_rule();
		struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
		int expected = len <= 128 ? 0 : -EBADMSG;
		struct rule out;

		frh->src_len = (uint8_t)len;
		/* a length without an address */
		assert_int_equal(PARSE(parse_rule, nlh, &out), len == 0 ? 0 : -EBADMSG);
		mnl_attr_put(nlh, FRA_SRC, sizeof(all_ones), &all_ones);
		assert_int_equal(PARSE(parse_rule, nlh, &out), expected);
		frh->src_len = 0;
		frh->dst_len = (uint8_t)len;
		mnl_attr_put(nlh, FRA_DST, sizeof(all_ones), &all_ones);
		assert_int_equal(PARSE(parse_rule, nlh, &out), expected);
		if (expected < 0)
			continue;
		assert_int_equal(out.src.len, 0);
		assert_int_equal(out.dst.len, len);
		assert_true(prefix_sane(&out.src) && prefix_sane(&out.dst));
		assert_int_equal(out.dst.addr.bytes[0] >> 7, len > 0);
	}
}

static void flags(void **state)
{
	const uint32_t harmless = FIB_RULE_PERMANENT | FIB_RULE_UNRESOLVED | FIB_RULE_IIF_DETACHED |
				  FIB_RULE_OIF_DETACHED | FIB_RULE_FIND_SADDR | FIB_RULE_INVERT;

	for (unsigned int bit = 0; bit < 32; bit++) {
		struct nlmsghdr *nlh = build_rule();
		struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
		struct rule out;

		frh->flags = 1u << bit;
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.unknown, !(harmless >> bit & 1));
		assert_int_equal(out.invert, frh->flags == FIB_RULE_INVERT);
		assert_false(out.never);
	}
}

static void traffic_classes(void **state)
{
	struct rule out;

	for (unsigned int tos = 0; tos <= UINT8_MAX; tos++) {
		struct nlmsghdr *nlh = build_rule();
		struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);

		frh->tos = (uint8_t)tos;
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.tclass, tos & 0xfc);
		assert_int_equal(out.tclass_mask, tos ? 0xfc : 0);
		assert_int_equal(out.unknown, (tos & 3) != 0);
	}
	for (unsigned int dscp = 0; dscp <= UINT8_MAX; dscp++) {
		struct nlmsghdr *nlh = build_rule();

		mnl_attr_put_u8(nlh, DSCP, (uint8_t)dscp);
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.tclass_mask, 0xfc);
		assert_int_equal(out.unknown, dscp > 63);
		if (dscp <= 63)
			assert_int_equal(out.tclass, dscp << 2);
	}
}

static void dscp_masks(void **state)
{
	static const struct {
		int dscp, mask; /* -1: not said */
		uint8_t tos, tclass, tclass_mask;
		bool unknown;
	} cases[] = {
		{ 0, 0, 0, 0, 0, false },
		{ 1, 1, 0, 4, 4, false },
		{ 0x3f, 0x3f, 0, 0xfc, 0xfc, false },
		{ 0x20, 0x30, 0, 0x80, 0xc0, false },
		{ 3, 1, 0, 12, 4, true },
		{ 1, 0x41, 0, 4, 4, true },
		{ -1, 0x3f, 0, 0, 0, true },
		{ 2, -1, 8, 8, 0xfc, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_rule();
		struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
		struct rule out;

		frh->tos = cases[i].tos;
		if (cases[i].dscp >= 0)
			mnl_attr_put_u8(nlh, DSCP, (uint8_t)cases[i].dscp);
		if (cases[i].mask >= 0)
			mnl_attr_put_u8(nlh, DSCP_MASK, (uint8_t)cases[i].mask);
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.unknown, cases[i].unknown);
		assert_int_equal(out.tclass, cases[i].tclass);
		assert_int_equal(out.tclass_mask, cases[i].tclass_mask);
	}
}

static void marks(void **state)
{
	static const struct {
		int64_t mark, mask; /* -1: not said */
		bool unknown;
	} cases[] = {
		{ -1, -1, false }, { 0, -1, false },   { 1, -1, true }, { 1, 0, false },
		{ 0, 0, false },   { -1, 0xff, true }, { 0, 1, true },	{ 5, 4, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_rule();
		struct rule out;

		if (cases[i].mark >= 0)
			mnl_attr_put_u32(nlh, FRA_FWMARK, (uint32_t)cases[i].mark);
		if (cases[i].mask >= 0)
			mnl_attr_put_u32(nlh, FRA_FWMASK, (uint32_t)cases[i].mask);
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.unknown, cases[i].unknown);
		assert_false(out.never);
	}
}

static void held_by_no_packet(void **state)
{
	static const struct {
		uint64_t tun_id;
		struct fib_rule_uid_range uids;
		bool never;
	} cases[] = {
		{ 0, { 0, 0 }, false },		{ 0, { 0, UINT32_MAX }, false },
		{ 0, { 1, UINT32_MAX }, true }, { 0, { 65534, 65534 }, true },
		{ 1, { 0, 0 }, true },		{ 1ull << 63, { 0, 0 }, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (unsigned int inverted = 0; inverted < 2; inverted++) {
			struct nlmsghdr *nlh = build_rule();
			struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
			struct rule out;

			frh->flags = inverted ? FIB_RULE_INVERT : 0;
			mnl_attr_put_u64(nlh, FRA_TUN_ID, cases[i].tun_id);
			mnl_attr_put(nlh, FRA_UID_RANGE, sizeof(cases[i].uids), &cases[i].uids);
			assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
			assert_int_equal(out.never, cases[i].never);
			assert_int_equal(out.invert, inverted);
			assert_false(out.unknown);
		}
	}
}

struct port_case {
	uint16_t start, end, mask; /* start and end 0: not said; so mask */
	bool unknown, has;
	struct port_range range;
};

/* Whether a range says of each port what fib_rule_port_match() would. */
static void assert_ports(const struct port_case *c, const struct port_range *range)
{
	for (unsigned int port = 0; port <= UINT16_MAX; port++) {
		bool kernel = c->mask ? !((port ^ c->start) & c->mask)
				      : port >= c->start && port <= c->end;

		assert_int_equal(port >= range->low && port <= range->high, kernel);
	}
}

static void port_ranges(void **state)
{
	static const struct port_case cases[] = {
		{ 0, 0, 0, false, false, { 0, 0 } },
		{ 1, 1, 0, false, true, { 1, 1 } },
		{ 1, 65534, 0, false, true, { 1, 65534 } },
		{ 53, 53, 0xffff, false, true, { 53, 53 } },
		{ 65535, 65535, 0xffff, false, true, { 65535, 65535 } },
		{ 1024, 1024, 0xfc00, false, true, { 1024, 2047 } },
		{ 0x8000, 0x8000, 0x8000, false, true, { 0x8000, 0xffff } },
		{ 2, 2, 0xfffe, false, true, { 2, 3 } },
		{ 0x101, 0x101, 0x101, true, false, { 0, 0 } }, /* holes */
		{ 0x7fff, 0x7fff, 0x7fff, true, false, { 0, 0 } },
		{ 3, 3, 0xfffe, true, false, { 0, 0 } }, /* port beyond its mask */
		{ 2, 3, 0xfffe, true, false, { 0, 0 } }, /* a range has no mask */
		{ 2, 1, 0, true, false, { 0, 0 } },
		{ 0, 5, 0, true, false, { 0, 0 } },
		{ 0, 0, 0xff00, true, false, { 0, 0 } },
	};
	struct rule out;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct port_case *c = &cases[i];
		const struct fib_rule_port_range range = { c->start, c->end };

		for (unsigned int dport = 0; dport < 2; dport++) {
			struct nlmsghdr *nlh = build_rule();

			if (c->start || c->end)
				mnl_attr_put(nlh, dport ? FRA_DPORT_RANGE : FRA_SPORT_RANGE,
					     sizeof(range), &range);
			if (c->mask)
				mnl_attr_put_u16(nlh, dport ? DPORT_MASK : SPORT_MASK, c->mask);
			memset(&out, 0xa5, sizeof(out));
			assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
			assert_int_equal(out.unknown, c->unknown);
			assert_int_equal(dport ? out.has_dport : out.has_sport, c->has);
			assert_false(dport ? out.has_sport : out.has_dport);
			assert_memory_equal(dport ? &out.dport : &out.sport, &c->range,
					    sizeof(c->range));
		}
		if (c->has)
			assert_ports(c, &c->range);
	}
}

static void jumps(void **state)
{
	static const struct {
		uint32_t priority, target;
		int expected;
	} cases[] = {
		{ 0, 1, 0 },	    { 5, UINT32_MAX, 0 }, { 0, 0, -EBADMSG },
		{ 7, 7, -EBADMSG }, { 8, 7, -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_rule();
		struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
		struct rule out;

		frh->action = FR_ACT_GOTO;
		mnl_attr_put_u32(nlh, FRA_PRIORITY, cases[i].priority);
		if (cases[i].target)
			mnl_attr_put_u32(nlh, FRA_GOTO, cases[i].target);
		assert_int_equal(PARSE(parse_rule, nlh, &out), cases[i].expected);
		if (cases[i].expected == 0)
			assert_int_equal(out.target, cases[i].target);
	}
}

static void suppressors(void **state)
{
	static const int32_t lengths[] = { -1, 0, 1, 64, 127, 128, INT32_MAX };
	struct nlmsghdr *nlh;
	struct rule out;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		nlh = build_rule();
		mnl_attr_put_u32(nlh, FRA_SUPPRESS_PREFIXLEN, (uint32_t)lengths[i]);
		mnl_attr_put_u32(nlh, FRA_SUPPRESS_IFGROUP, UINT32_MAX); /* none */
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.suppress_len, lengths[i]);
		assert_false(out.unknown);
	}
	nlh = build_rule();
	mnl_attr_put_u32(nlh, FRA_SUPPRESS_IFGROUP, 0); /* the default group */
	assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
	assert_true(out.unknown);
	assert_int_equal(out.suppress_len, -1);
}

static void failure_leaves_the_result_alone(void **state)
{
	struct nlmsghdr *nlh = build_rule();
	struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
	struct rule out, before;

	memset(&out, 0x5a, sizeof(out));
	memcpy(&before, &out, sizeof(out));
	frh->family = AF_INET;
	assert_int_equal(PARSE(parse_rule, nlh, &out), -ENOMSG);
	frh->family = AF_INET6;
	mnl_attr_put_u8(nlh, FRA_TABLE, 1);
	assert_int_equal(PARSE(parse_rule, nlh, &out), -EBADMSG);
	assert_memory_equal(&out, &before, sizeof(out));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured),
		cmocka_unit_test(every_other_attribute_is_unknown),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(flags),
		cmocka_unit_test(traffic_classes),
		cmocka_unit_test(dscp_masks),
		cmocka_unit_test(marks),
		cmocka_unit_test(held_by_no_packet),
		cmocka_unit_test(port_ranges),
		cmocka_unit_test(jumps),
		cmocka_unit_test(suppressors),
		cmocka_unit_test(failure_leaves_the_result_alone),
	};

	return cmocka_run_group_tests_name("parse_rule", tests, NULL, NULL);
}
