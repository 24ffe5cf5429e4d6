/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps are compared with the kernel's answers, for a few forwarded packets a second. A prefix
 * on which they disagree is quarantined: it passes to the kernel.
 */
#ifndef USER_DAEMON_PARITY_H
#define USER_DAEMON_PARITY_H

#include <stdint.h>

struct parity_state;
struct sixlane_meta;
struct sync;

/* Into sync->parity. 0 or -errno. */
int parity_new(struct sync *sync);
void parity_free(struct parity_state *state);
/* Call when parity_due_ns() has come or parity_fd() has input. */
void parity_run(struct sync *sync);
int parity_fd(const struct parity_state *state);
uint64_t parity_due_ns(const struct sync *sync);
void parity_write_meta(const struct sync *sync, struct sixlane_meta *meta);

/* Neighbours that had traffic in the last second: packets of some of them are drawn. */
void parity_reset_neighbours(struct parity_state *state);
void parity_add_neighbour(struct parity_state *state, uint32_t slot);

#endif
