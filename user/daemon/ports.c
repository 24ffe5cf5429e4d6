// SPDX-License-Identifier: GPL-2.0-only
/* See ports.h. A device gets a slot only if packets come in by it or leave by it. */
#include "ports.h"

#include <errno.h>
#include <string.h>

#include "../lib/ethtool.h"
#include "../lib/kernel.h"
#include "../loader/driver.h"
#include "../netlink/socket_query.h"
#include "../resolve/port.h"
#include "bond.h"
#include "daemon.h"
#include "guard_ports.h"
#include "meta.h"
#include "port_mtu.h"
#include "port_names.h"
#include "schedule.h"

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
		guard_ports_set_flags(sync, device, port);
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
		guard_ports_write_pairs(sync, device);
	if (ret == -ENOSPC)
		log_warning_limited(
			"%s: more than %u devices are in use; packets through this one pass to the kernel",
			device->link.name, SIXLANE_MAX_PORTS - 1);
	else if (ret)
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

static const char *const mode_names[] = {
	[XDP_MODE_NONE] = "none",	[XDP_MODE_NATIVE] = "native",
	[XDP_MODE_GENERIC] = "generic", [XDP_MODE_OFFLOAD] = "offload",
	[XDP_MODE_MULTI] = "multi",	[XDP_MODE_UNKNOWN] = "unknown",
};

static void report_program(const struct config *config, const struct device *device,
			   const struct loader_prog *prog)
{
	const char *name = device->link.name;

	if (prog->owner == LOADER_OURS && !prog->no_arena)
		loader_refusal_forget(name);
	if (prog->owner == LOADER_OURS && prog->mode == XDP_MODE_GENERIC &&
	    config->mode != LOADER_GENERIC)
		log_warning(
			"%s: sixlane runs in GENERIC mode (slow): the driver has no native XDP, or the program was loaded with xdpgeneric",
			name);
	else if (prog->owner == LOADER_OURS)
		log_info("%s: serving (%s mode, program %u%s)", name, mode_names[prog->mode],
			 prog->id, prog->dispatcher ? ", dispatcher" : "");
	else if (prog->owner == LOADER_OTHER_PROG)
		log_info(
			"%s: not served: it runs another XDP program, \"%s\" (id %u); detach that program first",
			name, prog->name, prog->id);
	else if (prog->owner == LOADER_OTHER_MAPS)
		log_warning(
			"%s: not served: its sixlane program has maps of its own; load it with 'ip link' or 'xdp-loader load -p %s'",
			name, loader_pin_dir());
}

static bool pins_are_ours(const struct loader_maps *fds)
{
	struct loader_maps pins;
	bool ours;

	if (loader_open_maps(&pins, true, NULL))
		return false;
	ours = !memcmp(pins.id, fds->id, sizeof(pins.id));
	loader_close_maps(&pins);
	return ours;
}

/*
 * Its program does not go with the maps of this daemon. Replacing is tried once, since a bond whose
 * driver refuses announces the old program again.
 */
static bool is_to_be_replaced(const struct sync *sync, const struct device *device,
			      const struct loader_prog *prog)
{
	if (prog->id == device->kept_prog_id)
		return false;
	if (prog->no_arena)
		return pins_are_ours(sync->fds);
	return prog->owner == LOADER_OTHER_MAPS && !prog->dispatcher;
}

/* True: replaced, which the kernel announces. False: *prog is the program that is there. */
static bool replace_program(const struct sync *sync, struct device *device,
			    struct loader_prog *prog)
{
	const char *name = device->link.name;
	char err[LOADER_ERR];

	if (loader_adopt_port(sync->config->object, device->ifindex, err)) {
		log_warning("%s: %s", name, err);
		device->kept_prog_id = prog->id;
		if (loader_query(device->ifindex, sync->fds, prog))
			prog->owner = LOADER_NO_PROG;
		return false;
	}
	device->replaced = true;
	if (prog->no_arena)
		log_info("%s: replaced its sixlane program by one that reads the arena", name);
	else
		log_info(
			"%s: replaced its sixlane program, which had maps of its own, by one with the shared maps",
			name);
	return true;
}

/* Query the program of a device if it is another one than last time. */
static void query_program(struct sync *sync, struct device *device)
{
	struct loader_prog prog = { .owner = LOADER_NO_PROG };
	int ret;

	if (device->link.xdp_prog_id == device->queried_prog_id)
		return;
	device->queried_prog_id = device->link.xdp_prog_id;
	sync->schedule.wanted |= SCHEDULE_FLOWS;
	if (!device->replaced)
		device->fitted_mtu = 0;
	device->ours = false;
	device->program = device->link.xdp_prog_id != 0;
	if (!device->program) {
		/* a bond is without a program for an instant while it is replaced */
		if (!device->replaced)
			log_info("%s: its XDP program was removed", device->link.name);
		return;
	}
	device->replaced = false;
	ret = loader_query(device->ifindex, sync->fds, &prog);
	if (ret == -ENODEV || ret == -ENOENT) /* gone meanwhile, as a message will say */
		return;
	if (ret) {
		log_warning("%s: not served: cannot query its XDP program: %s", device->link.name,
			    strerror(-ret));
		return;
	}
	if (prog.owner == LOADER_OTHER_MAPS && !pins_are_ours(sync->fds)) {
		log_error(
			"%s: not served: the maps pinned in %s no longer belong to this daemon; restart sixlaned",
			device->link.name, loader_pin_dir());
		return;
	}
	if (prog.owner != LOADER_NO_PROG)
		device->refused_mtu = 0;
	device->ours = prog.owner == LOADER_OURS;
	if (is_to_be_replaced(sync, device, &prog) && replace_program(sync, device, &prog))
		return;
	device->ours = prog.owner == LOADER_OURS;
	report_program(sync->config, device, &prog);
}

/* A device keeps these settings when it loses the name: pass_ports must not end unnoticed. */
static void apply_names(const struct stores *stores, struct device *device)
{
	device->pass |= port_names_has(stores->port_names, PORT_NAMES_PASS_PORTS, device->ifindex);
	device->assume_xmit |=
		port_names_has(stores->port_names, PORT_NAMES_ASSUME_XMIT, device->ifindex);
}

/* Attach to a port that appeared, or got a configured name, after the start. */
static void attach_new(struct sync *sync, struct device *device)
{
	char err[LOADER_ERR];
	int ret;

	if (device->attach_tried ||
	    !port_names_has(sync->stores.port_names, PORT_NAMES_PORTS, device->ifindex))
		return;
	device->attach_tried = true;
	if (device->program)
		return;
	ret = loader_attach(sync->config->object, device->link.name, sync->config->mode, err);
	if (!ret) {
		log_info("%s: the device appeared; attached", device->link.name);
	} else if (ret == -EMSGSIZE) {
		device->refused_mtu = device->link.mtu;
		log_warning("%s: not attached until its MTU is lowered: %s", device->link.name,
			    err);
	} else {
		log_error("%s: the device appeared, but sixlaned cannot attach: %s",
			  device->link.name, err);
	}
}

void ports_removed(const struct stores *stores, const struct device *device, bool moved)
{
	const char *name = device->link.name;

	if (device->has_link)
		loader_refusal_forget(name);
	if (!device->ours)
		return;
	if (moved)
		log_warning(
			"%s: the device moved to another network namespace, where the kernel forwards its packets",
			name);
	else if (port_names_has(stores->port_names, PORT_NAMES_PORTS, device->ifindex))
		log_warning("%s: the device was removed; sixlaned attaches again when it reappears",
			    name);
	else
		log_warning(
			"%s: the device was removed; run 'sixlane attach %s' when it reappears, or add it to ports in sixlaned.conf",
			name, name);
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
	query_program(sync, device);
	port_mtu_update(sync, device);
	attach_new(sync, device);
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

static bool is_bond(const struct device *device)
{
	return device && device->has_link && !strcmp(device->link.kind, "bond");
}

void ports_update_slaves(struct sync *sync, uint32_t master)
{
	const struct device *device = links_find(&sync->stores.links, master);

	if (!is_bond(device))
		return;
	bond_read_order(&sync->stores.links, device);
	links_each_dependent(&sync->stores.links, master, update_dependent, sync);
}

void ports_update(struct sync *sync, uint32_t ifindex)
{
	struct device *device = links_find(&sync->stores.links, ifindex), *lower;
	uint32_t lower_ifindex = device && device->has_link ? device->link.lower : 0;

	if (device && device->has_link)
		update_device(sync, device);
	if (is_bond(device))
		bond_read_order(&sync->stores.links, device);
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
	guard_ports_refresh(sync);
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (sync->stores.links.devices[i].has_link)
			inspect(sync, &sync->stores.links.devices[i]);
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (is_bond(&sync->stores.links.devices[i]))
			bond_read_order(&sync->stores.links, &sync->stores.links.devices[i]);
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

static void detach_ports(const struct config_ports *ports, const bool attached[])
{
	char err[LOADER_ERR];

	for (unsigned int i = 0; i < ports->n; i++)
		if (attached[i] && loader_detach(ports->names[i], err))
			log_error("%s: cannot detach: %s", ports->names[i], err);
}

/* To recognise an attached program takes more rights than to attach it. */
static int check_attached(const struct loader_maps *fds, unsigned int ifindex, const char *name,
			  char *err)
{
	struct loader_prog prog;
	int ret = loader_query(ifindex, fds, &prog);

	if (!ret && prog.owner == LOADER_OURS)
		return 0;
	snprintf(
		err, LOADER_ERR,
		"%s: attached, but cannot query its XDP program: %s; sixlaned needs CAP_SYS_ADMIN for that",
		name, strerror(ret ? -ret : EINVAL));
	return ret ? ret : -EINVAL;
}

int ports_attach(struct sync *sync, char *err)
{
	const struct config_ports *ports = &sync->config->ports;
	bool attached[CONFIG_MAX_PORTS] = { false };

	for (unsigned int i = 0; i < ports->n; i++) {
		struct loader_prog before = { .owner = LOADER_NO_PROG };
		char name[IFNAMSIZ];
		uint32_t ifindex = nl_link_find(ports->names[i], name);
		int ret;

		if (!ifindex)
			continue;
		if (!loader_query(ifindex, sync->fds, &before) &&
		    before.owner == LOADER_OURS) /* served as it is */
			continue;
		ret = loader_attach(sync->config->object, name, sync->config->mode, err);
		/* it is gone, or its MTU is too large: attach_new() tries again */
		if (ret == -ENODEV || ret == -EMSGSIZE)
			continue;
		attached[i] = !ret;
		if (!ret)
			ret = check_attached(sync->fds, ifindex, name, err);
		if (ret) {
			detach_ports(ports, attached);
			return ret;
		}
	}
	return 0;
}

int ports_detach_all(const struct loader_maps *fds)
{
	struct if_nameindex *devices = if_nameindex();
	struct loader_prog prog;
	char err[LOADER_ERR];
	int result = devices ? 0 : -errno;

	for (struct if_nameindex *device = devices; device && device->if_index; device++) {
		int ret = loader_query(device->if_index, fds, &prog);

		if (ret || prog.owner != LOADER_OURS)
			continue;
		ret = loader_detach(device->if_name, err);
		if (ret)
			log_error("%s: %s", device->if_name, err);
		result = result ? result : ret;
	}
	if (devices)
		if_freenameindex(devices);
	return result;
}
