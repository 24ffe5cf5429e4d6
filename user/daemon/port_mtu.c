// SPDX-License-Identifier: GPL-2.0-only
/*
 * See port_mtu.h. The plain program needs each frame in one buffer. Most drivers refuse an MTU
 * beyond that. virtio_net accepts it and drops larger packets before the program sees them,
 * although the kernel alone would take them. Such a port gets the program for several buffers. If
 * its driver takes neither program at that MTU, it gets none until the MTU is lower.
 */
#include "port_mtu.h"

#include <errno.h>
#include <net/if.h>

#include "../loader/driver.h"
#include "daemon.h"

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

static void detach(struct device *device, uint32_t mtu, const char *why)
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

static void replace(struct sync *sync, struct device *device, struct loader_prog *prog)
{
	uint32_t id = prog->id, mtu = mtu_now(device);
	char err[LOADER_ERR];
	int ret = loader_adopt_port(sync->config->object, device->ifindex, err);

	/* another program came, or this one went, as a message will say */
	if (loader_query(device->ifindex, sync->fds, prog) || prog->owner != LOADER_OURS)
		return;
	/* also after -EEXIST: an upper device has a program */
	if (ret && prog->id == id)
		detach(device, mtu, err);
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
		replace(sync, device, &prog);
}

void port_mtu_update(struct sync *sync, struct device *device)
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
