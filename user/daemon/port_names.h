/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of ports in the settings, and the devices that have them: as own or alternative names, by
 * the last message about each device. Does not know what is done about a device.
 */
#ifndef USER_DAEMON_PORT_NAMES_H
#define USER_DAEMON_PORT_NAMES_H

#include <linux/netlink.h>

#include "../rib/links.h"
#include "config.h"

struct port_names;

enum port_names_setting {
	PORT_NAMES_PORTS,
	PORT_NAMES_PASS_PORTS,
	PORT_NAMES_ASSUME_XMIT,
	PORT_NAMES_N_SETTINGS
};

/* config is to outlive it. NULL: out of memory. */
struct port_names *port_names_new(const struct config *config);
void port_names_free(struct port_names *names);

/*
 * nlh: an RTM_NEWLINK that parse_link() accepted. 0 and *changed: this device has got or lost a
 * name of the settings; or -EBADMSG, and nothing changes.
 */
int port_names_update(struct port_names *names, const struct nlmsghdr *nlh, uint32_t ifindex,
		      bool *changed);

/* The device has one of the names of this setting. */
bool port_names_has(const struct port_names *names, enum port_names_setting setting,
		    uint32_t ifindex);

/* Log each name that no device has, and each that a device has again. Call it with all devices
 * known. */
void port_names_report(struct port_names *names, const struct links *links);

/* Write the names to a file for `sixlane status`. */
void port_names_publish(const struct port_names *names);

#endif
