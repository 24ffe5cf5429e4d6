/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the maps equal to what the kernel would do: subscribes, dumps, replays what came meanwhile,
 * follows notifications, and starts over when the kernel says that it dropped some. The only
 * module that knows both netlink and the FIB. One thread; nothing here blocks for longer than
 * a dump takes.
 */
#ifndef USER_DAEMON_SYNC_H
#define USER_DAEMON_SYNC_H

#include "../maps/maps.h"
#include "config.h"

struct sync;

/*
 * Open the sockets, subscribe, adopt what the maps hold and attach to config->ports. config, maps
 * and fds must outlive it. 0 and *out, or -errno and err (LOADER_ERR bytes): ports attached by this
 * call are detached again.
 */
int sync_new(const struct config *config, struct maps *maps, const struct loader_maps *fds,
	     struct sync **out, char *err);
void sync_free(struct sync *sync);

/* Descriptors to poll for input. */
#define SYNC_FDS 8 /* -1: none, for now: ask before each poll */
void sync_fds(const struct sync *sync, int fds[SYNC_FDS]);

/* Input is there, or something may be due. Returns the milliseconds until sync_run is due again. */
int sync_run(struct sync *sync);

/*
 * Undo what this sixlane does on this machine: no port forwards in XDP afterwards, no pins remain.
 * 0, or the first -errno; the pins then stay.
 */
int sync_teardown(struct sync *sync);

#endif
