// SPDX-License-Identifier: GPL-2.0-only
/*
 * See upper_devices.h. The kernel's links from a port to the devices above it are read from sysfs;
 * netlink does not report all of them. A port whose links cannot be read passes everything.
 *
 * The kernel makes a link before it announces the upper device. A device that is not known yet is
 * therefore asked for, which waits until the kernel has finished.
 */
#include "upper_devices.h"

#include <errno.h>
#include <string.h>

#include "../guard/uppers.h"
#include "../netlink/parse.h"
#include "daemon.h"
#include "ports.h"
#include "request.h"

#define UNREADABLE "?" /* no device has this name */

/* A port that has an owner is checked, too: the message may be about the owner, renamed. */
void upper_devices_message(struct links *links, struct schedule *schedule, const struct link *link)
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

static void update(struct sync *sync, struct device *device)
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

void upper_devices_check(struct sync *sync, bool all)
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
			update(sync, device);
	}
}
