/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What exceptions.c and exceptions_dump.c share. Nothing else includes it.
 */
#ifndef USER_DAEMON_EXCEPTIONS_H
#define USER_DAEMON_EXCEPTIONS_H

#include "learnt.h"
#include "state.h"

/* A dump of all that the kernel has learnt, read in pieces. */
struct exceptions_dump {
	struct nl_socket *socket; /* NULL: none is under way */
	bool wanted;
	bool over;		     /* all was read, and notifications of meanwhile are to be */
	bool interrupted;	     /* … but it was inconsistent */
	bool split;		     /* some route's exceptions may stand in two datagrams */
	const struct nlmsghdr *last; /* read, valid until the next datagram is */
	uint64_t withdrawals;	     /* of routes, when it began */
	uint64_t news;		     /* count_news() when the last piece was read */
	bool stale;		     /* what is being read is older than an answer or doubt since */
	uint64_t begin_ns, told_after_ns;
	uint64_t cost_ns; /* CPU time so far */
	uint64_t next_piece_ns;
	size_t n_told;
	void *seen; /* tsearch(): those of groups, which may be told more than once */
	size_t n_seen;
};

/* Why the kernel gets packets to destinations that have exceptions. */
enum missing_reason {
	MISSING_NONE,
	MISSING_BOUND,	/* more than max_exceptions */
	MISSING_FAILED, /* for now */
};

struct exceptions {
	int64_t questions_left_ns;		  /* CPU time that they may take at once, … */
	uint64_t questions_at_ns;		  /* … at this time */
	uint64_t hints_again_ns, doubts_again_ns; /* no question about them before these times */
	bool flooded;				  /* hints are being lost */
	uint64_t settled;			  /* by an answer, since the start */
	bool doubts_left;
	enum missing_reason reported;
	uint64_t next_expire_ns;
	uint64_t mtu_look_ns,
		mtu_until_ns; /* whether IPv6 has taken a device's MTU over; at most */
	bool dump_wanted;     /* something is to be found by it */
	bool dumped;	      /* since the last full synchronisation */
	bool split_before;    /* the last one was whole but for what a split leaves out */
	uint64_t dump_begin_ns, dump_end_ns, dump_cost_ns; /* of the last one */
	struct exceptions_dump dump;
};

/* exceptions.c */
uint64_t exceptions_cpu_ns(void); /* used by this thread so far */
struct learnt_world exceptions_world(struct sync *sync);
void exceptions_tell(struct sync *sync, uint32_t table, const union sixlane_addr *dst,
		     const struct fib_exception *exception);
/* It has one there that does not count for packets as they go now: see fib_lose_exception(). */
void exceptions_lack(struct sync *sync, uint32_t table, const union sixlane_addr *dst, bool asked);
/*
 * Ask the kernel about dst, and tell the FIB. False: answers do not say all that holds; if a dump
 * does, it is wanted now.
 */
bool exceptions_settle(struct sync *sync, uint32_t table, const union sixlane_addr *dst);

/* exceptions_dump.c: begin one if it is due, or go on with it. */
void exceptions_dump_run(struct sync *sync, uint64_t now_ns, bool due);
void exceptions_dump_abort(struct exceptions *exceptions);

#endif
