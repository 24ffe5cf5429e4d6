// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the generator has to know of a device. By ioctls, which ask the network namespace of this
 * process; sysfs shows that of whoever mounted it.
 */
#include "generator.h" /* first: linux/if.h gives way to net/if.h */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../../netlink/socket_link.h"

#define MBIT 1000000ull

static int ask(int sock, unsigned long what, struct ifreq *request)
{
	return ioctl(sock, what, request) ? -errno : 0;
}

static int ask_ethtool(int sock, struct ifreq *request, void *what)
{
	request->ifr_data = what;
	return ask(sock, SIOCETHTOOL, request);
}

/* A driver that does not say has one, as far as anybody can tell. */
static unsigned int count_queues(int sock, struct ifreq *request)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	unsigned int n;

	if (ask_ethtool(sock, request, &channels))
		return 1;
	n = channels.combined_count + channels.tx_count;
	return n ? n : 1;
}

/* IFF_RUNNING says the same, but up to a second later. */
static bool ask_carrier(int sock, struct ifreq *request)
{
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };

	return ask_ethtool(sock, request, &link) || link.data;
}

static uint64_t ask_speed(int sock, struct ifreq *request)
{
	/* The masks of modes behind it are of a length that the driver is first asked for. */
	uint32_t room[3 * INT8_MAX + sizeof(struct ethtool_link_settings) / sizeof(uint32_t)] = {
		0
	};
	struct ethtool_link_settings *link = (struct ethtool_link_settings *)room;

	link->cmd = ETHTOOL_GLINKSETTINGS;
	if (ask_ethtool(sock, request, link) || link->link_mode_masks_nwords >= 0)
		return 0;
	link->cmd = ETHTOOL_GLINKSETTINGS;
	link->link_mode_masks_nwords = (int8_t)-link->link_mode_masks_nwords;
	if (ask_ethtool(sock, request, link) || link->speed == (uint32_t)SPEED_UNKNOWN)
		return 0;
	return link->speed * MBIT;
}

int generator_port_open(const char *name, struct generator_port *out)
{
	_cleanup_close_ int sock = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	struct generator_port port = { 0 };
	struct ifreq request = { 0 };
	int ret;

	if (sock < 0)
		return bench_fail(-errno, "socket");
	port.ifindex = (int)nl_link_find(name, port.name);
	if (!port.ifindex)
		return bench_bad(-ENODEV,
				 "there is no device \"%s\" in this network namespace (see "
				 "`ip link`; --netns names another)",
				 name);
	memcpy(request.ifr_name, port.name, sizeof(port.name));
	ret = ask(sock, SIOCGIFHWADDR, &request);
	if (!ret && request.ifr_hwaddr.sa_family != 1)
		return bench_bad(-EINVAL, "%s is not an Ethernet device", name);
	memcpy(port.mac, request.ifr_hwaddr.sa_data, sizeof(port.mac));
	ret = ret ?: ask(sock, SIOCGIFMTU, &request);
	port.mtu = (uint32_t)request.ifr_mtu;
	ret = ret ?: ask(sock, SIOCGIFFLAGS, &request);
	port.is_up = request.ifr_flags & IFF_UP;
	port.has_carrier = ask_carrier(sock, &request);
	if (ret)
		return bench_fail(ret, "%s", name);
	port.speed_bps = ask_speed(sock, &request);
	port.queues = count_queues(sock, &request);
	if (!ask_ethtool(sock, &request, &driver))
		snprintf(port.driver, sizeof(port.driver), "%s", driver.driver);
	*out = port;
	return 0;
}
