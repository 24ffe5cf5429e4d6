/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports whose frames an upper device takes pass everything.
 */
#ifndef USER_DAEMON_UPPER_DEVICES_H
#define USER_DAEMON_UPPER_DEVICES_H

#include <stdbool.h>

struct link;
struct links;
struct schedule;
struct sync;

/* A message about a device came: mark the ports that it may concern. */
void upper_devices_message(struct links *links, struct schedule *schedule, const struct link *link);
/* Check the marked ports, or all. */
void upper_devices_check(struct sync *sync, bool all);

#endif
