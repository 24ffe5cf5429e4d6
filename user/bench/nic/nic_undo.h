/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes that are taken back whatever becomes of this process. Before a change is made, its former
 * value goes to a guardian, a process that does nothing but wait for the other end of its socket to
 * be closed: by nic_undo_end(), by an error's way out, by a signal's, by SIGKILL or a crash. Then
 * it sets all values back, the last one first. So there is one way of restoring, which every run
 * takes.
 *
 * A change of the network namespace that the process is in (NIC_INSIDE) it makes as well, at once:
 * what is changed from then on is to be set back in there. A device that does not come back from a
 * network namespace (NIC_NETNS) is gone: what was kept of it by name stays as it is.
 *
 * What it finds as it was, it leaves alone; what is gone by then (a device, an interrupt) needs
 * nothing. It ignores the signals of a terminal and of a polite kill. Not survived: its own SIGKILL
 * (as that of a whole control group) and the machine's end.
 */
#ifndef USER_BENCH_NIC_UNDO_H
#define USER_BENCH_NIC_UNDO_H

#include "nic_change.h"

struct nic_undo;

/*
 * Start the guardian, in the caller's namespaces. Before the process has threads or children that
 * do not exec: these would hold the socket open. 0 or -errno, said.
 */
int nic_undo_begin(const struct nic_backend *backend, struct nic_undo **out);

/*
 * Make a change, unless it is so already. 0 or -errno with nothing said; -EOWNERDEAD: the guardian
 * is gone, nothing was changed.
 */
int nic_undo_set(struct nic_undo *undo, const struct nic_change *change);

/*
 * This value is to be restored, too, though it is another change that disturbs it: such as an
 * address, which its device loses when it goes down.
 */
int nic_undo_keep(struct nic_undo *undo, const struct nic_change *now);

/* Restore all and wait for it. undo is freed. 0 or -errno; said, with what is left to do by hand.
 */
int nic_undo_end(struct nic_undo *undo);

#endif
