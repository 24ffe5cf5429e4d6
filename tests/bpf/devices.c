// SPDX-License-Identifier: GPL-2.0-only
#include "devices.h"

#include "frame.h"

/* No two bytes alike in any position, so that half of one MAC never looks like another. */
#define DEVICE_MAC(n)                                                                       \
	{                                                                                   \
		0x02 + 4 * (n), 0x11 + (n), 0x31 + (n), 0x51 + (n), 0x71 + (n), 0x91 + (n), \
	}

const uint8_t world_device_mac[N_DEVICES][6] = {
	[DEV_IN] = FRAME_DST_MAC,	    [DEV_OUT] = { 0x06, 0x12, 0x22, 0x32, 0x42, 0x52 },
	[DEV_ALT] = DEVICE_MAC(2),	    [DEV_GENERIC] = DEVICE_MAC(3),
	[DEV_SLAVE] = DEVICE_MAC(4),	    [DEV_BACKUP] = DEVICE_MAC(5),
	[DEV_STRANGER] = DEVICE_MAC(6),	    [DEV_BOND] = DEVICE_MAC(4),
	[DEV_IN_10] = DEVICE_MAC(8),	    [DEV_IN_10_20] = DEVICE_MAC(9),
	[DEV_IN_AD30] = DEVICE_MAC(10),	    [DEV_IN_AD30_40] = DEVICE_MAC(11),
	[DEV_OUT_10] = DEVICE_MAC(12),	    [DEV_OUT_AD30] = DEVICE_MAC(13),
	[DEV_OUT_AD30_40] = DEVICE_MAC(14), [DEV_BOND_10] = DEVICE_MAC(15),
};

#define NEIGH_MAC(n)                                                                        \
	{                                                                                   \
		0x82 + 4 * (n), 0x41 + (n), 0x75 + (n), 0x95 + (n), 0xa1 + (n), 0xc1 + (n), \
	}
#define MEMBER_MAC(n) [NEIGH_MEMBER + (n)] = NEIGH_MAC(14 + (n))
#define MEMBER_MACS(n) MEMBER_MAC(n), MEMBER_MAC(n + 1), MEMBER_MAC(n + 2), MEMBER_MAC(n + 3)

const uint8_t world_neigh_mac[N_NEIGHBOURS][6] = {
	[NEIGH_GATEWAY] = { 0x22, 0x61, 0x71, 0x81, 0x91, 0xa1 },
	[NEIGH_HOST] = { 0x26, 0x62, 0x72, 0x82, 0x92, 0xa2 },
	[NEIGH_ALT] = NEIGH_MAC(2),
	[NEIGH_SILENT] = { 0 },
	[NEIGH_BOND] = NEIGH_MAC(4),
	[NEIGH_IN] = NEIGH_MAC(12),
	[NEIGH_IN_10] = NEIGH_MAC(5),
	[NEIGH_IN_10_20] = NEIGH_MAC(6),
	[NEIGH_IN_AD30] = NEIGH_MAC(7),
	[NEIGH_OUT_10] = NEIGH_MAC(8),
	[NEIGH_OUT_AD30_40] = NEIGH_MAC(9),
	[NEIGH_BOND_10] = NEIGH_MAC(10),
	[NEIGH_TAGGED_HOST] = NEIGH_MAC(11),
	[NEIGH_SENDER] = NEIGH_MAC(13),
	MEMBER_MACS(0),
	MEMBER_MACS(4),
	MEMBER_MACS(8),
	MEMBER_MACS(12),
};

enum device world_neigh_device(enum neighbour neigh)
{
	static const enum device devices[N_NEIGHBOURS] = {
		[NEIGH_GATEWAY] = DEV_OUT,
		[NEIGH_HOST] = DEV_OUT,
		[NEIGH_ALT] = DEV_ALT,
		[NEIGH_SILENT] = DEV_OUT,
		[NEIGH_BOND] = DEV_BOND,
		[NEIGH_IN] = DEV_IN,
		[NEIGH_IN_10] = DEV_IN_10,
		[NEIGH_IN_10_20] = DEV_IN_10_20,
		[NEIGH_IN_AD30] = DEV_IN_AD30,
		[NEIGH_OUT_10] = DEV_OUT_10,
		[NEIGH_OUT_AD30_40] = DEV_OUT_AD30_40,
		[NEIGH_BOND_10] = DEV_BOND_10,
		[NEIGH_TAGGED_HOST] = DEV_OUT_10,
		[NEIGH_SENDER] = DEV_IN,
	};
	static const enum device members[] = { DEV_OUT, DEV_ALT, DEV_GENERIC, DEV_BOND };

	return neigh < NEIGH_MEMBER ? devices[neigh] : members[(neigh - NEIGH_MEMBER) % 4];
}

struct stack {
	enum device lower; /* of a VLAN device */
	uint32_t tags[WORLD_TAGS];
	enum device tx;
};

static const struct stack stacks[N_DEVICES] = {
	[DEV_IN_10] = { DEV_IN, { 0x8100000a }, DEV_IN },
	[DEV_IN_10_20] = { DEV_IN_10, { 0x8100000a, 0x81000014 }, DEV_IN },
	[DEV_IN_AD30] = { DEV_IN, { 0x88a8001e }, DEV_IN },
	[DEV_IN_AD30_40] = { DEV_IN_AD30, { 0x88a8001e, 0x81000028 }, DEV_IN },
	[DEV_OUT_10] = { DEV_OUT, { 0x8100000a }, DEV_OUT },
	[DEV_OUT_AD30] = { DEV_OUT, { 0x88a8001e }, DEV_OUT },
	[DEV_OUT_AD30_40] = { DEV_OUT_AD30, { 0x88a8001e, 0x81000028 }, DEV_OUT },
	[DEV_BOND_10] = { DEV_BOND, { 0x8100000a }, DEV_BOND },
};

const uint32_t *world_device_tags(enum device dev)
{
	return stacks[dev].tags;
}

enum device world_device_xmit(enum device dev)
{
	return stacks[dev].tags[0] ? stacks[dev].tx : dev;
}

const union sixlane_addr *world_source(enum device dev)
{
	static union sixlane_addr addrs[N_DEVICES];

	addrs[dev] = (union sixlane_addr){ .bytes = { 0x20, 0x01, 0x0d, 0xb8, 0, 0xff } };
	addrs[dev].bytes[15] = (uint8_t)(dev + 1);
	return &addrs[dev];
}

enum device world_device_lower(enum device dev)
{
	return stacks[dev].lower;
}
