// SPDX-License-Identifier: GPL-2.0-only
/* See bond.h. Read by the ioctl behind ifenslave. */
#include <net/if.h> /* before linux/if.h, which allows for it */

#include "bond.h"

#include <errno.h>
#include <linux/if_bonding.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../lib/log.h"

static void warn(const struct device *bond)
{
	log_warning_limited(
		"%s: cannot query the order of its slaves: %s; packets that leave through VLANs on it pass to the kernel",
		bond->link.name, strerror(errno));
}

/* The name of the slave at this place, from 0. False: there are no more. */
static bool query_slave(int fd, const struct device *bond, int32_t place, char name[IFNAMSIZ])
{
	struct ifslave slave = { .slave_id = place };
	struct ifreq request = { .ifr_data = (void *)&slave };

	memcpy(request.ifr_name, bond->link.name, IFNAMSIZ);
	if (ioctl(fd, SIOCBONDSLAVEINFOQUERY, &request)) {
		if (errno != ENODEV) /* also if the bond is gone, or renamed */
			warn(bond);
		return false;
	}
	memcpy(name, slave.slave_name, IFNAMSIZ);
	return true;
}

static void reset_places(struct links *links, const struct device *bond)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->devices[i].link.master == bond->ifindex)
			links->devices[i].slave_place = 0;
}

static struct device *find_slave(struct links *links, const struct device *bond, const char *name)
{
	struct device *device = links_find(links, if_nametoindex(name));

	return device && device->link.master == bond->ifindex ? device : NULL;
}

void bond_read_order(struct links *links, const struct device *bond)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[IFNAMSIZ];

	reset_places(links, bond);
	if (fd < 0)
		warn(bond);
	for (int32_t i = 0; fd >= 0 && query_slave(fd, bond, i, name); i++) {
		struct device *slave = find_slave(links, bond, name);

		if (!slave) { /* not announced yet: the order is read again then */
			reset_places(links, bond);
			return;
		}
		slave->slave_place = (uint32_t)i + 1;
	}
}
