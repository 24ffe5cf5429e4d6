/* SPDX-License-Identifier: GPL-2.0-only */
/* A rule of the maps as `ip -6 rule` prints it. */
#ifndef USER_CLI_RULE_H
#define USER_CLI_RULE_H

#include "ports.h"

#define RULE_TEXT_LEN 384

/* "1000: from 2001:db8::/32 iif eth0 lookup 100", in buf, which is returned. */
const char *rule_text(const struct ports *ports, const struct sixlane_rule *rule,
		      char buf[RULE_TEXT_LEN]);

#endif
