/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How rows write rules. Table 100 leads to NEIGH_ALT and main to NEIGH_GATEWAY, so the neighbour
 * shows which rule answered.
 */
#ifndef TESTS_BPF_ROWS_RULE_H
#define TESTS_BPF_ROWS_RULE_H

#include "rows.h"

#define TABLES TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT)

/* One rule of a list. The order is that of the list, whatever the number. */
#define NUMBER(n) .rule.priority = (n)
#define LOOK_UP(table_) .rule.table = (table_)
#define FLAGS(flags_) .rule.flags = SIXLANE_RULE_##flags_
#define NOT(flags_) .rule.flags = SIXLANE_RULE_INVERT | SIXLANE_RULE_##flags_
#define NOT_FROM .src = "2001:db8:f::/48" /* which FRAME_SRC is not in */
#define RULE(...)                       \
	{                               \
		NUMBER(10), __VA_ARGS__ \
	}
#define TO_100 RULE(LOOK_UP(100))
#define TO_MAIN RULE(LOOK_UP(SIXLANE_TABLE_MAIN))
#define SUPPRESS(len) RULE(LOOK_UP(SIXLANE_TABLE_MAIN), FLAGS(SUPPRESS), .rule.suppress_len = (len))

/* The first of two rules is to table 100, if …; the second is to main. */
#define IF(...) .routes = { TABLES }, .rules = { RULE(LOOK_UP(100), __VA_ARGS__), TO_MAIN }
#define APPLIES .via = NEIGH_ALT
#define APPLIES_NOT .via = NEIGH_GATEWAY
#define CANNOT_TELL PUNT(RULE)

#define ASK_IIF(ifindex) FLIP(rules[0].flags, SIXLANE_RULE_IIF), SET(rules[0].iif, ifindex)

#endif
