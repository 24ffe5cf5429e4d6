/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of sets and of their elements. See nf_tables_objects.h. */
#ifndef GUARD_NF_TABLES_SET_H
#define GUARD_NF_TABLES_SET_H

#include "nf_tables_objects.h"

int nf_parse_set(const struct nlmsghdr *nlh, void *parser);
int nf_parse_elements(const struct nlmsghdr *nlh, void *parser);

/*
 * To be called between the rules and the elements. needed is set for each set in which a rule looks
 * up something known, or that holds verdicts. All others become unknown, and those after
 * NF_MAX_SETS.
 */
#define NF_MAX_SETS 16384u
void nf_sets_choose(struct nf_parser *parser);

#endif
