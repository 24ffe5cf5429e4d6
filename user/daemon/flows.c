// SPDX-License-Identifier: GPL-2.0-only
/* See flows.h. Where the kernel lacks what the extension needs, packets of such ports pass. */
#include "flows.h"

#include <errno.h>

#include "../loader/flows.h"
#include "daemon.h"

static bool wants(const struct sync *sync, const struct device *device)
{
	return device->has_link && device->ours &&
	       guard_can_forward_flows(sync->guard.guard, device);
}

/* The id of our program on a device, perhaps under a dispatcher; 0: it is gone. */
static uint32_t program_of(const struct loader_maps *fds, const struct device *device)
{
	struct loader_prog prog;

	return loader_query(device->ifindex, fds, &prog) || prog.owner != LOADER_OURS ? 0 : prog.id;
}

static void report(struct sync *sync, int rc, const char *err)
{
	if (rc == sync->flows.error)
		return;
	sync->flows.error = rc;
	if (rc == -EOPNOTSUPP)
		log_info("packets of flowtables pass to the kernel: %s", err);
	else if (rc)
		log_warning("packets of flowtables pass to the kernel: %s", err);
}

/* prog_ids: of the devices, in the order of links. True: some flag changed. */
static bool mark(struct sync *sync, const uint32_t *prog_ids)
{
	bool changed = false;

	for (size_t i = 0; i < sync->stores.links.n; i++) {
		struct device *device = &sync->stores.links.devices[i];
		bool looks_up = loader_flows_has(sync->flows.extension, prog_ids[i]);

		if (looks_up == device->looks_up_flows)
			continue;
		device->looks_up_flows = looks_up;
		changed = true;
		if (looks_up)
			log_info("%s: XDP forwards the packets of its flowtables",
				 device->link.name);
	}
	return changed;
}

bool flows_run(struct sync *sync)
{
	uint32_t *prog_ids = calloc(sync->stores.links.n + 1, sizeof(*prog_ids));
	char err[LOADER_ERR] = "";
	bool changed;

	if (!prog_ids)
		return false;
	sync->schedule.wanted &= ~SCHEDULE_FLOWS;
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (wants(sync, &sync->stores.links.devices[i]))
			prog_ids[i] = program_of(sync->fds, &sync->stores.links.devices[i]);
	report(sync,
	       loader_flows_extend(sync->flows.extension, sync->config->object, prog_ids,
				   sync->stores.links.n, err),
	       err);
	changed = mark(sync, prog_ids);
	free(prog_ids);
	if (changed)
		guard_update(sync->guard.guard, &sync->stores.links);
	return changed;
}
