// SPDX-License-Identifier: GPL-2.0-only
/* See ethtool.h. */
#include "ethtool.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "util.h"

/* Room for a structure whose last member has no fixed size. */
#define _request_ __attribute__((aligned(8)))

static int run(const char *dev, void *request)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_data = request };
	int ret;

	if (fd < 0)
		return -errno;
	strncpy(ifr.ifr_name, dev, IFNAMSIZ - 1);
	ret = ioctl(fd, SIOCETHTOOL, &ifr);
	return ret < 0 ? -errno : ret;
}

int ethtool_get_channels(const char *dev, struct ethtool_channels *out)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int ret = run(dev, &channels);

	if (!ret)
		*out = channels;
	return ret;
}

static uint32_t count_distinct(const uint32_t *at, uint32_t n)
{
	uint32_t distinct = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t before = 0;

		while (before < i && at[before] != at[i])
			before++;
		distinct += before == i;
	}
	return distinct;
}

int ethtool_count_rss_queues(const char *dev, uint32_t *n)
{
	struct ethtool_rxfh_indir ask = { .cmd = ETHTOOL_GRXFHINDIR }, *table;
	int ret = run(dev, &ask);

	if (ret || !ask.size)
		return ret ? ret : -EOPNOTSUPP;
	table = calloc(1, sizeof(*table) + ask.size * sizeof(table->ring_index[0]));
	if (!table)
		return -ENOMEM;
	*table = ask;
	table->cmd = ETHTOOL_GRXFHINDIR;
	ret = run(dev, table);
	if (!ret)
		*n = count_distinct(table->ring_index, ask.size);
	free(table);
	return ret;
}

void ethtool_driver(const char *dev, char driver[32])
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	if (run(dev, &info))
		info.driver[0] = '\0';
	snprintf(driver, 32, "%.31s", info.driver);
}

/* --- features ------------------------------------------------------------------------------- */

/* 0: none, or an error. */
static uint32_t count_features(const char *dev)
{
	char buf[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)] _request_ = { 0 };
	struct ethtool_sset_info *info = (void *)buf;

	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ull << ETH_SS_FEATURES;
	return run(dev, info) || !info->sset_mask ? 0 : info->data[0];
}

#define FEATURE_BLOCKS 4 /* of 32; Linux 6.18 has 63 features */

/* The feature's bit, or -1. */
static int find_feature(const char *dev, const char *name)
{
	const uint32_t n = count_features(dev);
	_cleanup_free_ struct ethtool_gstrings *strings = NULL;

	/* some room more: their number may have grown since, and the kernel writes them all */
	if (n)
		strings = calloc(1, sizeof(*strings) + (size_t)(n + 64) * ETH_GSTRING_LEN);
	if (!strings)
		return -1;
	*strings = (struct ethtool_gstrings){ ETHTOOL_GSTRINGS, ETH_SS_FEATURES, n };
	if (run(dev, strings))
		return -1;
	for (uint32_t i = 0; i < strings->len && i < FEATURE_BLOCKS * 32; i++)
		if (!strncmp((const char *)strings->data + (size_t)i * ETH_GSTRING_LEN, name,
			     ETH_GSTRING_LEN))
			return (int)i;
	return -1;
}

bool ethtool_feature_is_on(const char *dev, const char *name)
{
	char buf[sizeof(struct ethtool_gfeatures) +
		 FEATURE_BLOCKS * sizeof(struct ethtool_get_features_block)] _request_ = { 0 };
	struct ethtool_gfeatures *request = (void *)buf;
	const int bit = find_feature(dev, name);

	if (bit < 0)
		return false;
	request->cmd = ETHTOOL_GFEATURES;
	request->size = FEATURE_BLOCKS;
	return !run(dev, request) && request->features[bit / 32].active >> bit % 32 & 1;
}
