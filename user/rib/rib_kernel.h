/* SPDX-License-Identifier: GPL-2.0-only */
/* The routes of a destination from the kernel's own table. Private to rib/; rib.h is public. */
#ifndef RIB_RIB_KERNEL_H
#define RIB_RIB_KERNEL_H

#include "rib_list.h"

/* Replace the list by these routes, see rib_put(). 0 or -ENOMEM: nothing changed. */
int rib_list_put(struct rib_route **list, struct rib_counts *counts, const struct route *routes,
		 size_t n);

#endif
