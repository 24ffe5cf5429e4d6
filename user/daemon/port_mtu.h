/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A port whose MTU exceeds what its program takes gets another program, or none.
 */
#ifndef USER_DAEMON_PORT_MTU_H
#define USER_DAEMON_PORT_MTU_H

struct device;
struct sync;

void port_mtu_update(struct sync *sync, struct device *device);

#endif
