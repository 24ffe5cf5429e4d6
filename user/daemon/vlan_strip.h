/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports whose NIC strips VLAN tags before XDP pass everything.
 */
#ifndef USER_DAEMON_VLAN_STRIP_H
#define USER_DAEMON_VLAN_STRIP_H

struct sync;

void vlan_strip_check(struct sync *sync);

#endif
