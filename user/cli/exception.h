/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of `sixlane exception` share: exception.c has the verbs,
 * exception_parse.c the words behind them, exception_change.c writes what the operator
 * asks for, exception_state.c says what became of it, exception_show.c shows all.
 */
#ifndef USER_CLI_EXCEPTION_H
#define USER_CLI_EXCEPTION_H

#include "cmd.h"

#define EXCEPTION_ERR 256

/* A destination has one exception, which is of one table. */
struct exception_key {
	union sixlane_addr dst;
	uint32_t table; /* 0: not said */
};

/* One exception as the operator names it. */
struct exception_request {
	struct exception_key key;
	struct sixlane_operator value; /* added_ns: now */
	bool has_dst;
	unsigned int line; /* of the standard input; 0: of the command line */
};

struct exception_requests {
	struct exception_request *at;
	size_t n, room;
};

/* exception_parse.c. False: out of memory. Free with free(at). */
bool exception_append(struct exception_requests *requests, const struct exception_request *request);

/* Which words may stand there. */
enum exception_words {
	EXCEPTION_WHOLE, /* DST [table T] [mtu N] [via GW dev PORT] [expires SEC]: something of it
			  */
	EXCEPTION_KEY,	 /* DST [table T]; main if nothing is said */
	EXCEPTION_ANY,	 /* [DST] [table T] */
	EXCEPTION_TABLE, /* [table T] */
};

/* exception_parse.c. False: err says why. */
bool exception_parse(enum exception_words words, int argc, char **argv,
		     struct exception_request *out, char err[EXCEPTION_ERR]);
/* Every line of a file, no destination twice. False: err says why and where. */
bool exception_parse_lines(enum exception_words words, FILE *from, struct exception_requests *out,
			   char err[EXCEPTION_ERR]);

/* exception_change.c. What is wrong with any of them is said before anything is changed.
 * CMD_OK or CMD_FAILED (said). */
int exception_add(const struct cmd_options *options, const struct exception_requests *requests,
		  bool replace);
int exception_del(const struct cmd_options *options, const struct exception_requests *requests);
/* Those of a table, 0: of all. */
int exception_flush(const struct cmd_options *options, uint32_t table);

/* exception_show.c. Those that a request of EXCEPTION_ANY names. */
int exception_show(const struct cmd_options *options, const struct exception_request *request);

/* --- what is there of one destination ----------------------------------------------------- */

struct exception_state {
	struct exception_key key;
	bool has_entry, has_wish;
	uint32_t elsewhere; /* the table of another one that was asked for; 0: none was */
	struct sixlane_exception entry; /* of sl_exceptions */
	struct sixlane_operator wish;	/* of sl_operator */
};

/* exception_state.c. 0 or -errno. */
int exception_read(const struct maps *maps, const struct exception_key *key,
		   struct exception_state *out);

/* Whoever wrote the entry, the name of its device ends. */
static inline void exception_end_name(struct sixlane_operator *wish)
{
	wish->device[sizeof(wish->device) - 1] = '\0';
}

/* Whether an expiry has passed; 0 is none. */
static inline bool exception_is_over(uint64_t expires_ns)
{
	return expires_ns && util_now_ns() >= expires_ns;
}

/* Its packets are the kernel's, but those over the operator's MTU. */
bool exception_is_punted(const struct maps *maps, const union sixlane_addr *dst);

/* What the operator asked for is in sl_exceptions, as it was asked for last. */
bool exception_is_carried_out(const struct cmd_view *view, const struct exception_state *state);

struct exception_why {
	char buf[128];
	bool refused; /* nothing is waited for that may come */
};

/* Why what is asked for, or else what is there, meets no packet; NULL: it does. */
const char *exception_why_not(const struct cmd_view *view, bool daemon,
			      const struct exception_state *state, struct exception_why *out);

#endif
