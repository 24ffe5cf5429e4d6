/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ethtool(8) shows, by its ioctl: queues, features and the driver's name. Every call is for
 * one device in the caller's network namespace, returns 0 or -errno, and logs nothing. -EOPNOTSUPP:
 * the driver has no such thing.
 */
#ifndef USER_LIB_ETHTOOL_H
#define USER_LIB_ETHTOOL_H

#include <linux/ethtool.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int ethtool_get_channels(const char *dev, struct ethtool_channels *out);

/* A feature as `ethtool -k` calls it. -ENOENT: this kernel has none of that name. */
struct nic_feature {
	bool on;
	bool fixed; /* it cannot be changed */
};
int ethtool_get_feature(const char *dev, const char *name, struct nic_feature *out);

/* The number of distinct queues in the indirection table of receive side scaling. */
int ethtool_count_rss_queues(const char *dev, uint32_t *n);

/* The driver's name, "" if it has none. */
void ethtool_driver(const char *dev, char driver[32]);

#endif
