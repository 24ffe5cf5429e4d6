/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the maps equal to what the kernel would do: reads all tables, follows notifications, and
 * starts over when the kernel dropped some. Nothing here blocks for longer than a dump takes.
 */
#ifndef USER_DAEMON_SYNC_H
#define USER_DAEMON_SYNC_H

struct sync;

/* Descriptors to poll for input. -1: none for now; ask before each poll. */
#define SYNC_FDS 8
void sync_fds(const struct sync *sync, int fds[SYNC_FDS]);

/* Input is there, or something may be due. Returns the milliseconds until the next call is due. */
int sync_run(struct sync *sync);

#endif
