/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the CLI gets the daemon to look at once at what it wants (sl_operator, fib_verify_wanted): an
 * empty datagram to an abstract socket that is named after the pin directory. It says only "look":
 * anybody may send one, and one that is lost costs a second, after which the daemon looks by
 * itself.
 */
#ifndef USER_LIB_POKE_H
#define USER_LIB_POKE_H

/* The daemon's end: a descriptor to poll and to close, or -errno. Needs the pin directory. */
int poke_open(void);
/* Take what has come off the descriptor, so that it is readable by new ones alone. */
void poke_drain(int fd);

/* 0 or -errno. -ECONNREFUSED: nobody listens in this network namespace. */
int poke_send(void);

#endif
