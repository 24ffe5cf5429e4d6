/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store of next-hop objects whose listener records the reported ids; shared by its tests.
 *
 * An object reads "via 3" (its device), "blackhole", "group 3*1 4*2" (devices and weights), "res
 * 3*1 4*1 [0 1 -]" (members of the buckets; "-": unknown), "other", "none"; and "mixed", if
 * routes by its hops differ.
 */
#ifndef TESTS_NEXTHOPS_STORE_H
#define TESTS_NEXTHOPS_STORE_H

#include "../../../user/rib/nexthops.h"
#include "rib_unit.h"

#define STORE_TEXT 512
#define STORE_NO_DEVICE 77u /* what groups say of their device, which means nothing */

struct store {
	struct nexthops *nexthops;
	struct rib *rib;	   /* what it follows, and prunes of routes by objects that go */
	char reported[STORE_TEXT]; /* ids, in the order of the calls */
	char alike[STORE_TEXT];	   /* of these, the ones that were not mixed then */
};

void store_open(struct store *store);
void store_close(struct store *store);

const char *store_text(const struct store *store, uint32_t id, char out[STORE_TEXT]);

#define assert_means(store, id, text)                                      \
	do {                                                               \
		char meaning[STORE_TEXT];                                  \
                                                                           \
		assert_string_equal(store_text(store, id, meaning), text); \
	} while (0)

/*
 * Applies a message: "ID via DEVICE", "ID blackhole", "ID other", "ID group MEMBER*WEIGHT …", "ID
 * res BUCKETS MEMBER*WEIGHT …", "bucket GROUP INDEX MEMBER", "del ID"; "mark", "sweep", "stale",
 * "flushed" of the store; "route N ID MTU", "unroute N ID MTU" of the RIB. Devices of objects
 * without one are 1; those of groups mean nothing. Returns what the store or the RIB does.
 */
int store_apply(struct store *store, const char *message);

#endif
