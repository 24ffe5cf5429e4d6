/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings of the network namespace that no notification announces: the multipath hash, and flow
 * labels of ICMPv6 errors.
 */
#ifndef USER_DAEMON_SYSCTL_H
#define USER_DAEMON_SYSCTL_H

struct maps;
struct stores;

/* The hash policy into sl_meta, the flow labels into stores. Draws the hash seed if there is none.
 */
void sysctl_read(struct maps *maps, struct stores *stores);

#endif
