/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions of destinations as the maps hold them: what the operator requests (sl_operator) and
 * what packets get (sl_exceptions).
 */
#ifndef USER_CLI_EXCEPTION_H
#define USER_CLI_EXCEPTION_H

#include "print.h"

/* An exception of the command line, or of a line of standard input. */
struct exception {
	union sixlane_addr dst;
	bool has_dst;
	unsigned int line;	       /* 0: of the command line */
	struct sixlane_operator value; /* table 0: not given */
};

/* All zero at first; free at. */
struct exceptions {
	struct exception *at;
	size_t n;
};

/* 0 or -ENOMEM. */
int exception_append(struct exceptions *list, const struct exception *one);
/* Appends all requests. 0 or -errno. */
int exception_read_requests(const struct maps *maps, struct exceptions *list);

/* What the maps have of one destination. What does not exist, or has expired, is zero. */
struct exception_state {
	struct sixlane_exception entry;	 /* in sl_exceptions; flags are not 0 */
	struct sixlane_operator request; /* in sl_operator; table is not 0 */
};

/* 0 or -errno. */
int exception_read(const struct maps *maps, const union sixlane_addr *dst,
		   struct exception_state *out);

#define EXCEPTION_NAME (PRINT_PREFIX_LEN + 32)
/* "2001:db8::1", "2001:db8::1 table 100". */
const char *exception_name(const union sixlane_addr *dst, uint32_t table, char buf[EXCEPTION_NAME]);

#define EXCEPTION_WHY 128
/* Why the request, or without one the entry, does not apply to packets; NULL: it does. daemon: it
 * runs. */
const char *exception_why_inactive(const struct cmd_view *view, bool daemon,
				   const union sixlane_addr *dst,
				   const struct exception_state *state, char buf[EXCEPTION_WHY]);

/* What follows EXCEPTION_DELETE sets a request. */
enum exception_change { EXCEPTION_FLUSH, EXCEPTION_DELETE, EXCEPTION_ADD, EXCEPTION_REPLACE };

/* Applies a list. For EXCEPTION_FLUSH the first one has the table, 0 for all, and the list becomes
 * what was removed. CMD_OK, or CMD_FAILED after logging. */
int exception_change(const struct cmd_options *options, enum exception_change kind,
		     struct exceptions *list);

/* Shows all exceptions, or those of a destination or table. CMD_OK, or CMD_FAILED after logging. */
int exception_show(const struct cmd_options *options, const struct exception *filter);

#endif
