/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's exceptions of one destination, as the kernel reader would return them, and what else
 * tests of exceptions replace: the audit, ICMPv6 events, the operator's list and ports.
 */
#ifndef UNIT_DAEMON_EXCEPTIONS_KERNEL_H
#define UNIT_DAEMON_EXCEPTIONS_KERNEL_H

#include "../../unit.h"

#include <errno.h>
#include <string.h>

#include "../../../../user/daemon/audit.h"
#include "../../../../user/daemon/exceptions_store.h"
#include "../../../../user/daemon/operator.h"
#include "../../../../user/daemon/ports.h"
#include "../../resolve/resolve_world.h"

/* behind net/if.h */
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>

#define ROUTE "2001:db8::/32"
#define SHORTER "2001::/16"
#define SECOND_NS 1000000000ull

/* An exception of the kernel, if mtu or redirect is set. Default: at the only hop of ROUTE in main.
 */
struct found {
	uint32_t mtu;
	bool redirect; /* by device 5 */
	const char *route;
	uint32_t hop, siblings, object, src_len;
};

#define MAX_FOUND 2
#define MAX_RECORDS (2 * MAX_FOUND + 1)

static union sixlane_addr dst_; /* the destination of all exceptions */

/* --- the kernel ------------------------------------------------------------------------------- */

static struct found kernel[MAX_FOUND];
static uint64_t expires_ns; /* of all */
static int read_error;
static bool cut;	 /* a view does not hold everything */
static bool walk_misses; /* the next walk finds nothing */

static inline bool is_at(const struct found *found, uint32_t table, const struct prefix *dst)
{
	const struct prefix route = world_prefix(found->route ?: ROUTE);

	if ((!found->mtu && !found->redirect) || !dst != !!found->object)
		return false;
	return !dst || (table == RT_TABLE_MAIN && prefix_equal(&route, dst));
}

/* The record of a route, or object, and of its exception. */
static inline void add_records(struct kernel_record *out, const struct found *found)
{
	const struct prefix route = world_prefix(found->route ?: ROUTE);

	out[0] = (struct kernel_record){
		.kind = found->object ? KERNEL_RECORD_OBJECT : KERNEL_RECORD_ROUTE,
		.next_hop_id = found->object,
		.dst_len = route.len,
		.src_len = (uint8_t)found->src_len,
		.ifindex = found->hop ?: 3,
		.n_siblings = (uint16_t)found->siblings,
		.type = RTN_UNICAST,
	};
	memcpy(out[0].dst, route.addr.bytes, sizeof(out[0].dst));
	out[1] = (struct kernel_record){
		.kind = KERNEL_RECORD_EXCEPTION,
		.dst_len = 128,
		.ifindex = found->redirect ? 5 : out[0].ifindex,
		.mtu = found->mtu,
		.flags = found->redirect ? RTF_DYNAMIC : RTF_EXPIRES,
		.expires = expires_ns,
	};
	memcpy(out[1].dst, dst_.bytes, sizeof(out[1].dst));
}

/* The records of a route; dst NULL: of objects. A multipath route has another hop. */
static inline struct kernel_view view_of(uint32_t table, const struct prefix *dst)
{
	static struct kernel_record records[MAX_RECORDS];
	struct kernel_view view = {
		.now_ns = util_now_ns(), .end = true, .cut = cut, .records = records
	};

	for (size_t i = 0; i < MAX_FOUND; i++) {
		if (!is_at(&kernel[i], table, dst))
			continue;
		add_records(&records[view.n], &kernel[i]);
		view.n += 2;
	}
	if (view.n && records[0].n_siblings) {
		records[view.n] = records[0];
		records[view.n++].ifindex = 6;
	}
	return view;
}

uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record)
{
	return record->flags & RTF_EXPIRES ? record->expires : 0;
}

int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view)
{
	*view = view_of(table, dst);
	return read_error;
}

int kernel_reader_walk(struct kernel_reader *reader, uint32_t table, uint32_t budget,
		       const struct kernel_choice *choice, struct kernel_cursor *cursor,
		       struct kernel_view *view)
{
	*view = view_of(KERNEL_READER_OBJECTS, NULL);
	view->n *= !walk_misses;
	walk_misses = false;
	return 0;
}

/* --- other replaced functions ----------------------------------------------------------------- */

static uint64_t read_since_ns, lost;
static bool event_waits; /* a message about dst_ has come */
static int restored;	 /* readings of the operator's exceptions that were requested */

uint64_t audit_read_since_ns(const struct audit *audit)
{
	return read_since_ns;
}

int maps_icmp_events_lost(const struct maps *maps, uint64_t *out)
{
	*out = lost;
	return 0;
}

int maps_ring_read(struct maps_ring *ring, void *records, size_t max)
{
	struct sixlane_icmp_event *icmp_events = records;
	const int n = event_waits;

	if (event_waits)
		icmp_events[0] = (struct sixlane_icmp_event){ .dst = dst_ };
	event_waits = false;
	return n;
}

int maps_ring_fd(const struct maps_ring *ring)
{
	return -1;
}

void audit_place_read_unsteady(struct sync *sync, uint32_t ifindex)
{
}

void operator_reread(struct operator_list *list)
{
	restored++;
}

void operator_restore(struct sync *sync, const union sixlane_addr *dst)
{
	assert_memory_equal(dst, &dst_, sizeof(dst_));
	operator_reread(NULL);
}

void ports_add_egress(struct sync *sync, uint32_t ifindex)
{
}

#endif
