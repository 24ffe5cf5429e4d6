/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extends programs by a lookup in the flowtables of nf_tables: an extension program (freplace)
 * replaces their flowtable_forwards() (bpf/flowtable.h), on kernels that have the function that it
 * calls.
 *
 * Links hold the extension and end with this process: no lookup outlives the daemon, which alone
 * knows where packets may be looked up.
 */
#ifndef USER_LOADER_FLOWS_H
#define USER_LOADER_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loader_flows;

/* NULL: out of memory. Freeing ends all extensions; flows may be NULL. */
struct loader_flows *loader_flows_new(void);
void loader_flows_free(struct loader_flows *flows);

/*
 * Extends exactly these programs; others are no longer extended. object: path of the object that
 * the extension lies beside. An id may occur several times, and 0 is ignored. Without any id the
 * extension is unloaded.
 *
 * 0, or the first -errno and err; the other programs are extended all the same. -EOPNOTSUPP: this
 * kernel has no flowtable lookup. -EBUSY: another program calls or extends that one. A program that
 * is not extended treats no packet as part of a flow.
 */
int loader_flows_extend(struct loader_flows *flows, const char *object, const uint32_t *prog_ids,
			size_t n, char *err);
bool loader_flows_has(const struct loader_flows *flows, uint32_t prog_id);

#endif
