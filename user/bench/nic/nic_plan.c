// SPDX-License-Identifier: GPL-2.0-only
/* See nic_plan.h. */
#include "nic_plan.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../../cli/ports.h"
#include "../../cli/print.h"
#include "../../lib/util.h"

const char *const nic_features[NIC_N_FEATURES] = { "rx-lro", "rx-gro-hw", "rx-vlan-hw-parse",
						   "rx-vlan-stag-hw-parse" };

/* --- what there is -------------------------------------------------------------------------- */

static bool sysfs_says(const char *dev, const char *name, const char *value)
{
	char path[PATH_MAX], line[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", dev, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return !strcmp(line, value);
}

static bool is_in_sysfs(const struct link *link)
{
	char ifindex[16], mac[PRINT_MAC_LEN];

	snprintf(ifindex, sizeof(ifindex), "%u", link->ifindex);
	print_mac(link->mac, mac);
	return sysfs_says(link->name, "ifindex", ifindex) && sysfs_says(link->name, "address", mac);
}

static int read_link(const char *dev, struct nic_state *out)
{
	struct ports ports;
	const struct link *link;
	int ret = ports_read(&ports);

	if (ret)
		return ret;
	link = ports_find(&ports, if_nametoindex(dev));
	if (link) {
		memcpy(out->dev, link->name, sizeof(out->dev));
		out->ifindex = link->ifindex;
		out->up = link->flags & IFF_UP;
		out->in_sysfs = is_in_sysfs(link);
		out->mtu = link->mtu;
		out->rx_queues = link->n_rx_queues;
		out->tx_queues = link->n_tx_queues;
	}
	ports_free(&ports);
	return link ? 0 : -ENODEV;
}

int nic_state_read(const char *dev, struct nic_state *out)
{
	struct nic_state state = { 0 };
	int ret = read_link(dev, &state);

	if (ret)
		return ret;
	state.has_channels = !ethtool_get_channels(dev, &state.channels);
	state.has_rings = !ethtool_get_rings(dev, &state.rings);
	state.has_coalesce = !ethtool_get_coalesce(dev, &state.coalesce);
	for (size_t i = 0; i < NIC_N_FEATURES; i++)
		state.has_feature[i] =
			!ethtool_get_feature(dev, nic_features[i], &state.features[i]);
	*out = state;
	return 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Drivers have pairs, or rx and tx apart from each other, or both, of which pairs are meant. */
unsigned int nic_state_max_queues(const struct nic_state *state)
{
	const struct ethtool_channels *channels = &state->channels;

	if (!state->has_channels)
		return smaller(state->rx_queues, state->tx_queues);
	return channels->max_combined ?: smaller(channels->max_rx, channels->max_tx);
}

static unsigned int in_use(const struct nic_state *state, uint32_t apart, uint32_t all)
{
	unsigned int set = state->has_channels ? state->channels.combined_count + apart : 0;

	return set ?: all;
}

unsigned int nic_state_rx_queues(const struct nic_state *state)
{
	return in_use(state, state->channels.rx_count, state->rx_queues);
}

unsigned int nic_state_tx_queues(const struct nic_state *state)
{
	return in_use(state, state->channels.tx_count, state->tx_queues);
}

/* --- the device ----------------------------------------------------------------------------- */

static struct nic_change *add(struct nic_plan *plan, const struct nic_state *state,
			      enum nic_what what)
{
	struct nic_change *change = &plan->at[plan->n];

	if (plan->n == NIC_PLAN_MAX)
		return NULL;
	memset(change, 0, sizeof(*change));
	change->what = what;
	change->ifindex = state->ifindex;
	memcpy(change->dev, state->dev, sizeof(change->dev));
	plan->n++;
	return change;
}

static void plan_channels(const struct nic_state *state, unsigned int queues, struct nic_plan *plan)
{
	struct ethtool_channels channels = state->channels;
	struct nic_change *change;

	if (!queues || !state->has_channels || queues > nic_state_max_queues(state))
		return;
	if (channels.max_combined) {
		channels.combined_count = queues;
		channels.rx_count = channels.tx_count = 0;
	} else {
		channels.rx_count = channels.tx_count = queues;
	}
	if (memcmp(&channels, &state->channels, sizeof(channels)) != 0 &&
	    (change = add(plan, state, NIC_CHANNELS)))
		change->channels = channels;
}

static void plan_rings(const struct nic_state *state, unsigned int ring, struct nic_plan *plan)
{
	struct ethtool_ringparam rings = state->rings;
	struct nic_change *change;

	if (!ring || !state->has_rings)
		return;
	rings.rx_pending = smaller(ring, rings.rx_max_pending);
	rings.tx_pending = smaller(ring, rings.tx_max_pending);
	if (memcmp(&rings, &state->rings, sizeof(rings)) != 0 &&
	    (change = add(plan, state, NIC_RINGS)))
		change->rings = rings;
}

static void plan_coalesce(const struct nic_state *state, int usecs, struct nic_plan *plan)
{
	struct ethtool_coalesce coalesce = state->coalesce;
	struct nic_change *change;

	if (usecs < 0 || !state->has_coalesce)
		return;
	coalesce.use_adaptive_rx_coalesce = coalesce.use_adaptive_tx_coalesce = 0;
	coalesce.rx_coalesce_usecs = (uint32_t)usecs;
	if (memcmp(&coalesce, &state->coalesce, sizeof(coalesce)) != 0 &&
	    (change = add(plan, state, NIC_COALESCE)))
		change->coalesce = coalesce;
}

static void plan_features(const struct nic_state *state, struct nic_plan *plan)
{
	struct nic_change *change;

	for (size_t i = 0; i < NIC_N_FEATURES; i++) {
		if (!state->has_feature[i] || !state->features[i].on || state->features[i].fixed ||
		    !(change = add(plan, state, NIC_FEATURE)))
			continue;
		snprintf(change->feature.name, sizeof(change->feature.name), "%s", nic_features[i]);
	}
}

void nic_plan_device(const struct nic_state *state, const struct nic_want *want,
		     struct nic_plan *plan)
{
	struct nic_change *change;

	plan_channels(state, want->queues, plan);
	plan_rings(state, want->ring, plan);
	plan_coalesce(state, want->usecs, plan);
	plan_features(state, plan);
	if (want->mtu && want->mtu != state->mtu && (change = add(plan, state, NIC_MTU)))
		change->mtu = want->mtu;
	if (!state->up && (change = add(plan, state, NIC_UP)))
		change->up = true;
}

/* --- where its queues go -------------------------------------------------------------------- */

/* As the kernel writes and reads it: words of eight digits, the highest first. */
static void put_mask(unsigned int cpu, char *out, size_t size)
{
	int n = snprintf(out, size, "%x", 1u << cpu % 32);

	for (unsigned int word = cpu / 32; word && (size_t)n < size; word--)
		n += snprintf(out + n, size - (size_t)n, ",00000000");
}

static struct nic_change *add_file(struct nic_plan *plan, const struct nic_state *state)
{
	struct nic_change *change = add(plan, state, NIC_FILE);

	if (change)
		change->ifindex = 0;
	return change;
}

static void plan_irqs(const struct nic_state *state, const struct nic_want *want,
		      const struct nic_irq *irqs, size_t n_irqs, struct nic_plan *plan)
{
	struct nic_change *change;

	for (size_t i = 0; i < n_irqs; i++) {
		unsigned int cpu;

		if (irqs[i].queue < 0 || !(change = add_file(plan, state)))
			continue;
		cpu = want->cpus[(size_t)irqs[i].queue % want->n_cpus];
		snprintf(change->file.path, sizeof(change->file.path),
			 "/proc/irq/%u/smp_affinity_list", irqs[i].number);
		snprintf(change->file.text, sizeof(change->file.text), "%u", cpu);
	}
}

/* Of a device with one queue the kernel knows no XPS. */
static void plan_xps(const struct nic_state *state, const struct nic_want *want, unsigned int n,
		     struct nic_plan *plan)
{
	struct nic_change *change;

	for (unsigned int i = 0; n > 1 && i < n; i++) {
		change = add_file(plan, state);
		if (!change)
			continue;
		snprintf(change->file.path, sizeof(change->file.path),
			 "/sys/class/net/%s/queues/tx-%u/xps_cpus", state->dev, i);
		put_mask(want->cpus[i % want->n_cpus], change->file.text,
			 sizeof(change->file.text));
	}
}

/* No other CPU is to take over what a queue's own has received. */
static void plan_rps(const struct nic_state *state, unsigned int n, struct nic_plan *plan)
{
	struct nic_change *change;

	for (unsigned int i = 0; i < n; i++) {
		change = add_file(plan, state);
		if (!change)
			continue;
		snprintf(change->file.path, sizeof(change->file.path),
			 "/sys/class/net/%s/queues/rx-%u/rps_cpus", state->dev, i);
		snprintf(change->file.text, sizeof(change->file.text), "0");
	}
}

void nic_plan_affinity(const struct nic_state *state, const struct nic_want *want,
		       const struct nic_irq *irqs, size_t n_irqs, struct nic_plan *plan)
{
	if (!want->n_cpus || !state->in_sysfs)
		return;
	plan_irqs(state, want, irqs, n_irqs, plan);
	plan_xps(state, want, want->queues ?: nic_state_tx_queues(state), plan);
	plan_rps(state, want->queues ?: nic_state_rx_queues(state), plan);
}
