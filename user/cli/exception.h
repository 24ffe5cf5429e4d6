/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of `sixlane exception` share: exception.c has the verbs and their words,
 * exception_change.c writes what the operator asks for, exception_state.c says what became of it,
 * exception_show.c shows all.
 */
#ifndef USER_CLI_EXCEPTION_H
#define USER_CLI_EXCEPTION_H

#include "print.h"

#define EXCEPTION_ERR 256

enum exception_verb {
	EXCEPTION_SHOW,	  /* [DST] [table T] */
	EXCEPTION_LIST,	  /* the same */
	EXCEPTION_FLUSH,  /* [table T] */
	EXCEPTION_DELETE, /* DST [table T]; main if nothing is said */
	EXCEPTION_ADD,	  /* DST [table T] [mtu N] [via GW dev PORT] [expires SEC]: not DST alone */
	EXCEPTION_REPLACE, /* the same */
};

/* One destination. It has one exception, which is of one table. */
struct exception {
	union sixlane_addr dst;
	uint32_t table; /* 0: not said */
	bool has_dst;
	unsigned int line;	       /* of the standard input; 0: of the command line */
	struct sixlane_operator value; /* what is asked for now; added_ns: now */
	/* What the maps have of it: see exception_read(). */
	bool has_entry, has_wish;
	uint32_t elsewhere; /* the table of another one that was asked for; 0: none was */
	struct sixlane_exception entry; /* of sl_exceptions */
	struct sixlane_operator wish;	/* of sl_operator */
};

struct exceptions {
	struct exception *at;
	size_t n;
};

/* Into err[EXCEPTION_ERR]. False. */
bool exception_fail(char *err, const char *fmt, ...) _printf_(2, 3);

/* exception_change.c: add, replace, delete or flush, of which the list has one that says which.
 * CMD_OK or CMD_FAILED (said). */
int exception_change(const struct cmd_options *options, enum exception_verb verb,
		     struct exceptions *list);

/* exception_show.c. CMD_OK or CMD_FAILED (said). */
int exception_show(const struct cmd_options *options, const struct exception *asked);

/* --- exception_state.c ------------------------------------------------------------------- */

/* 0 or -ENOMEM. Free with free(at). */
int exception_append(struct exceptions *list, const struct exception *one);

/* dst and table of all that the operator asked for, and of all entries, but of those alone that
 * are asked for; some may be there twice. 0 or -errno. */
int exception_collect(const struct maps *maps, const struct exception *asked, bool entries,
		      struct exceptions *list);

/* What the maps have of that destination in that table; what has expired is not there. 0 or
 * -errno. */
int exception_read(const struct maps *maps, struct exception *one);

#define EXCEPTION_NAME (PRINT_PREFIX_LEN + 32)
/* "2001:db8::1", "2001:db8::1 table 100". */
const char *exception_name(const struct exception *one, char buf[EXCEPTION_NAME]);

struct exception_why {
	char buf[128];
	bool refused; /* nothing is waited for that may come */
};

/* Why what is asked for, or else what is there, meets no packet; NULL: it does. */
const char *exception_why_not(const struct cmd_view *view, bool daemon, const struct exception *one,
			      struct exception_why *out);

#endif
