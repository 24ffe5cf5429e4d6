/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of `sixlane exception` share: exception.c has the verbs and their words,
 * exception_change.c writes what the operator asks for, exception_show.c says what became of it.
 */
#ifndef USER_CLI_EXCEPTION_H
#define USER_CLI_EXCEPTION_H

#include "print.h"

enum exception_verb {
	EXCEPTION_SHOW,	  /* [DST] [table T] */
	EXCEPTION_LIST,	  /* the same */
	EXCEPTION_FLUSH,  /* [table T] */
	EXCEPTION_DELETE, /* DST [table T]; main if nothing is said */
	EXCEPTION_ADD,	  /* DST [table T] [mtu N] [via GW dev PORT] [expires SEC]: not DST alone */
	EXCEPTION_REPLACE, /* the same */
};

/* What the command, or a line of the standard input, says. */
struct exception {
	union sixlane_addr dst;
	bool has_dst;
	unsigned int line;	       /* 0: of the command line */
	struct sixlane_operator value; /* table 0: not said; added_ns: now */
};

/* Begins as zeroes; free at. */
struct exceptions {
	struct exception *at;
	size_t n;
};

/* exception_change.c: add, replace, delete or flush; flush replaces the list by what it removes.
 * CMD_OK or CMD_FAILED (said). */
int exception_change(const struct cmd_options *options, enum exception_verb verb,
		     struct exceptions *list);

/* --- exception_show.c -------------------------------------------------------------------- */

/* CMD_OK or CMD_FAILED (said). */
int exception_show(const struct cmd_options *options, const struct exception *asked);

/* 0 or -ENOMEM. */
int exception_append(struct exceptions *list, const struct exception *one);

/* Append what the operator asked for. 0 or -errno. */
int exception_collect(const struct maps *maps, struct exceptions *list);

/* What the maps have of a destination. What is not there, or has expired, is all zeroes. */
struct exception_state {
	struct sixlane_exception entry; /* of sl_exceptions, which packets meet; flags are set */
	struct sixlane_operator wish;	/* of sl_operator, for the daemon; table is set */
};

/* 0 or -errno. */
int exception_read(const struct maps *maps, const union sixlane_addr *dst,
		   struct exception_state *out);

#define EXCEPTION_NAME (PRINT_PREFIX_LEN + 32)
/* "2001:db8::1", "2001:db8::1 table 100". */
const char *exception_name(const union sixlane_addr *dst, uint32_t table, char buf[EXCEPTION_NAME]);

#define EXCEPTION_WHY 128
/* Why packets do not meet what is wished, or else what is there; NULL: they do. */
const char *exception_why_not(const struct cmd_view *view, bool daemon,
			      const union sixlane_addr *dst, const struct exception_state *state,
			      char buf[EXCEPTION_WHY]);

#endif
