// SPDX-License-Identifier: GPL-2.0-only
#include "guard_ports.h"

#include "daemon.h"

static const uint32_t guard_bits =
	SIXLANE_PORT_IN_HELD | SIXLANE_PORT_OUT_HELD | SIXLANE_PORT_GUARD;

void guard_ports_find(const struct sync *sync, struct guard_ports *ports)
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

static bool pair_is_free(const struct sync *sync, const struct guard_ports *ports, size_t in,
			 size_t out)
{
	return guard_pair_is_free(sync->guard.guard, &sync->stores.links, ports->devices[in],
				  ports->devices[out]);
}

static void write_pair(struct sync *sync, const struct guard_ports *ports, size_t in, size_t out)
{
	maps_set_pair(sync->maps, ports->slots[in], ports->slots[out],
		      pair_is_free(sync, ports, in, out));
}

void guard_ports_write_all(struct sync *sync, bool only_held)
{
	struct guard_ports ports;

	guard_ports_find(sync, &ports);
	for (size_t in = 0; in < ports.n; in++)
		for (size_t out = 0; out < ports.n; out++)
			if (!only_held || !pair_is_free(sync, &ports, in, out))
				write_pair(sync, &ports, in, out);
}

void guard_ports_write_pairs(struct sync *sync, const struct device *device)
{
	struct guard_ports ports;

	sync->guard.unreported = true;
	guard_ports_find(sync, &ports);
	for (size_t at = 0; at < ports.n; at++) {
		if (ports.devices[at] != device)
			continue;
		for (size_t other = 0; other < ports.n; other++) {
			write_pair(sync, &ports, at, other);
			write_pair(sync, &ports, other, at);
		}
	}
}

void guard_ports_set_flags(const struct sync *sync, const struct device *device,
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

bool guard_ports_devices_changed(struct sync *sync)
{
	if (!sync->guard.ready || !guard_devices_changed(sync->guard.guard, &sync->stores.links))
		return false;
	guard_ports_write_all(sync, false);
	return true;
}

void guard_ports_refresh(struct sync *sync)
{
	if (!sync->guard.ready)
		return;
	guard_devices_changed(sync->guard.guard, &sync->stores.links);
	guard_ports_write_all(sync, false);
	sync->guard.unreported = true;
}
