/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loader's view of a loaded program's maps, between query.c and its users in the
 * loader.
 */
#ifndef USER_LOADER_QUERY_H
#define USER_LOADER_QUERY_H

#include "loader.h"
#include "loader_internal.h"

/* A program's maps that carry the names of sixlane's; -1 and 0 where it has none. */
struct loader_prog_maps {
	int fd[LOADER_N_MAPS];
	uint32_t id[LOADER_N_MAPS];
};

/* 0 or -errno. */
int loader_prog_maps_open(uint32_t prog_id, struct loader_prog_maps *out);
void loader_prog_maps_close(struct loader_prog_maps *maps);

/* The pinned arena, whoever made it, among maps that are open. -ENOENT, with nothing said: none. */
int loader_open_arena(struct loader_maps *maps, char *err);
/* Hold an object's definitions against this version, so that it cannot make maps of another one. */
int loader_check_object(const struct bpf_object *object, const char *path, char *err);

/* "native", "generic" … */
const char *loader_xdp_mode_name(enum xdp_mode mode);

#endif
