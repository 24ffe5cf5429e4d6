/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of ports in sixlaned's settings, written for `sixlane status`. Names are valid in the
 * daemon's network namespace only, so the file says which one that is. Which names are missing is
 * for the reader to find out.
 */
#ifndef USER_LOADER_PORT_NAMES_H
#define USER_LOADER_PORT_NAMES_H

#include <stddef.h>

struct loader_port_name {
	const char *setting, *name;
};

/* Replaces the list. 0 or -errno. */
int loader_names_write(const struct loader_port_name *names, size_t n);

/* Calls fn for each name of the last list, if it was written in this network namespace. */
typedef void (*loader_name_fn)(void *ctx, const struct loader_port_name *name);
void loader_names_read(loader_name_fn fn, void *ctx);

#endif
