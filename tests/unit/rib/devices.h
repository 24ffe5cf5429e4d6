/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests: network devices from text, with all that messages and the daemon know of them. */
#ifndef UNIT_RIB_DEVICES_H
#define UNIT_RIB_DEVICES_H

#include "rib_unit.h"

#include "../../../user/rib/links.h"

/*
 * "IFINDEX [KIND] [WORD[=VALUE]] …; …": adds devices, or changes what a word says of known ones.
 * For the words see devices.c. A new device is an Ethernet port that is up, and takes redirected
 * frames; a VLAN device has an 802.1Q tag. mac: each of its bytes. slave: of the bond with that
 * ifindex.
 */
void devices_set(struct links *links, const char *text);

#endif
