/* SPDX-License-Identifier: GPL-2.0-only */
/* The target of a destination when source-specific routes matter. Private to resolve/. */
#ifndef USER_RESOLVE_SOURCES_H
#define USER_RESOLVE_SOURCES_H

#include "workspace.h"

/*
 * Set resolve->target. 1; 0 if neither the destination nor a cover of it has a source-specific
 * route; -ENOMEM.
 */
int resolve_by_source(struct resolve *resolve, const struct rib_dest *dest);

#endif
