// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands by which a person makes a change: of iproute2, ethtool and the shell. For plans, and
 * for what sixlane itself may not do.
 */
#include <net/if.h> /* first: linux/if.h gives way to it */

#include <arpa/inet.h>
#include <linux/if_bonding.h>
#include <string.h>

#include "../../cli/print.h"
#include "../../lib/util.h"
#include "nic_change.h"
#include "nic_netns.h"

const char *const nic_bond_modes[] = {
	[BOND_MODE_ROUNDROBIN] = "balance-rr", [BOND_MODE_ACTIVEBACKUP] = "active-backup",
	[BOND_MODE_XOR] = "balance-xor",       [BOND_MODE_BROADCAST] = NULL,
	[BOND_MODE_8023AD] = "802.3ad",
};
const size_t nic_bond_n_modes = ARRAY_SIZE(nic_bond_modes);
_Static_assert(NIC_BOND_MODE_LACP == BOND_MODE_8023AD, "the same");

const char *const nic_bond_policies[] = {
	[BOND_XMIT_POLICY_LAYER2] = "layer2",	 [BOND_XMIT_POLICY_LAYER34] = "layer3+4",
	[BOND_XMIT_POLICY_LAYER23] = "layer2+3", [BOND_XMIT_POLICY_ENCAP23] = "encap2+3",
	[BOND_XMIT_POLICY_ENCAP34] = "encap3+4",
};
const size_t nic_bond_n_policies = ARRAY_SIZE(nic_bond_policies);

static void master_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	char master[IFNAMSIZ];

	if (!change->master)
		snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s nomaster", change->dev);
	else
		snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s master %s", change->dev,
			 if_indextoname(change->master, master) ?: "?");
}

static void bond_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	const struct nic_bond *bond = &change->bond;

	if (!change->present)
		snprintf(out, NIC_COMMAND_LEN, "ip link delete dev %s", change->dev);
	else
		snprintf(out, NIC_COMMAND_LEN,
			 "ip link add %s type bond mode %s xmit_hash_policy %s miimon %u",
			 change->dev, nic_bond_modes[bond->mode], nic_bond_policies[bond->policy],
			 bond->miimon_ms);
}

static void address_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	char addr[INET6_ADDRSTRLEN];

	inet_ntop(change->address.family, change->address.addr, addr, sizeof(addr));
	snprintf(out, NIC_COMMAND_LEN, "ip address %s %s/%u dev %s",
		 change->present ? "add" : "del", addr, change->address.len, change->dev);
}

static void channels_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	const struct ethtool_channels *channels = &change->channels;
	int n = snprintf(out, NIC_COMMAND_LEN, "ethtool -L %s", change->dev);
	const struct {
		const char *name;
		uint32_t max, n;
	} kinds[] = {
		{ "rx", channels->max_rx, channels->rx_count },
		{ "tx", channels->max_tx, channels->tx_count },
		{ "combined", channels->max_combined, channels->combined_count },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].max)
			n += snprintf(out + n, NIC_COMMAND_LEN - (size_t)n, " %s %u", kinds[i].name,
				      kinds[i].n);
}

static void coalesce_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	const struct ethtool_coalesce *coalesce = &change->coalesce;

	snprintf(out, NIC_COMMAND_LEN,
		 "ethtool -C %s adaptive-rx %s adaptive-tx %s rx-usecs %u tx-usecs %u", change->dev,
		 coalesce->use_adaptive_rx_coalesce ? "on" : "off",
		 coalesce->use_adaptive_tx_coalesce ? "on" : "off", coalesce->rx_coalesce_usecs,
		 coalesce->tx_coalesce_usecs);
}

static void mac_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	char mac[PRINT_MAC_LEN];

	print_mac(change->mac, mac);
	snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s address %s", change->dev, mac);
}

static void netns_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	char path[128];

	nic_netns_path(change->netns.inside, path, sizeof(path));
	if (change->what == NIC_NETNS)
		snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s netns %s", change->dev, path);
	else
		snprintf(out, NIC_COMMAND_LEN, "nsenter --net=%s", path);
}

void nic_change_command(const struct nic_change *change, char out[NIC_COMMAND_LEN])
{
	switch (change->what) {
	case NIC_UP:
		snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s %s", change->dev,
			 change->up ? "up" : "down");
		break;
	case NIC_MTU:
		snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s mtu %u", change->dev,
			 change->mtu);
		break;
	case NIC_MAC:
		mac_command(change, out);
		break;
	case NIC_MASTER:
		master_command(change, out);
		break;
	case NIC_XDP:
		snprintf(out, NIC_COMMAND_LEN, "ip link set dev %s xdp off", change->dev);
		break;
	case NIC_BOND:
		bond_command(change, out);
		break;
	case NIC_ADDRESS:
		address_command(change, out);
		break;
	case NIC_CHANNELS:
		channels_command(change, out);
		break;
	case NIC_RINGS:
		snprintf(out, NIC_COMMAND_LEN, "ethtool -G %s rx %u tx %u", change->dev,
			 change->rings.rx_pending, change->rings.tx_pending);
		break;
	case NIC_COALESCE:
		coalesce_command(change, out);
		break;
	case NIC_FEATURE:
		snprintf(out, NIC_COMMAND_LEN, "ethtool -K %s %s %s", change->dev,
			 change->feature.name, change->feature.on ? "on" : "off");
		break;
	case NIC_FILE:
		snprintf(out, NIC_COMMAND_LEN, "echo %s >%s", change->file.text, change->file.path);
		break;
	case NIC_NETNS:
	case NIC_INSIDE:
		netns_command(change, out);
		break;
	}
}
