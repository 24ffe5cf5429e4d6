/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `ethtool` shows and sets, by its ioctl: queues, rings, coalescing, features and the driver's
 * own counters. Mechanism only: every call is of one device, in the caller's network namespace, and
 * returns 0 or -errno with nothing said. -EOPNOTSUPP: the driver has no such thing.
 */
#ifndef USER_LIB_ETHTOOL_H
#define USER_LIB_ETHTOOL_H

#include <linux/ethtool.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cmd of the structures is 0 in both directions, so that two of them can be compared whole. */
int ethtool_get_channels(const char *dev, struct ethtool_channels *out);
int ethtool_set_channels(const char *dev, const struct ethtool_channels *channels);
int ethtool_get_rings(const char *dev, struct ethtool_ringparam *out);
int ethtool_set_rings(const char *dev, const struct ethtool_ringparam *rings);
int ethtool_get_coalesce(const char *dev, struct ethtool_coalesce *out);
int ethtool_set_coalesce(const char *dev, const struct ethtool_coalesce *coalesce);

/* A feature as `ethtool -k` calls it. -ENOENT: this kernel has none of that name. */
struct nic_feature {
	bool on;
	bool fixed; /* the driver lets nobody change it */
};
int ethtool_get_feature(const char *dev, const char *name, struct nic_feature *out);
int ethtool_set_feature(const char *dev, const char *name, bool on);

/* How many queues the indirection table of receive side scaling names. */
int ethtool_count_rss_queues(const char *dev, uint32_t *n);

/* The driver's name, "" if it has none. */
void ethtool_driver(const char *dev, char driver[32]);

/* `ethtool -S`. */
struct nic_stats {
	char (*names)[ETH_GSTRING_LEN]; /* not always with a NUL at the end */
	uint64_t *values;
	size_t n;
};
int ethtool_get_stats(const char *dev, struct nic_stats *out);
void nic_stats_free(struct nic_stats *stats);

#endif
