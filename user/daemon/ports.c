// SPDX-License-Identifier: GPL-2.0-only
/*
 * Port slots: a device gets one only if packets come in by it or leave by it. Also what the guard
 * decided about ports and pairs of ports, as the maps have it. Held back is written before free.
 */
#include <net/if.h> /* before linux/if.h, which allows for it */

#include "ports.h"

#include <errno.h>
#include <linux/if_bonding.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../lib/ethtool.h"
#include "../lib/kernel.h"
#include "../loader/driver.h"
#include "../resolve/port.h"
#include "daemon.h"
/* --- the guard's decisions -------------------------------------------------------------------- */

static const uint32_t guard_bits =
	SIXLANE_PORT_IN_HELD | SIXLANE_PORT_OUT_HELD | SIXLANE_PORT_GUARD;

void ports_list(const struct sync *sync, struct port_list *ports)
{
	ports->n = 0;
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		uint32_t ifindex = sync->maps->ports[slot].ifindex;
		const struct device *device =
			ifindex ? links_find(&sync->stores.links, ifindex) : NULL;

		if (!device || !device->has_link)
			continue;
		ports->slots[ports->n] = slot;
		ports->devices[ports->n++] = device;
	}
}

static bool pair_is_free(const struct sync *sync, const struct port_list *ports, size_t in,
			 size_t out)
{
	return guard_pair_is_free(sync->guard.guard, &sync->stores.links, ports->devices[in],
				  ports->devices[out]);
}

static void write_pair(struct sync *sync, const struct port_list *ports, size_t in, size_t out)
{
	maps_set_pair(sync->maps, ports->slots[in], ports->slots[out],
		      pair_is_free(sync, ports, in, out));
}

void ports_write_pairs(struct sync *sync, bool only_held)
{
	struct port_list ports;

	ports_list(sync, &ports);
	for (size_t in = 0; in < ports.n; in++)
		for (size_t out = 0; out < ports.n; out++)
			if (!only_held || !pair_is_free(sync, &ports, in, out))
				write_pair(sync, &ports, in, out);
}

/* The device has just got a slot: write the pairs of ports that it is part of. */
static void write_pairs_of(struct sync *sync, const struct device *device)
{
	struct port_list ports;

	sync->guard.unreported = true;
	ports_list(sync, &ports);
	for (size_t at = 0; at < ports.n; at++) {
		if (ports.devices[at] != device)
			continue;
		for (size_t other = 0; other < ports.n; other++) {
			write_pair(sync, &ports, at, other);
			write_pair(sync, &ports, other, at);
		}
	}
}

void ports_set_guard_flags(const struct sync *sync, const struct device *device,
			   struct sixlane_port *port)
{
	uint32_t flags = guard_port_flags(sync->guard.guard, &sync->stores.links, device);
	uint32_t slot = sync->guard.tightens ? fib_port_slot(sync->fib, device->ifindex) : 0;

	port->flags = (port->flags & ~(guard_bits | SIXLANE_PORT_FLOWS)) | flags;
	if (slot)
		port->flags |= sync->maps->ports[slot].flags & guard_bits;
	if (guard_may_answer(sync->guard.guard, &sync->stores.links, device, flags))
		return;
	port->flags &= ~SIXLANE_PORT_SOURCE;
	port->source = (union sixlane_addr){ 0 };
	port->hop_limit = 0;
}

bool ports_guard_changed(struct sync *sync)
{
	if (!sync->guard.ready || !guard_devices_changed(sync->guard.guard, &sync->stores.links))
		return false;
	ports_write_pairs(sync, false);
	return true;
}

/* Names or VRFs may have changed unnoticed. Ports are to be written again. */
static void refresh_guard(struct sync *sync)
{
	if (!sync->guard.ready)
		return;
	guard_devices_changed(sync->guard.guard, &sync->stores.links);
	ports_write_pairs(sync, false);
	sync->guard.unreported = true;
}

/* --- slaves of a bond ------------------------------------------------------------------------- */

static bool is_bond(const struct device *device)
{
	return device && device->has_link && !strcmp(device->link.kind, "bond");
}

static void warn_of_order(const struct device *bond)
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
			warn_of_order(bond);
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

/*
 * The order of a bond's slaves decides on its transmit hash. Netlink does not report it. Sets
 * slave_place of the slaves: 1 + the place; 0: not known.
 */
static void read_slave_order(struct links *links, const struct device *bond)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[IFNAMSIZ];

	reset_places(links, bond);
	if (fd < 0)
		warn_of_order(bond);
	for (int32_t i = 0; fd >= 0 && query_slave(fd, bond, i, name); i++) {
		struct device *slave = find_slave(links, bond, name);

		if (!slave) { /* not announced yet: the order is read again then */
			reset_places(links, bond);
			return;
		}
		slave->slave_place = (uint32_t)i + 1;
	}
}

/* --- slots ------------------------------------------------------------------------------------ */

static void resolve_for(const struct sync *sync, const struct device *device,
			struct sixlane_port *port)
{
	const struct resolve_port_policy policy = {
		.features_announced = sync->sockets.netdev_family != 0,
		.old_bonds = kernel_before(5, 18),
		.rules = &sync->stores.program,
		.addrs = &sync->stores.addrs,
	};

	resolve_port(&sync->stores.links, device, &policy, port);
	if (device->has_link)
		ports_set_guard_flags(sync, device, port);
}

/* needed: even if packets only leave by it. */
static void write_port(struct sync *sync, const struct device *device, bool needed)
{
	const uint32_t ingress = SIXLANE_PORT_INGRESS | SIXLANE_PORT_SLAVE | SIXLANE_PORT_BACKUP |
				 SIXLANE_PORT_ATTACH_PENDING;
	struct sixlane_port port;
	bool is_new;
	int ret;

	resolve_for(sync, device, &port);
	if (!needed && !(port.flags & ingress) && !fib_port_slot(sync->fib, device->ifindex))
		return;
	/* or known only by its ifindex, from a route */
	is_new = !sync->maps->ports[fib_port_slot(sync->fib, device->ifindex)].flags;
	ret = fib_set_port(sync->fib, &port);
	if (!ret && is_new)
		write_pairs_of(sync, device);
	if (ret == -ENOSPC)
		log_warning_limited(
			"%s: more than %u devices are in use; packets through this one pass to the kernel",
			device->link.name, SIXLANE_MAX_PORTS - 1);
	else if (ret)
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

/* A device keeps these settings when it loses the name: pass_ports must not end unnoticed. */
static void apply_names(const struct stores *stores, struct device *device)
{
	device->pass |= port_names_has(stores->port_names, PORT_NAMES_PASS_PORTS, device->ifindex);
	device->assume_xmit |=
		port_names_has(stores->port_names, PORT_NAMES_ASSUME_XMIT, device->ifindex);
}

static void read_driver(struct device *device)
{
	char driver[32];

	if (*device->link.kind)
		return;
	ethtool_driver(device->link.name, driver);
	device->open_checksums = loader_driver_opens_checksums(driver);
}

static void inspect(struct sync *sync, struct device *device)
{
	apply_names(&sync->stores, device);
	read_driver(device);
	ports_update_program(sync, device);
}

static void update_device(struct sync *sync, struct device *device)
{
	inspect(sync, device);
	write_port(sync, device, false);
}

static void update_dependent(void *ctx, uint32_t ifindex)
{
	struct device *device = links_find(&((struct sync *)ctx)->stores.links, ifindex);

	if (device && device->has_link)
		update_device(ctx, device);
}

void ports_update_slaves(struct sync *sync, uint32_t master)
{
	const struct device *device = links_find(&sync->stores.links, master);

	if (!is_bond(device))
		return;
	read_slave_order(&sync->stores.links, device);
	links_each_dependent(&sync->stores.links, master, update_dependent, sync);
}

void ports_update(struct sync *sync, uint32_t ifindex)
{
	struct device *device = links_find(&sync->stores.links, ifindex), *lower;
	uint32_t lower_ifindex = device && device->has_link ? device->link.lower : 0;

	if (device && device->has_link)
		update_device(sync, device);
	if (is_bond(device))
		read_slave_order(&sync->stores.links, device);
	links_each_dependent(&sync->stores.links, ifindex, update_dependent, sync);
	if (device && device->has_link && device->link.master)
		ports_update_slaves(sync, device->link.master);
	/* whether the lower device is served may depend on this one */
	lower = lower_ifindex ? links_find(&sync->stores.links, lower_ifindex) : NULL;
	if (lower && lower != device && lower->has_link)
		update_device(sync, lower);
}

/* Packets of the device are about to be forwarded that were not, or by other tables. */
static bool changes_routing(const struct sync *sync, const struct device *device)
{
	const uint32_t flags = SIXLANE_PORT_INGRESS | SIXLANE_PORT_RULES | SIXLANE_PORT_VRF;
	const struct sixlane_port *old =
		&sync->maps->ports[fib_port_slot(sync->fib, device->ifindex)];
	struct sixlane_port port;

	resolve_for(sync, device, &port);
	if (!(port.flags & SIXLANE_PORT_INGRESS))
		return false;
	return (old->flags ^ port.flags) & flags || old->table != port.table ||
	       old->iif != port.iif;
}

static bool any_changes_routing(const struct sync *sync)
{
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (sync->stores.links.devices[i].has_link &&
		    changes_routing(sync, &sync->stores.links.devices[i]))
			return true;
	return false;
}

/* The flags of slaves and VLAN devices depend on the programs of others: query all first. */
void ports_update_all(struct sync *sync)
{
	sync->schedule.wanted &= ~SCHEDULE_SOURCES;
	refresh_guard(sync);
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (sync->stores.links.devices[i].has_link)
			inspect(sync, &sync->stores.links.devices[i]);
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (is_bond(&sync->stores.links.devices[i]))
			read_slave_order(&sync->stores.links, &sync->stores.links.devices[i]);
	if (sync->schedule.quiet && any_changes_routing(sync))
		meta_hold(sync);
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (sync->stores.links.devices[i].has_link)
			write_port(sync, &sync->stores.links.devices[i], false);
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		uint32_t ifindex = sync->maps->ports[slot].ifindex;

		if (ifindex && !links_find(&sync->stores.links, ifindex))
			fib_set_port(sync->fib, &(struct sixlane_port){ .ifindex = ifindex });
	}
}

void ports_write_all(struct sync *sync)
{
	struct sixlane_port port;
	bool wait = false;

	for (size_t i = 0; i < sync->stores.links.n; i++) {
		if (!sync->stores.links.devices[i].has_link)
			continue;
		resolve_for(sync, &sync->stores.links.devices[i], &port);
		wait |= fib_prepare_port(sync->fib, &port);
	}
	if (wait)
		fib_wait_ports(sync->fib);
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (sync->stores.links.devices[i].has_link)
			write_port(sync, &sync->stores.links.devices[i], false);
}

void ports_add_egress(struct sync *sync, uint32_t ifindex)
{
	const struct device *device;

	if (fib_port_slot(sync->fib, ifindex))
		return;
	device = links_find(&sync->stores.links, ifindex);
	if (device && device->has_link)
		write_port(sync, device, true);
}
