/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In sl_meta: the flags, under which the datapath forwards at all, and the multipath hash.
 */
#ifndef USER_DAEMON_META_H
#define USER_DAEMON_META_H

struct maps;
struct stores;
struct sync;

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
