/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rule of the datapath in the words of `ip -6 rule`.
 */
#ifndef USER_CLI_RULE_H
#define USER_CLI_RULE_H

#include "ports.h"

#define CMD_RULE_LEN 384

/* "1000: from 2001:db8::/32 iif eth0 lookup 100" */
const char *cmd_rule_text(const struct ports *ports, const struct sixlane_rule *rule,
			  char buf[CMD_RULE_LEN]);

#endif
