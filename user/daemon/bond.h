/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of a bond's slaves, which decides on its transmit hash and which netlink does not
 * report.
 */
#ifndef USER_DAEMON_BOND_H
#define USER_DAEMON_BOND_H

#include "../rib/links.h"

/* Sets slave_place of the slaves of bond: 1 + the place; 0: not known. */
void bond_read_order(struct links *links, const struct device *bond);

#endif
