/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A network namespace of the measurement's own ("inside"), and the one that the command was started
 * in ("outside"): so that a table of routes is not this machine's, and nothing else of it is seen
 * by the devices. It has no name; a process that is in it keeps it. One to a process.
 *
 * Functions return 0, or -errno with nothing said where that is not mentioned.
 */
#ifndef USER_BENCH_NIC_NETNS_H
#define USER_BENCH_NIC_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* This process into a new one, with a sysfs and a bpffs of its own. Without threads. Said. */
int nic_netns_make(void);
/* The same of the one that its parent has made. Said, but for -ESRCH: that has ended. */
int nic_netns_join(pid_t parent);
/* Outside again, for good. Nothing, if it is there. */
int nic_netns_leave(void);
bool nic_netns_is_inside(void);

/* Where a device is, and its number there. -ENODEV: in neither. */
int nic_netns_find(const char *dev, bool *inside, uint32_t *ifindex);
/*
 * From one to the other, which takes it down; it loses addresses, settings of /proc/sys/net,
 * qdiscs. ifindex: the number that it is to have, unless another device has got it; 0: any.
 * -EINVAL: a device that cannot be moved, as a bond.
 */
int nic_netns_move(const char *dev, bool inside, uint32_t ifindex);

/* For people, as `ip link set … netns` takes it; "NETNS" if there is nothing to call it by. */
void nic_netns_path(bool inside, char *out, size_t size);

#endif
