// SPDX-License-Identifier: GPL-2.0-only
/*
 * What makes a port pass everything and is not in messages: an upper device that takes its frames,
 * and a NIC that strips VLAN tags.
 */
#include "ports.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../guard/uppers.h"
#include "../netlink/parse.h"
#include "daemon.h"
#include "requests.h"

#define UNREADABLE "?" /* no device has this name */

/* --- upper devices ---------------------------------------------------------------------------- */

/*
 * The kernel's links from a port to the devices above it are read from sysfs; netlink does not
 * report all of them. A port whose links cannot be read passes everything.
 *
 * The kernel makes a link before it announces the upper device. A device that is not known yet is
 * therefore asked for, which waits until the kernel has finished.
 */

/* A port that has an owner is checked, too: the message may be about the owner, renamed. */
void ports_mark_uppers(struct links *links, struct schedule *schedule, const struct link *link)
{
	for (size_t i = 0; i < links->n; i++) {
		struct device *device = &links->devices[i];

		if (device->ifindex != link->ifindex && device->ifindex != link->lower &&
		    !device->owner[0])
			continue;
		device->owner_stale = true;
		schedule->wanted |= SCHEDULE_UPPERS;
	}
}

struct search {
	struct sync *sync;
	struct link owner; /* name "": none yet */
};

static int store_link(const struct nlmsghdr *nlh, void *ctx)
{
	int ret = parse_link(nlh, ctx);

	return ret == -ENOMSG ? 0 : ret;
}

/* False: there is none of this name, or the request failed. */
static bool find_upper(struct sync *sync, const char *name, struct link *out)
{
	const struct device *known = links_find_name(&sync->stores.links, name);

	if (known)
		*out = known->link;
	return known || (!request_link(&sync->sockets, name, store_link, out) && out->ifindex);
}

static void check_upper(void *ctx, const char *name)
{
	struct search *search = ctx;
	struct link upper = { 0 };

	if (search->owner.name[0] ||
	    (find_upper(search->sync, name, &upper) && !links_upper_takes(&upper)))
		return;
	search->owner = upper;
	snprintf(search->owner.name, sizeof(search->owner.name), "%s", name);
}

static void report(const struct device *device, const struct link *owner)
{
	const char *port = device->link.name;

	if (!owner->name[0]) {
		/* not logged if the owner only left this namespace */
		if (!device->taken_elsewhere)
			log_info("%s: no upper device takes its frames any more", port);
	} else if (!strcmp(owner->name, UNREADABLE)) {
		log_warning(
			"%s: EVERY PACKET PASSES to the kernel: cannot read its upper devices from sysfs",
			port);
	} else {
		log_warning(
			"%s: EVERY PACKET PASSES to the kernel: the upper device %s (%s) takes its frames",
			port, owner->name, owner->kind[0] ? owner->kind : "unknown kind");
	}
}

static void update_owner(struct sync *sync, struct device *device)
{
	struct search search = { .sync = sync };
	int ret = sync->uppers ? uppers_each(sync->uppers, device->link.name, check_upper, &search)
			       : -ENOTSUP;

	device->owner_stale = false;
	/* renamed, moved or gone, as a message will say */
	if (ret == -ENOENT)
		return;
	if (ret)
		strcpy(search.owner.name, UNREADABLE);
	if (!strcmp(search.owner.name, device->owner))
		return;
	memcpy(device->owner, search.owner.name, sizeof(device->owner));
	report(device, &search.owner);
	ports_update(sync, device->ifindex);
}

/* Its packets may be forwarded: the program is on it, below its VLAN tags or on its bond. */
static bool is_served(const struct links *links, const struct device *device)
{
	union sixlane_tag tags[2];
	unsigned int n_tags;
	const struct device *bottom = links_bottom(links, device, &n_tags, tags);
	const struct device *bond = links_bond(links, device);

	return (bottom && bottom->ours) || (bond && bond->ours);
}

void ports_check_uppers(struct sync *sync, bool all)
{
	int ret;

	sync->schedule.wanted &= ~SCHEDULE_UPPERS;
	if (!sync->uppers) {
		ret = uppers_new(&sync->uppers);
		if (ret)
			log_warning_limited(
				"cannot mount sysfs (%s), which lists the upper devices of ports: run sixlaned with CAP_SYS_ADMIN",
				strerror(-ret));
	}
	for (size_t i = 0; i < sync->stores.links.n; i++) {
		struct device *device = &sync->stores.links.devices[i];

		if (device->has_link && (all || device->owner_stale) &&
		    is_served(&sync->stores.links, device))
			update_owner(sync, device);
	}
}

/* --- VLAN tags -------------------------------------------------------------------------------- */

/*
 * Without its tag a frame of another VLAN looks like one of the port's own, and would be forwarded.
 * A veth strips no tags; there the sender keeps the tag beside the frame, which cannot be seen from
 * here.
 */

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

static void update_strips(struct sync *sync, struct device *device, int fd)
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

void ports_check_strips(struct sync *sync)
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
			update_strips(sync, device, fd);
	}
}
