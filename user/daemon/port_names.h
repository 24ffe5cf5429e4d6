/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which devices the names in the settings stand for now: a device's own name or an alternative one,
 * as the last message about it says. Knows nothing of what is done about a device.
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
 * An RTM_NEWLINK that parse_link() took. 0 and *changed: the settings name this device otherwise
 * than before; or -EBADMSG, and nothing is noted.
 */
int port_names_update(struct port_names *names, const struct nlmsghdr *nlh, uint32_t ifindex,
		      bool *changed);

/* One of the setting's names is the device's. */
bool port_names_has(const struct port_names *names, enum port_names_setting setting,
		    uint32_t ifindex);

/* All devices are known: log each name that no device has, and each that one has again. */
void port_names_report(struct port_names *names, const struct links *links);

/* Leave the names where `sixlane status` finds them. */
void port_names_publish(const struct port_names *names);

#endif
