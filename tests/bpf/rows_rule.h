/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How rows write rules. Table 100 leads to NEIGH_ALT and main to NEIGH_GATEWAY, which thus tells
 * the rule that answered.
 */
#ifndef TESTS_BPF_ROWS_RULE_H
#define TESTS_BPF_ROWS_RULE_H

#include "rows.h"

#define TABLES TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT)

/* A list of rules: each a number in the order of the list, and what it says. */
#define LOOK_UP(table_) .rule.table = (table_)
#define FLAGS(flags_) .rule.flags = SIXLANE_RULE_##flags_
#define NOT(flags_) .rule.flags = SIXLANE_RULE_INVERT | SIXLANE_RULE_##flags_
#define NUMBER(n) .rule.priority = (n)
#define TO_100                           \
	{                                \
		NUMBER(10), LOOK_UP(100) \
	}
#define TO_MAIN                          \
	{                                \
		NUMBER(99), LOOK_UP(254) \
	}
/* The first rule, to table 100, applies: ALT; or not: the last, to main. */
#define APPLIES .via = NEIGH_ALT
#define APPLIES_NOT .via = NEIGH_GATEWAY
#define CANNOT_TELL .verdict = SIXLANE_PUNT_RULE

#define IF(...) \
	.routes = { TABLES }, .rules = { { NUMBER(10), LOOK_UP(100), __VA_ARGS__ }, TO_MAIN }

#define NEXT(hex)                   \
	{                           \
		AT_NEXT_HEADER, hex \
	}

/* The device that packets come in by. */
void rows_in_a_vrf(struct world *w);

#endif
