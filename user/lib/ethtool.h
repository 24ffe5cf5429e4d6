/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ethtool(8) shows, by its ioctl: queues, features and the driver's name. Every call is for
 * one device in the caller's network namespace, and logs nothing. Calls that return an int return 0
 * or -errno; -EOPNOTSUPP: the driver has no such thing.
 */
#ifndef USER_LIB_ETHTOOL_H
#define USER_LIB_ETHTOOL_H

#include <linux/ethtool.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int ethtool_get_channels(const char *dev, struct ethtool_channels *out);

/* Whether a feature, named as `ethtool -k` does, is on. False also if the driver has none such. */
bool ethtool_feature_is_on(const char *dev, const char *name);

/* The number of distinct queues in the indirection table of receive side scaling. */
int ethtool_count_rss_queues(const char *dev, uint32_t *n);

/* The driver's name, "" if it has none. */
void ethtool_driver(const char *dev, char driver[32]);

#endif
