// SPDX-License-Identifier: GPL-2.0-only
/* See devices.h. */
#include "devices.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <stdio.h>

#define WORD(word, field, value)                                                                 \
	{                                                                                        \
		word, offsetof(struct device, field), sizeof(((struct device *)0)->field), value \
	}

/* The value is what the word alone means. */
static const struct {
	const char *word;
	size_t offset, size;
	uint64_t value;
} words[] = {
	WORD("down", link.flags, 0),
	WORD("dormant", link.flags, IFF_UP),
	WORD("no_carrier", link.carrier, false),
	WORD("carrier", link.carrier, true),
	WORD("no_link", has_link, false),
	WORD("type", link.type, ARPHRD_NONE),
	WORD("mtu", link.mtu, 0),
	WORD("lower", link.lower, 0),
	WORD("master", link.master, 0),
	WORD("prog_id", link.xdp_prog_id, 0),
	WORD("rx_queues", link.n_rx_queues, 0),
	WORD("tx_queues", link.n_tx_queues, 0),
	WORD("table", link.vrf_table, 0),
	WORD("tpid", link.vlan_protocol, 0),
	WORD("vid", link.vlan_id, 0),
	WORD("maps_priority", link.vlan_maps_priority, true),
	WORD("in_frame", link.vlan_reorders, false),
	WORD("reorders", link.vlan_reorders, true),
	WORD("takes_frames", link.takes_frames, true),
	WORD("external", link.is_external, true),
	WORD("unknown_hash", link.bond_choice, BOND_CHOICE_UNKNOWN),
	WORD("by_state", link.bond_choice, BOND_CHOICE_STATE),
	WORD("l2", link.bond_choice, BOND_CHOICE_L2),
	WORD("l23", link.bond_choice, BOND_CHOICE_L23),
	WORD("l34", link.bond_choice, BOND_CHOICE_L34),
	WORD("encap23", link.bond_choice, BOND_CHOICE_ENCAP23),
	WORD("inactive", link.slave_active, false),
	WORD("active", link.slave_active, true),
	WORD("mii_down", link.slave_link, false),
	WORD("mii_up", link.slave_link, true),
	WORD("place", slave_place, 0),
	WORD("native", link.xdp_mode, XDP_MODE_NATIVE),
	WORD("generic", link.xdp_mode, XDP_MODE_GENERIC),
	WORD("unknown_program", link.xdp_mode, XDP_MODE_UNKNOWN),
	WORD("no_ipv6", has_ipv6, false),
	WORD("mtu6", ipv6.mtu6, 0),
	WORD("hop_limit", ipv6.hop_limit, 0),
	WORD("disable_ipv6", ipv6.disabled, true),
	WORD("ignore_linkdown", ipv6.ignore_linkdown, true),
	WORD("keep_linkdown", ipv6.ignore_linkdown, false),
	WORD("force_forwarding", ipv6.force_forwarding, true),
	WORD("own_addrs_only", ipv6.own_addrs_only, true),
	WORD("features", xdp_features, 0),
	WORD("no_features", has_features, false),
	WORD("ours", ours, true),
	WORD("program", program, true),
	WORD("pass", pass, true),
	WORD("assume_xmit", assume_xmit, true),
	WORD("strips_tags", strips_tags, true),
	WORD("open_checksums", open_checksums, true),
	WORD("routes_stale", routes_stale, true),
	WORD("refused_mtu", refused_mtu, 0),
	WORD("taken_elsewhere", taken_elsewhere, true),
	WORD("tags_elsewhere", tags_elsewhere, true),
};

static struct device *add(struct links *links, uint32_t ifindex)
{
	struct link link = {
		.ifindex = ifindex,
		.flags = IFF_UP | IFF_RUNNING,
		.mtu = 1500,
		.type = ARPHRD_ETHER,
		.mac = { 2, 0, 0, 0, 0, (uint8_t)ifindex },
		.carrier = true,
		.bond_choice = BOND_CHOICE_STATE,
	};
	const struct link_ipv6 ipv6 = { .ifindex = ifindex, .mtu6 = 1500, .hop_limit = 64 };
	bool changed;

	snprintf(link.name, sizeof(link.name), "d%u", ifindex);
	assert_int_equal(links_set(links, &link, &changed), 0);
	assert_int_equal(links_set_ipv6(links, &ipv6, &changed), 0);
	assert_int_equal(links_set_features(links, ifindex, 4 /* NDO_XMIT */, &changed), 0);
	return links_find(links, ifindex);
}

static void set_kind(struct device *device, const char *kind)
{
	strcpy(device->link.kind, kind);
	if (strcmp(kind, "vlan") != 0)
		return;
	device->link.vlan_protocol = ETH_P_8021Q;
	device->link.vlan_reorders = true;
}

static void set_slave(struct device *device, uint32_t bond)
{
	device->link.master = bond;
	strcpy(device->link.master_kind, "bond");
	device->link.slave_active = device->link.slave_link = true;
	device->slave_place = device->ifindex;
}

/* False: it is no word that is set by a text. */
static bool set_text(struct device *device, const char *word, const char *value)
{
	if (!strcmp(word, "kind"))
		set_kind(device, value);
	else if (!strcmp(word, "name"))
		strcpy(device->link.name, value);
	else if (!strcmp(word, "of"))
		strcpy(device->link.master_kind, value);
	else if (!strcmp(word, "owner"))
		strcpy(device->owner, value);
	else if (!strcmp(word, "slave"))
		set_slave(device, (uint32_t)atoi(value));
	else if (!strcmp(word, "mac"))
		memset(device->link.mac, atoi(value), sizeof(device->link.mac));
	else
		return false;
	return true;
}

static void set_word(struct device *device, char *word)
{
	char *value = strchr(word, '=');
	uint64_t number;

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i].word) != 0)
			continue;
		number = value ? strtoull(value, NULL, 0) : words[i].value;
		memcpy((char *)device + words[i].offset, &number, words[i].size);
		return;
	}
	if (!value || !set_text(device, word, value))
		fail_msg("what is '%s'?", word);
}

void devices_set(struct links *links, const char *text)
{
	char copy[1024], *parts, *left, *part, *word;
	struct device *device;
	uint32_t ifindex;

	snprintf(copy, sizeof(copy), "%s", text);
	for (part = strtok_r(copy, ";", &parts); part; part = strtok_r(NULL, ";", &parts)) {
		word = strtok_r(part, " ", &left);
		if (!word)
			continue;
		ifindex = (uint32_t)atoi(word);
		device = links_find(links, ifindex) ?: add(links, ifindex);
		while ((word = strtok_r(NULL, " ", &left)))
			set_word(device, word);
	}
}
