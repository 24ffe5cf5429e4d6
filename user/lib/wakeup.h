/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakes a daemon from another process: an empty datagram to an abstract socket that is named after
 * a directory. The CLI sends one after a change of sl_operator or a request for fib verification.
 *
 * The datagram carries no data and anybody may send one. A lost one costs a second: the daemon
 * also looks once a second by itself.
 */
#ifndef USER_LIB_WAKEUP_H
#define USER_LIB_WAKEUP_H

/* The daemon's end: a descriptor to poll and to close, or -errno. dir must exist. */
int wakeup_open(const char *dir);

/* Reads all pending datagrams, so that only a new one makes the descriptor readable. */
void wakeup_drain(int fd);

/* 0 or -errno. -ECONNREFUSED: no daemon listens in this network namespace. */
int wakeup_send(const char *dir);

#endif
