/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operator's exceptions: what `sixlane exception` put into sl_operator, brought into the FIB.
 */
#ifndef USER_DAEMON_OPERATOR_H
#define USER_DAEMON_OPERATOR_H

#include <stdint.h>

#include "../../bpf/abi/addr.h"

struct operator_list;
struct sync;

/* Into sync->operator. 0 or -ENOMEM. */
int operator_new(struct sync *sync);
void operator_free(struct operator_list *list);
void operator_run(struct sync *sync);
uint64_t operator_due_ns(const struct sync *sync);
/* Readable when the CLI has changed something; -1: none. */
int operator_fd(const struct operator_list *list);

/* Read the whole list again. */
void operator_reread(struct operator_list *list);
/* The kernel's exception of dst is gone: the operator's, if there is one, applies again. */
void operator_restore(struct sync *sync, const union sixlane_addr *dst);
/* A device came, went or was renamed. */
void operator_device_changed(struct operator_list *list);
/* Mark the gateways of the operator's exceptions as used, so that they are resolved. */
void operator_mark_gateways(struct sync *sync);

#endif
