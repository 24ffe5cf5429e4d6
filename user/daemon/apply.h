/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of the kernel into the stores, and from there into the FIB. While schedule.quiet is set
 * only the stores are filled; apply_all() then brings the FIB to the same state.
 */
#ifndef USER_DAEMON_APPLY_H
#define USER_DAEMON_APPLY_H

struct nlmsghdr;
struct sync;

/* Callbacks of the sockets. ctx: struct sync. Errors are reported here; they return 0. */
int apply_message(const struct nlmsghdr *nlh, void *ctx);
int apply_genl_message(const struct nlmsghdr *nlh, void *ctx);
/* All stores into the FIB; what the stores lack is deleted there. */
void apply_all(struct sync *sync);

#endif
