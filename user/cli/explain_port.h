/* SPDX-License-Identifier: GPL-2.0-only */
/* The ingress of the packet that `sixlane explain` explains. */
#ifndef USER_CLI_EXPLAIN_PORT_H
#define USER_CLI_EXPLAIN_PORT_H

#include "explain_steps.h"

/*
 * Sets port (unless it is set), ingress, prog, and the MACs and tags of packet. The port is the
 * served one by which the packet's source is reached, or else the first served one. The program
 * runs below VLAN devices and on the slaves of bonds. CMD_OK, or CMD_FAILED after logging.
 */
int explain_find_port(struct explain *explain);

#endif
