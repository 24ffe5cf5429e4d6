/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens and loads an object file. Knows nothing of single maps or ports. */
#ifndef USER_LOADER_BPF_OBJECT_H
#define USER_LOADER_BPF_OBJECT_H

struct bpf_object;
struct bpf_program;

/* Opens it, with its pins in the pin directory, and loads nothing. 0 or -errno. */
int loader_object_open(const char *path, struct bpf_object **out, char *err);

/*
 * Loads the object that was opened from path. port: for the message, or NULL. 0 and the program of
 * section "xdp" or "xdp.frags", or -errno.
 */
int loader_object_load(struct bpf_object *object, const char *path, const char *port,
		       struct bpf_program **prog, char *err);

#endif
