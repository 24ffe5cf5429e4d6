/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flags of sl_meta, under which the datapath forwards at all.
 */
#ifndef USER_DAEMON_META_H
#define USER_DAEMON_META_H

struct sync;

/* Recompute SIXLANE_META_* and publish them. Call after each change of what they depend on. */
void meta_update(struct sync *sync);
/*
 * Every packet passes until the end of the synchronisation. Call before a port or a rule leads
 * packets to tables that are not written yet.
 */
void meta_hold(struct sync *sync);

#endif
