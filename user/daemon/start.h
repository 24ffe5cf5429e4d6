/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puts the daemon together and takes it apart.
 */
#ifndef USER_DAEMON_START_H
#define USER_DAEMON_START_H

struct config;
struct loader_maps;
struct maps;
struct sync;

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

#endif
