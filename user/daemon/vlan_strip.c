// SPDX-License-Identifier: GPL-2.0-only
/*
 * VLAN tags that the NIC takes off before XDP sees the frame: a frame of another VLAN would look
 * like one of the port's own and be forwarded. Such a port passes everything until stripping is
 * switched off. A veth strips nothing by itself; there the sender keeps the tag beside the frame,
 * which cannot be seen from here.
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

static bool strips_tags(int fd, const char *name)
{
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	struct ifreq request = { .ifr_data = (void *)&flags };

	memcpy(request.ifr_name, name, IFNAMSIZ);
	/* a driver without the call has no such offload */
	return !ioctl(fd, SIOCETHTOOL, &request) && (flags.data & ETH_FLAG_RXVLAN);
}

static bool hides_tags(const struct device *device, int fd)
{
	return strcmp(device->link.kind, "veth") != 0 && strips_tags(fd, device->link.name);
}

/* A bond's own flag says nothing: its slaves take the frames in. */
static bool any_slave_hides_tags(const struct sync *sync, uint32_t bond, int fd)
{
	for (size_t i = 0; i < sync->stores.links.n; i++) {
		const struct device *slave = &sync->stores.links.devices[i];

		if (slave->has_link && slave->link.master == bond && hides_tags(slave, fd))
			return true;
	}
	return false;
}

static void update(struct sync *sync, struct device *device, int fd)
{
	bool strips = !strcmp(device->link.kind, "bond")
			      ? any_slave_hides_tags(sync, device->ifindex, fd)
			      : hides_tags(device, fd);

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
