/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pinned maps: open, check, create, adopt, remove. Never changes what a map contains, but for
 * an arena that is given up.
 */
#ifndef USER_LOADER_PIN_H
#define USER_LOADER_PIN_H

#include "map_spec.h"

/*
 * Opens the pinned maps of an existing sixlane. Checks the layouts and sixlane_meta.abi (0 is
 * accepted: no daemon has run yet). read_only: for the CLI's reading commands. -ENOENT: there are
 * none (err says how to get some); -EPROTO: another ABI or layout.
 */
int loader_open_maps(struct loader_maps *maps, bool read_only, char *err);

/*
 * The same, but makes and pins what is missing, by the object's definitions. An arena is made if
 * the object wants one (arena.h), unless the set is complete without.
 *
 * If there are no pins, adopts the maps of a sixlane program that is attached to a port but pinned
 * nowhere (xdp-loader without -p). Mounts nothing: a missing bpffs is an error.
 */
int loader_make_maps(const char *object, struct loader_maps *maps, char *err);

/*
 * A pin with the name of one of sixlane's maps exists, of whatever version. Whoever finds none,
 * makes some and then fails, removes them again.
 */
bool loader_have_pins(void);

/* Removes all pins of sixlane. 0 or -errno. */
int loader_unpin(char *err);

/*
 * For the daemon's start: gives open maps an arena if the object wants one. If it does not, an
 * arena that is pinned, as by an earlier daemon, is cleared and unpinned. 0 or -errno.
 */
int loader_arena_reconcile(const char *object, struct loader_maps *maps, char *err);

#endif
