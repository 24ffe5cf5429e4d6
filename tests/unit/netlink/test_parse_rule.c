// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of rules on built messages: selectors with an unknown meaning, selectors that no
 * forwarded packet matches, and values at their limits.
 */

#include "../unit.h"

#include <errno.h>
#include <linux/fib_rules.h>

#include "messages.h"

/* FRA_* that the oldest headers lack. */
enum { DSCP = 25, FLOWLABEL = 26, SPORT_MASK = 28, DPORT_MASK = 29, DSCP_MASK = 30 };

/* clang-format off */
#define RULE_IS "rule 0 action 1 table 0"
#define UIDS(start, end) U64(FRA_UID_RANGE, (uint64_t)(end) << 32 | (start))
#define NONE UINT32_MAX

static const struct built_case cases[] = {
	{ "plain rule", RULE, { { 0 } }, RULE_IS },
	{ "IPv4", RULE, { SET(fib_rule_hdr, family, AF_INET) }, "ENOMSG" },
	{ "no rule", RULE, { SET_TYPE(RTM_GETRULE) }, "ENOMSG" },
	{ "attribute of a wrong size", RULE, { U8(FRA_TABLE, 1) }, "EBADMSG" },

	{ "DSCP of no bits", RULE, { U8(DSCP, 0), U8(DSCP_MASK, 0) }, RULE_IS },
	{ "... of one bit", RULE, { U8(DSCP, 1), U8(DSCP_MASK, 1) }, RULE_IS " tclass 4/4" },
	{ "... of all bits", RULE, { U8(DSCP, 0x3f), U8(DSCP_MASK, 0x3f) },
	  RULE_IS " tclass fc/fc" },
	{ "... of some bits", RULE, { U8(DSCP, 0x20), U8(DSCP_MASK, 0x30) },
	  RULE_IS " tclass 80/c0" },
	{ "... beyond its mask", RULE, { U8(DSCP, 3), U8(DSCP_MASK, 1) },
	  RULE_IS " tclass c/4 unknown" },
	{ "... mask too wide", RULE, { U8(DSCP, 1), U8(DSCP_MASK, 0x41) },
	  RULE_IS " tclass 4/4 unknown" },
	{ "... mask alone", RULE, { U8(DSCP_MASK, 0x3f) }, RULE_IS " unknown" },
	{ "... and tos", RULE, { SET(fib_rule_hdr, tos, 8), U8(DSCP, 2) },
	  RULE_IS " tclass 8/fc unknown" },

	{ "mark of 0 without a mask", RULE, { U32(FRA_FWMARK, 0) }, RULE_IS },
	{ "... of 1", RULE, { U32(FRA_FWMARK, 1) }, RULE_IS " unknown" },
	{ "... of 1, empty mask", RULE, { U32(FRA_FWMARK, 1), U32(FRA_FWMASK, 0) }, RULE_IS },
	{ "... of 0, empty mask", RULE, { U32(FRA_FWMARK, 0), U32(FRA_FWMASK, 0) }, RULE_IS },
	{ "... mask alone", RULE, { U32(FRA_FWMASK, 0xff) }, RULE_IS " unknown" },
	{ "... of 0 with a mask", RULE, { U32(FRA_FWMARK, 0), U32(FRA_FWMASK, 1) },
	  RULE_IS " unknown" },
	{ "... of 5 with a mask", RULE, { U32(FRA_FWMARK, 5), U32(FRA_FWMASK, 4) },
	  RULE_IS " unknown" },
	{ "flow label", RULE, { U32(FLOWLABEL, 0) }, RULE_IS " unknown" },
	{ "mask of a flow label", RULE, { U32(FLOWLABEL + 1, 0) }, RULE_IS " unknown" },

	{ "tunnel id 0 and user 0", RULE, { U64(FRA_TUN_ID, 0), UIDS(0, 0) }, RULE_IS },
	{ "every user", RULE, { UIDS(0, UINT32_MAX) }, RULE_IS },
	{ "every user but root", RULE, { UIDS(1, UINT32_MAX) }, RULE_IS " never" },
	{ "nobody", RULE, { UIDS(65534, 65534) }, RULE_IS " never" },
	{ "tunnel id", RULE, { U64(FRA_TUN_ID, 1) }, RULE_IS " never" },
	{ "... upper half", RULE, { U64(FRA_TUN_ID, 1ull << 63) }, RULE_IS " never" },
	{ "... inverted", RULE, { SET(fib_rule_hdr, flags, FIB_RULE_INVERT), U64(FRA_TUN_ID, 1) },
	  RULE_IS " not never" },
	{ "every user, inverted", RULE, { SET(fib_rule_hdr, flags, FIB_RULE_INVERT), UIDS(0, 5) },
	  RULE_IS " not" },
	{ "output device", RULE, { STRING(FRA_OIFNAME, "x") }, RULE_IS " never" },

	{ "jump forwards", RULE, { SET(fib_rule_hdr, action, FR_ACT_GOTO), U32(FRA_GOTO, 1) },
	  "rule 0 action 2 table 0 goto 1" },
	{ "... to the last rule", RULE, { SET(fib_rule_hdr, action, FR_ACT_GOTO), U32(FRA_PRIORITY,
	  5),
	  U32(FRA_GOTO, UINT32_MAX) }, "rule 5 action 2 table 0 goto 4294967295" },
	{ "... to nowhere", RULE, { SET(fib_rule_hdr, action, FR_ACT_GOTO) }, "EBADMSG" },
	{ "... to itself", RULE, { SET(fib_rule_hdr, action, FR_ACT_GOTO), U32(FRA_PRIORITY, 7),
	  U32(FRA_GOTO, 7) }, "EBADMSG" },
	{ "... backwards", RULE, { SET(fib_rule_hdr, action, FR_ACT_GOTO), U32(FRA_PRIORITY, 8),
	  U32(FRA_GOTO, 7) }, "EBADMSG" },

	{ "suppress nothing", RULE, { U32(FRA_SUPPRESS_PREFIXLEN, NONE), U32(FRA_SUPPRESS_IFGROUP,
	  NONE) },
	  RULE_IS },
	{ "... default routes", RULE, { U32(FRA_SUPPRESS_PREFIXLEN, 0) }, RULE_IS " suppress 0" },
	{ "... all routes", RULE, { U32(FRA_SUPPRESS_PREFIXLEN, 128) }, RULE_IS " suppress 128" },
	{ "... at the limit", RULE, { U32(FRA_SUPPRESS_PREFIXLEN, INT32_MAX) },
	  RULE_IS " suppress 2147483647" },
	{ "... the default group", RULE, { U32(FRA_SUPPRESS_IFGROUP, 0) }, RULE_IS " unknown" },
};
/* clang-format on */

static void documented(void **state)
{
	assert_cases(cases);
}

static void flags(void **state)
{
	const uint32_t harmless = FIB_RULE_PERMANENT | FIB_RULE_UNRESOLVED | FIB_RULE_IIF_DETACHED |
				  FIB_RULE_OIF_DETACHED | FIB_RULE_FIND_SADDR | FIB_RULE_INVERT;

	for (unsigned int bit = 0; bit < 32; bit++) {
		const struct rule *rule = &BUILT(RULE, SET(fib_rule_hdr, flags, 1u << bit))->rule;

		assert_int_equal(rule->unknown, !(harmless >> bit & 1));
		assert_int_equal(rule->invert, 1u << bit == FIB_RULE_INVERT);
		assert_false(rule->never);
	}
}

static void traffic_classes(void **state)
{
	for (unsigned int tos = 0; tos <= UINT8_MAX; tos++) {
		const struct rule *rule = &BUILT(RULE, SET(fib_rule_hdr, tos, tos))->rule;

		assert_int_equal(rule->tclass, tos & 0xfc);
		assert_int_equal(rule->tclass_mask, tos ? 0xfc : 0);
		assert_int_equal(rule->unknown, (tos & 3) != 0);
	}
	for (unsigned int dscp = 0; dscp <= UINT8_MAX; dscp++) {
		const struct rule *rule = &BUILT(RULE, U8(DSCP, dscp))->rule;

		assert_int_equal(rule->tclass_mask, 0xfc);
		assert_int_equal(rule->unknown, dscp > 63);
		assert_true(dscp > 63 || rule->tclass == dscp << 2);
	}
}

struct port_case {
	uint16_t start, end, mask; /* start and end 0: no range; mask 0: no mask */
	bool unknown, has;
	struct port_range range;
};

/* For each port, the range matches if fib_rule_port_match() does. */
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
	static const struct port_case rows[] = {
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

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const struct port_case *c = &rows[i / 2];
		bool dport = i % 2;
		struct put puts[3] = { { 0 } }, *put = puts;
		const struct rule *rule;

		if (c->start || c->end)
			*put++ = (struct put)U32(dport ? FRA_DPORT_RANGE : FRA_SPORT_RANGE,
						 (uint32_t)c->end << 16 | c->start);
		if (c->mask)
			*put = (struct put)U16(dport ? DPORT_MASK : SPORT_MASK, c->mask);
		rule = &parse_built(RULE, puts)->rule;
		assert_int_equal(rule->unknown, c->unknown);
		assert_int_equal(dport ? rule->has_dport : rule->has_sport, c->has);
		assert_false(dport ? rule->has_sport : rule->has_dport);
		assert_memory_equal(dport ? &rule->dport : &rule->sport, &c->range,
				    sizeof(c->range));
		if (c->has)
			assert_ports(c, &c->range);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documented),
		cmocka_unit_test(flags),
		cmocka_unit_test(traffic_classes),
		cmocka_unit_test(port_ranges),
	};

	return cmocka_run_group_tests_name("parse_rule", tests, NULL, NULL);
}
