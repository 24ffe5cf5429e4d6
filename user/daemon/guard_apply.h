/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the guard and writes what it decides to the maps: port flags, pairs of ports, IPsec
 * policies.
 */
#ifndef USER_DAEMON_GUARD_APPLY_H
#define USER_DAEMON_GUARD_APPLY_H

struct sync;

/* The links were read for the first time: packets may be forwarded from now on. */
void guard_apply_start(struct sync *sync);
/* Call when the guard's descriptors have input, when it is due, and between other work. */
void guard_apply_run(struct sync *sync);
/* Write all of it. */
void guard_apply_all(struct sync *sync);

#endif
