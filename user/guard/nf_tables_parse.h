/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of tables, chains and flowtables, and notifications. See nf_tables_objects.h. */
#ifndef GUARD_NF_TABLES_PARSE_H
#define GUARD_NF_TABLES_PARSE_H

#include "nf_tables_objects.h"

int nf_parse_table(const struct nlmsghdr *nlh, void *parser);
int nf_parse_chain(const struct nlmsghdr *nlh, void *parser);
int nf_parse_flowtable(const struct nlmsghdr *nlh, void *parser);

/* Whether a notification may change what was parsed. */
bool nf_parser_concerns(const struct nf_parser *parser, const struct nlmsghdr *nlh);

#endif
