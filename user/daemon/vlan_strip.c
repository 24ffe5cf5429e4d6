// SPDX-License-Identifier: GPL-2.0-only
/*
 * See vlan_strip.h. Without its tag a frame of another VLAN looks like one of the port's own, and
 * would be forwarded. A veth strips no tags; there the sender keeps the tag beside the frame, which
 * cannot be seen from here.
 */
#include "vlan_strip.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "daemon.h"
#include "ports.h"

static bool has_rxvlan(int fd, const char *name)
{
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	struct ifreq request = { .ifr_data = (void *)&flags };

	memcpy(request.ifr_name, name, IFNAMSIZ);
	/* a driver without this call has no such offload */
	return !ioctl(fd, SIOCETHTOOL, &request) && (flags.data & ETH_FLAG_RXVLAN);
}

static bool nic_strips(const struct device *device, int fd)
{
	return strcmp(device->link.kind, "veth") != 0 && has_rxvlan(fd, device->link.name);
}

/* The flag of the bond itself means nothing: its slaves receive the frames. */
static bool any_slave_strips(const struct links *links, uint32_t bond, int fd)
{
	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (slave->has_link && slave->link.master == bond && nic_strips(slave, fd))
			return true;
	}
	return false;
}

static void update(struct sync *sync, struct device *device, int fd)
{
	bool strips = !strcmp(device->link.kind, "bond")
			      ? any_slave_strips(&sync->stores.links, device->ifindex, fd)
			      : nic_strips(device, fd);

	if (strips == device->strips_tags)
		return;
	device->strips_tags = strips;
	if (strips)
		log_warning(
			"%s: EVERY PACKET PASSES to the kernel: the NIC strips VLAN tags, so XDP cannot see them; run 'ethtool -K %s rxvlan off' (for a bond, on its slaves)",
			device->link.name, device->link.name);
	else
		log_info("%s: the NIC no longer strips VLAN tags", device->link.name);
	ports_update(sync, device->ifindex);
}

void vlan_strip_check(struct sync *sync)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		log_warning_limited("cannot query the VLAN offloads of the ports: %s",
				    strerror(errno));
		return;
	}
	for (size_t i = 0; i < sync->stores.links.n; i++) {
		struct device *device = &sync->stores.links.devices[i];

		if (device->ours)
			update(sync, device, fd);
	}
}
