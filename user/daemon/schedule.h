/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is wanted and when it is due. Any file of the daemon may ask for something here; only sync.c
 * carries it out.
 */
#ifndef USER_DAEMON_SCHEDULE_H
#define USER_DAEMON_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Asked for by messages and changes; each bit is carried out once. */
enum schedule_wanted {
	SCHEDULE_TABLES = 1 << 0,    /* read all tables again, at next_sync_ns */
	SCHEDULE_RULES = 1 << 1,     /* read the rules again */
	SCHEDULE_NEXT_HOPS = 1 << 2, /* next-hop objects may have changed without a message */
	SCHEDULE_FEATURES = 1 << 3,  /* a device is new: which frames does it take? */
	SCHEDULE_SOURCES = 1 << 4,   /* addresses changed: choose the ports' ICMPv6 sources again */
	SCHEDULE_UPPERS = 1 << 5,    /* a device's upper devices may have changed */
	SCHEDULE_FLOWS = 1 << 6,     /* a port runs another program */
};

struct schedule {
	uint32_t wanted; /* enum schedule_wanted */
	/* CLOCK_MONOTONIC */
	uint64_t next_sync_ns, next_poll_ns, next_refresh_ns, next_retry_ns;

	bool dumping;		  /* notifications are queued */
	bool quiet;		  /* stores are filled; the FIB is not touched yet */
	bool replaying;		  /* the queue is applied after a dump */
	bool complete;		  /* one full synchronisation succeeded */
	bool in_sync;		  /* nothing is known to be missing */
	bool held;		  /* until the end of the synchronisation every packet passes */
	bool backlog;		  /* more notifications wait than were read */
	bool dump_damaged;	  /* a message of the dump under way is not in the stores */
	unsigned int interrupted; /* dumps in a row that the kernel called inconsistent */
};

/* A delay that gives the kernel time to finish, or memory to become free. */
#define SCHEDULE_LATER_NS 1000000000u

/* Read all tables again after delay_ns (0: at once), or sooner if that was asked for before. */
void schedule_tables(struct schedule *schedule, uint64_t delay_ns);

#endif
