/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of the daemon: what the kernel reported (stores), the sockets, what is wanted and when
 * (schedule), statistics, and the state of each component. One thread.
 */
#ifndef USER_DAEMON_DAEMON_H
#define USER_DAEMON_DAEMON_H

#include "../maps/maps.h"
#include "../resolve/resolve.h"
#include "../rib/addrs.h"
#include "../rib/neighs.h"
#include "../rib/nexthops.h"
#include "../rib/rules.h"
#include "compiled.h"
#include "config.h"
#include "exceptions.h"
#include "guard_apply.h"
#include "neigh_refresh.h"
#include "port_names.h"
#include "quarantine.h"
#include "sockets.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* What the kernel has reported. Filled by apply_*.c, read by everybody. */
struct stores {
	struct rib *rib;
	struct links links;
	struct addrs addrs;
	struct neighs *neighs;
	struct nexthops *nexthops;
	struct rules rules;
	struct rules_program program; /* compiled rules; those in the maps if rules_published */
	bool rules_known;	      /* rules holds a whole list */
	bool rules_published;	      /* the maps hold program */
	bool rules_ready;	      /* ... and it is the current list */
	bool flow_labels;	      /* the kernel sets a flow label in its ICMPv6 errors */
	struct resolve *resolve;
	struct resolve_view view;      /* what resolve reads */
	struct port_names *port_names; /* of the settings */
};

/* What is wanted and when it is due. Any file may ask for something; only sync.c carries it out. */

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
static inline void schedule_tables(struct schedule *schedule, uint64_t delay_ns)
{
	const uint64_t next_ns = util_now_ns() + delay_ns;

	if (!(schedule->wanted & SCHEDULE_TABLES) || next_ns < schedule->next_sync_ns)
		schedule->next_sync_ns = next_ns;
	schedule->wanted |= SCHEDULE_TABLES;
}

/* Counters of the daemon. */
struct statistics {
	uint64_t generation; /* successful synchronisations, of earlier daemons too */
	uint64_t overruns, malformed;
	uint64_t sync_ns;			     /* duration of the last synchronisation */
	uint64_t synced_at;			     /* its end, seconds since the epoch */
	bool reported_missing;			     /* the log says that routes do not fit */
	uint64_t unknown_reported[REPORT_N_OBJECTS]; /* bit n: attribute n was logged */
};

struct sync {
	const struct config *config;
	const struct loader_maps *fds;
	struct maps *maps;
	struct fib *fib;

	struct stores stores;
	struct sockets sockets;
	struct schedule schedule;
	struct statistics statistics;

	struct audit *audit;
	struct exceptions *exceptions;
	struct icmp_events icmp_events;
	struct guard_state guard;
	struct uppers *uppers; /* NULL: not read yet, or sysfs cannot be mounted */
	struct operator_list *operator;
	struct parity_state *parity;
	struct quarantine quarantine; /* prefixes on which the parity check disagreed */
	struct neigh_refresh refresh;
	struct compile_state compile;
	struct verify_state verify;
};

/* --- start.c */

/*
 * Open the sockets, subscribe, adopt what the maps hold and attach to config->ports. config, maps
 * and fds must outlive it. 0 and *out, or -errno and err (LOADER_ERR bytes): ports attached by this
 * call are detached again.
 */
int daemon_new(const struct config *config, struct maps *maps, const struct loader_maps *fds,
	       struct sync **out, char *err);
void daemon_free(struct sync *sync);

/*
 * Remove what sixlane does on this machine: no port forwards in XDP afterwards, no pins remain.
 * 0, or the first -errno; the pins then stay.
 */
int daemon_teardown(struct sync *sync);

/* --- sync.c */

/* Descriptors to poll for input. -1: none for now; ask before each poll. */
#define SYNC_FDS 8
void sync_fds(const struct sync *sync, int fds[SYNC_FDS]);

/* Input is there, or something may be due. Returns the milliseconds until the next call is due. */
int sync_run(struct sync *sync);

/* --- meta.c: what sl_meta holds but statistics */

/* Recompute SIXLANE_META_* and publish them. Call after each change of what they depend on. */
void meta_update(struct sync *sync);
/*
 * Every packet passes until the end of the synchronisation. Call before a port or a rule leads
 * packets to tables that are not written yet.
 */
void meta_hold(struct sync *sync);
/*
 * Settings of the network namespace that no notification announces: the hash policy into sl_meta,
 * flow labels of ICMPv6 errors into stores. Draws the hash seed if there is none. Until a change is
 * noticed, the hash uses the old fields. That changes the member of a flow, not the set of members.
 */
void meta_read_settings(struct maps *maps, struct stores *stores);

#endif
