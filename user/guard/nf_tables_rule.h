/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of rules. See nf_tables_objects.h. */
#ifndef GUARD_NF_TABLES_RULE_H
#define GUARD_NF_TABLES_RULE_H

#include "nf_tables_objects.h"

int nf_parse_rule(const struct nlmsghdr *nlh, void *parser);

#endif
