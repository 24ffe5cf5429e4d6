/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puts sixlane on a port, replaces it and detaches it, each in one step (replacing on a bond takes
 * two) that fails if another program is there. Never falls back to another mode than the one asked
 * for.
 */
#ifndef USER_LOADER_ATTACH_H
#define USER_LOADER_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

struct loader_prog;

enum loader_mode { LOADER_NATIVE, LOADER_GENERIC, LOADER_DISPATCHER };
extern const char *const loader_mode_names[LOADER_DISPATCHER + 1];

/*
 * Loads the object with the pinned maps (made if missing) and attaches it to a port. 0 also if the
 * port has sixlane with these maps in this mode already. Otherwise -errno, among them:
 * -EEXIST      another program is there (named in err), or sixlane in another mode
 * -EOPNOTSUPP  no native XDP, or not as the port is set up (err says to ask for generic)
 * -EMSGSIZE    no native XDP at the port's MTU, as far as is known; a smaller one may do
 */
int loader_attach(const char *object, const char *port, enum loader_mode mode, char *err);

/* Detaches sixlane from a port. -ENOENT: no program; -EBUSY: not sixlane's (named in err). */
int loader_detach(const char *port, char *err);

/* Replaces the sixlane program of a port, in the same mode, if it has maps of its own
 * (LOADER_OTHER_MAPS, no dispatcher), does not read their arena, or needs several buffers at a
 * jumbo MTU. 0: the program is now the best that the driver accepts, which may be one for single
 * buffers. */
int loader_adopt_port(const char *object, uint32_t ifindex, char *err);

/* Packets of this MTU may need more than the one buffer that drivers have for XDP. */
bool loader_mtu_is_jumbo(uint32_t mtu);
/* The largest MTU that is not jumbo. */
uint32_t loader_max_plain_mtu(void);
/* At this MTU the program may miss packets, because it takes each in one buffer. */
bool loader_prog_needs_frags(const struct loader_prog *prog, uint32_t mtu);

#endif
