// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which programs run on which devices: attaches, replaces and detaches them.
 *
 * The plain program needs each frame in one buffer. Most drivers refuse an MTU beyond that.
 * virtio_net accepts it and drops larger packets before the program sees them, although the kernel
 * alone would take them. Such a port gets the program for several buffers. If its driver takes
 * neither program at that MTU, it gets none until the MTU is lower.
 */
#include "ports.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "../loader/driver.h"
#include "../netlink/socket_query.h"
#include "daemon.h"

/* --- the program of a device ------------------------------------------------------------------ */

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

/* --- a program that the MTU does not fit ------------------------------------------------------ */

/* The loader takes names. Before a rename is noticed, the name may belong to another device. */
static bool has_its_name(const struct device *device)
{
	return if_nametoindex(device->link.name) == device->ifindex;
}

/* The MTU at which the driver will decide: the last message may be older. */
static uint32_t mtu_now(const struct device *device)
{
	uint32_t mtu = loader_driver_mtu(device->link.name);

	return mtu ? mtu : device->link.mtu;
}

static void detach_for_mtu(struct device *device, uint32_t mtu, const char *why)
{
	const char *name = device->link.name;
	char err[LOADER_ERR];
	int ret = loader_detach(name, err);

	if (ret && ret != -ENOENT) {
		log_warning(
			"%s: at MTU %u large packets may be lost: its program can neither be replaced (%s) nor detached (%s); lower the MTU, then run 'sixlane detach %s'",
			name, device->link.mtu, why, err, name);
		return;
	}
	device->refused_mtu = mtu;
	log_warning(
		"%s: detached until the MTU is lowered: at MTU %u large packets may be lost, and the program cannot be replaced (%s)",
		name, device->link.mtu, why);
}

static void attach_again(const struct config *config, struct device *device)
{
	const char *name = device->link.name;
	uint32_t mtu = mtu_now(device);
	char err[LOADER_ERR];

	if (loader_attach(config->object, name, LOADER_NATIVE, err)) {
		device->refused_mtu = mtu;
		log_warning("%s: cannot attach again at MTU %u: %s", name, device->link.mtu, err);
		return;
	}
	device->refused_mtu = 0;
	log_info("%s: attached again at MTU %u", name, device->link.mtu);
}

static void replace_for_mtu(struct sync *sync, struct device *device, struct loader_prog *prog)
{
	uint32_t id = prog->id, mtu = mtu_now(device);
	char err[LOADER_ERR];
	int ret = loader_adopt_port(sync->config->object, device->ifindex, err);

	/* another program came, or this one went, as a message will say */
	if (loader_query(device->ifindex, sync->fds, prog) || prog->owner != LOADER_OURS)
		return;
	/* also after -EEXIST: an upper device has a program */
	if (ret && prog->id == id)
		detach_for_mtu(device, mtu, err);
	if (ret || prog->id == id)
		return;
	device->replaced = true;
	log_info("%s: replaced its program at MTU %u by one %s", device->link.name,
		 device->link.mtu,
		 prog->frags ? "for frames in several buffers"
			     : "of the same flavour, which its driver accepts");
}

static void check_program(struct sync *sync, struct device *device)
{
	struct loader_prog prog;

	if (loader_query(device->ifindex, sync->fds, &prog) || prog.owner != LOADER_OURS)
		return;
	device->fitted_mtu = device->link.mtu;
	if (!loader_prog_needs_frags(&prog, device->link.mtu))
		return;
	if (prog.dispatcher)
		log_warning(
			"%s: at MTU %u large packets may be lost: sixlaned replaces no program under a dispatcher; run 'sixlane detach %s', then 'sixlane attach %s'",
			device->link.name, device->link.mtu, device->link.name, device->link.name);
	else
		replace_for_mtu(sync, device, &prog);
}

static void fit_mtu(struct sync *sync, struct device *device)
{
	uint32_t mtu = device->link.mtu;
	bool is_jumbo = loader_mtu_is_jumbo(mtu), is_back, is_new;

	if (!is_jumbo)
		device->fitted_mtu = 0;
	if (device->refused_mtu && mtu > device->refused_mtu)
		device->refused_mtu = mtu;
	is_back = mtu < device->refused_mtu;
	is_new = device->ours && is_jumbo && mtu > device->fitted_mtu;
	if ((!is_back && !is_new) || !has_its_name(device))
		return;
	if (is_back)
		attach_again(sync->config, device);
	if (is_new)
		check_program(sync, device);
}

/* --- devices that come and go ----------------------------------------------------------------- */

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

void ports_update_program(struct sync *sync, struct device *device)
{
	query_program(sync, device);
	fit_mtu(sync, device);
	attach_new(sync, device);
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

/* --- all ports -------------------------------------------------------------------------------- */

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
