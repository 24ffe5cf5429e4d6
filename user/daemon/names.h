/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which devices the names in the settings stand for now: a device's own name or an alternative one,
 * as the last message about it says. Knows nothing of what is done about a device.
 */
#ifndef USER_DAEMON_NAMES_H
#define USER_DAEMON_NAMES_H

#include <linux/netlink.h>

#include "../rib/links.h"
#include "config.h"

struct names;

enum names_setting { NAMES_PORTS, NAMES_PASS_PORTS, NAMES_ASSUME_XMIT, NAMES_N_SETTINGS };

/* config is to outlive it. NULL: out of memory. */
struct names *names_new(const struct config *config);
void names_free(struct names *names);

/*
 * An RTM_NEWLINK that parse_link() took. 0 and *changed: the settings name this device otherwise
 * than before; or -EBADMSG, and nothing is noted.
 */
int names_note(struct names *names, const struct nlmsghdr *nlh, uint32_t ifindex, bool *changed);

/* One of the setting's names is the device's. */
bool names_has(const struct names *names, enum names_setting setting, uint32_t ifindex);

/* All devices are known: log each name that no device has, and each that one has again. */
void names_report(struct names *names, const struct links *links);

/* Leave the names where `sixlane status` finds them. */
void names_publish(const struct names *names);

#endif
