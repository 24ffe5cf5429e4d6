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

static int count_strings(const char *dev, uint32_t set_id, uint32_t *n)
{
	char buf[sizeof(struct ethtool_sset_info) + sizeof(*n)] _request_ = { 0 };
	struct ethtool_sset_info *info = (void *)buf;
	int ret;

	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ull << set_id;
	ret = run(dev, info);
	if (ret)
		return ret;
	if (!info->sset_mask || !info->data[0])
		return -EOPNOTSUPP;
	*n = info->data[0];
	return 0;
}

/* *out is to be freed by the caller. */
static int get_strings(const char *dev, uint32_t set_id, struct ethtool_gstrings **out)
{
	struct ethtool_gstrings *strings;
	uint32_t n = 0;
	int ret = count_strings(dev, set_id, &n);

	if (ret)
		return ret;
	/* some room more: their number may have grown since, and the kernel writes them all */
	strings = calloc(1, sizeof(*strings) + (size_t)(n + 64) * ETH_GSTRING_LEN);
	if (!strings)
		return -ENOMEM;
	*strings = (struct ethtool_gstrings){ ETHTOOL_GSTRINGS, set_id, n };
	ret = run(dev, strings);
	if (ret)
		free(strings);
	else
		*out = strings;
	return ret;
}

static const char *string_at(const struct ethtool_gstrings *strings, uint32_t i)
{
	return (const char *)strings->data + (size_t)i * ETH_GSTRING_LEN;
}

#define FEATURE_BLOCKS 4 /* of 32; Linux 6.18 has 63 features */

static int find_feature(const char *dev, const char *name, uint32_t *bit)
{
	struct ethtool_gstrings *strings;
	int ret = get_strings(dev, ETH_SS_FEATURES, &strings);

	if (ret)
		return ret;
	ret = -ENOENT;
	for (uint32_t i = 0; i < strings->len && i < FEATURE_BLOCKS * 32; i++)
		if (!strncmp(string_at(strings, i), name, ETH_GSTRING_LEN)) {
			*bit = i;
			ret = 0;
		}
	free(strings);
	return ret;
}

int ethtool_get_feature(const char *dev, const char *name, struct nic_feature *out)
{
	char buf[sizeof(struct ethtool_gfeatures) +
		 FEATURE_BLOCKS * sizeof(struct ethtool_get_features_block)] _request_ = { 0 };
	struct ethtool_gfeatures *request = (void *)buf;
	const struct ethtool_get_features_block *block;
	uint32_t bit = 0, mask;
	int ret = find_feature(dev, name, &bit);

	if (ret)
		return ret;
	request->cmd = ETHTOOL_GFEATURES;
	request->size = FEATURE_BLOCKS;
	ret = run(dev, request);
	if (ret)
		return ret;
	block = &request->features[bit / 32];
	mask = 1u << bit % 32;
	*out = (struct nic_feature){
		.on = block->active & mask,
		.fixed = !(block->available & mask) || block->never_changed & mask,
	};
	return 0;
}
