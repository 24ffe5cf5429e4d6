/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads legacy ip6tables by socket options. */
#ifndef GUARD_IP6_TABLES_H
#define GUARD_IP6_TABLES_H

#include "ruleset.h"

/*
 * All tables that exist; empty if the kernel has none. A request for any other would create it. 0
 * (free *out with guard_ruleset_free()) or -errno.
 */
int ip6_tables_read(struct guard_ruleset **out);

#endif
