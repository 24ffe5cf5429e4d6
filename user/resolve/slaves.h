/* SPDX-License-Identifier: GPL-2.0-only */
/* How a bond selects the slave for a frame. Private to resolve/. */
#ifndef USER_RESOLVE_SLAVES_H
#define USER_RESOLVE_SLAVES_H

#include "../rib/links.h"

/* Frames given to the bond's slaves are transmitted unchanged. */
bool resolve_slaves_are_plain(const struct links *links, const struct device *bond);

/*
 * Set the hash by which a bond selects the slave for a frame with these tags, and the list of
 * slaves. False: only the kernel knows.
 */
bool resolve_slaves(const struct links *links, const struct device *bond, unsigned int n_tags,
		    const union sixlane_tag tags[2], struct sixlane_port *out);

#endif
