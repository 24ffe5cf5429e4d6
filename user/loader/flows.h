/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that look packets up in the flowtables of nf_tables: the extension that takes the place
 * of flowtable_forwards() in them (bpf/flowtable.h), where the kernel has what it calls.
 */
#ifndef USER_LOADER_FLOWS_H
#define USER_LOADER_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loader_flows;

/* NULL: no memory. A program stays extended until it is not asked for any more, or until free,
 * which takes NULL. */
struct loader_flows *loader_flows_new(void);
void loader_flows_free(struct loader_flows *flows);

/*
 * Let these programs of sixlane's be the extended ones, with the extension beside the object (its
 * path). The same id may come several times, 0 is none; without any all is unloaded. err:
 * LOADER_ERR bytes. 0, or the first -errno with err, of which -EOPNOTSUPP means that this kernel
 * has none; the others are extended all the same. What is not extended takes no packet for one of a
 * flow. A program that another one calls cannot be (-EBUSY).
 */
int loader_flows_extend(struct loader_flows *flows, const char *object, const uint32_t *prog_ids,
			size_t n, char *err);
bool loader_flows_has(const struct loader_flows *flows, uint32_t prog_id);

#endif
