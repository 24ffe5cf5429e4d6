/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths: the BPF filesystem, the pin directory, the XDP object and its flavours. Touches no map.
 *
 * Pins live in BPFFS/tc/globals, where iproute2 pins LIBBPF_PIN_BY_NAME maps for `ip link … xdp
 * obj`, so that whoever comes second finds them. BPFFS is /sys/fs/bpf, or $TC_BPF_MNT, which is
 * iproute2's own variable.
 */
#ifndef USER_LOADER_PATHS_H
#define USER_LOADER_PATHS_H

#include <limits.h>
#include <stdbool.h>

/* The bpffs mount point and the pin directory below it. Static storage. */
const char *loader_bpffs(void);
const char *loader_pin_dir(void);

/* sixlane.bpf.o beside the executable, else in ../lib/sixlane from there. Static storage. */
const char *loader_object_path(void);

/*
 * The flavours beside an object: for frames of several buffers (xdp.frags), the extension for
 * flowtables, the one that records its steps, the one that reads an arena. False if the object's
 * name does not end in .bpf.o, or does not fit.
 */
bool loader_frags_path(const char *object, char path[PATH_MAX]);
bool loader_flows_path(const char *object, char path[PATH_MAX]);
bool loader_trace_path(const char *object, char path[PATH_MAX]);
/* False also if the object is that flavour itself. */
bool loader_arena_path(const char *object, char path[PATH_MAX]);

#endif
