/* SPDX-License-Identifier: GPL-2.0-only */
/* All input of the resolver. Borrowed, and read at each call. */
#ifndef USER_RESOLVE_VIEW_H
#define USER_RESOLVE_VIEW_H

#include "../rib/links.h"
#include "../rib/rib.h"

struct resolve_view {
	const struct rib *rib;
	const struct links *links;
	bool local_first;  /* RT_TABLE_MAIN holds RT_TABLE_LOCAL laid over it */
	bool local_within; /* and RT_TABLE_LOCAL has no entries of its own */
	bool kernel_read;  /* unannounced changes are read from the kernel's own table */
};

#endif
