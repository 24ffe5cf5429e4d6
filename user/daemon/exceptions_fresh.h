/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ICMPv6 messages that the datapath saw. Until their destinations are read, sl_fresh punts them.
 */
#ifndef USER_DAEMON_EXCEPTIONS_FRESH_H
#define USER_DAEMON_EXCEPTIONS_FRESH_H

#include <stdint.h>

struct maps_ring;
struct sync;

struct icmp_events {
	struct maps_ring *ring;
	uint64_t next_read_ns; /* 0: as soon as there are events */
	uint64_t until_ns;     /* all events of before this time were read */
};

/* Read the events. _fd: -1 while they are left to wait. */
void exceptions_fresh_read(struct sync *sync);
int exceptions_fresh_fd(const struct icmp_events *events);
uint64_t exceptions_fresh_read_due_ns(const struct icmp_events *events);

/* Clear the half of sl_fresh whose destinations were all read. */
void exceptions_fresh_run(struct sync *sync, uint64_t now_ns);
uint64_t exceptions_fresh_due_ns(const struct sync *sync);

#endif
