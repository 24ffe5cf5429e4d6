// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slaves of a bond that a hash selects from (bond_update_slave_arr()), and what is hashed for
 * tagged frames. Anything unknown is left to the kernel.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <string.h>

#include "kind.h"
#include "slaves.h"

/* bond_slave_can_tx() */
static bool is_used(const struct link *slave)
{
	return slave->slave_active && slave->slave_link && slave->carrier && slave->flags & IFF_UP;
}

/* Its position is known, and it has the bond's MTU: a packet too big for one is so for all. */
static bool is_expressible(const struct device *slave, const struct device *bond)
{
	return slave->slave_place && slave->link.mtu == bond->link.mtu;
}

/* Keep the bond's order. False: too many. */
static bool insert(const struct device *found[SIXLANE_MAX_SLAVES], uint32_t *n,
		   const struct device *slave)
{
	uint32_t at = *n;

	if (*n == SIXLANE_MAX_SLAVES)
		return false;
	for (; at > 0 && found[at - 1]->slave_place > slave->slave_place; at--)
		found[at] = found[at - 1];
	found[at] = slave;
	++*n;
	return true;
}

static bool fill_list(const struct links *links, const struct device *bond,
		      struct sixlane_port *out)
{
	const struct device *found[SIXLANE_MAX_SLAVES];
	uint32_t n = 0;

	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (!slave->has_link || slave->link.master != bond->ifindex)
			continue;
		if (!is_expressible(slave, bond))
			return false;
		if (is_used(&slave->link) && !insert(found, &n, slave))
			return false;
	}
	for (uint32_t i = 0; i < n; i++)
		out->slaves[i] = found[i]->ifindex;
	out->n_slaves = n;
	return true;
}

/* Not so for a bond in a bond, which hashes redirected frames again, and for unknown programs. */
bool resolve_slaves_are_plain(const struct links *links, const struct device *bond)
{
	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (slave->has_link && slave->link.master == bond->ifindex &&
		    (resolve_kind(&slave->link) || !strcmp(slave->link.kind, "bond") ||
		     slave->link.xdp_mode == XDP_MODE_UNKNOWN))
			return false;
	}
	return true;
}

static bool find_hash(const struct device *bond, uint16_t *by)
{
	switch (bond->link.bond_choice) {
	case BOND_CHOICE_L2:
		*by = SIXLANE_SLAVES_BY_L2;
		return true;
	case BOND_CHOICE_L23:
		*by = SIXLANE_SLAVES_BY_L23;
		return true;
	case BOND_CHOICE_L34:
		*by = SIXLANE_SLAVES_BY_L34;
		return true;
	default:
		return false;
	}
}

bool resolve_slaves(const struct links *links, const struct device *bond, unsigned int n_tags,
		    const union sixlane_tag tags[2], struct sixlane_port *out)
{
	uint16_t by;

	if (!find_hash(bond, &by) || !fill_list(links, bond, out))
		return false;
	/* An inner tag is part of the frame, and the kernel parses nothing after it. */
	out->slaves_by = n_tags == 2 ? SIXLANE_SLAVES_BY_L2 : by;
	out->slaves_type = n_tags == 2 ? ntohs(tags[1].tpid) : ETH_P_IPV6;
	return true;
}
