// SPDX-License-Identifier: GPL-2.0-only
#include <net/if.h> /* before linux/route.h, which includes linux/if.h */

#include "exceptions_note.h"

#include <errno.h>
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "daemon.h"
#include "exceptions_decide.h"
#include "exceptions_store.h"
#include "kernel_reader.h"
#include "kernel_routes.h"

static struct fib_hop hop_of(const struct kernel_record *record)
{
	struct fib_hop hop = { .ifindex = record->ifindex };

	memcpy(hop.gateway.bytes, record->gateway, sizeof(hop.gateway.bytes));
	hop.has_gateway = !addr_is_zero(&hop.gateway);
	return hop;
}

/* where: the route or object at which it is stored. record: the exception. */
static struct finding finding_of(const struct finding *where, const struct kernel_view *view,
				 const struct kernel_record *record)
{
	struct finding finding = *where;

	finding.hop = hop_of(record);
	finding.hop.has_gateway &= (record->flags & RTF_GATEWAY) != 0;
	finding.mtu = record->mtu;
	finding.mtu_locked = record->mtu_locked;
	finding.expires = record->flags & RTF_EXPIRES ? record->expires : 0;
	finding.expires_ns = kernel_reader_expires_ns(view, record);
	finding.seen_ns = view->now_ns;
	return finding;
}

static bool same_place(const struct finding *a, const struct finding *b)
{
	return a->object == b->object && a->table == b->table && a->metric == b->metric &&
	       prefix_equal(&a->prefix, &b->prefix) &&
	       exceptions_same_hop(&a->stored_hop, &b->stored_hop);
}

static bool same_content(const struct finding *a, const struct finding *b)
{
	return a->plain == b->plain && a->several == b->several && a->mtu == b->mtu &&
	       a->mtu_locked == b->mtu_locked && a->expires == b->expires &&
	       exceptions_same_hop(&a->hop, &b->hop);
}

/* Store a finding. True: it is news. */
static bool store_finding(struct exception_dest *dest, const struct finding *found)
{
	struct finding *known = &dest->found;
	const bool same = same_place(known, found);
	bool news;

	if (!same && exceptions_counts(dest, known->seen_ns)) {
		news = !exceptions_counts(dest, dest->others_ns);
		dest->others_ns = found->seen_ns;
		return news;
	}
	news = !same || !same_content(known, found);
	if (news) /* else keep expires_ns, which differs in each view */
		*known = *found;
	known->seen_ns = found->seen_ns;
	return news;
}

/*
 * Make packets look it up: by the flag of its route, or, since an object may serve any route, by
 * the flag of sl_meta.
 */
static void request_lookup(struct sync *sync, struct exception_dest *dest,
			   const struct finding *found)
{
	const union sixlane_addr *dst = &dest->node.prefix.addr;

	if (found->object) {
		sync->exceptions->object_ns = found->seen_ns;
		maps_check_punted(sync->maps);
	} else {
		fib_set_exception_flag(sync->fib, found->table, dst);
		if (found->table == RT_TABLE_LOCAL && sync->stores.view.local_first)
			fib_set_exception_flag(sync->fib, RT_TABLE_MAIN, dst);
	}
}

static void note_one(struct sync *sync, const struct finding *found,
		     const struct kernel_record *record)
{
	const struct prefix dst = kernel_routes_dst(record);
	struct exception_dest *dest;

	/* the kernel ignores it: rt6_find_cached_rt() */
	if (found->expires_ns && found->expires_ns <= found->seen_ns)
		return;
	dest = exceptions_get(sync, &dst.addr);
	if (!dest)
		return;
	request_lookup(sync, dest, found);
	if (!store_finding(dest, found) && dest->state != EXCEPTION_NONE)
		return;
	exceptions_punt(sync, dest);
	if (exceptions_is_known(dest) && !dest->due_ns)
		exceptions_decide(sync, dest);
	else if (sync->exceptions->ready)
		exceptions_read_soon(sync->exceptions, dest, found->seen_ns);
}

int exceptions_note(struct sync *sync, uint32_t table, const struct kernel_view *view,
		    const struct kernel_record *records, size_t n)
{
	struct finding where = { 0 };
	bool plain = true, several = true, any = false;
	size_t n_routes = 0;

	for (size_t i = 0; i < n; i++) {
		any |= records[i].kind == KERNEL_RECORD_EXCEPTION;
		if (records[i].kind != KERNEL_RECORD_ROUTE)
			continue;
		n_routes++;
		plain &= records[i].type == RTN_UNICAST && !records[i].src_len &&
			 !records[i].next_hop_id && !records[i].encap;
		several &= records[i].n_siblings && records[i].metric == records[0].metric;
	}
	for (size_t i = 0; any && i < n; i++) {
		if (records[i].kind == KERNEL_RECORD_EXCEPTION) {
			const struct finding found = finding_of(&where, view, &records[i]);

			note_one(sync, &found, &records[i]);
			continue;
		}
		where = (struct finding){
			.table = table,
			.stored_hop = hop_of(&records[i]),
			.metric = records[i].metric,
			.plain = n_routes == 1 && plain && !records[i].n_siblings,
			.several = n_routes > 1 && plain && several,
		};
		if (records[i].kind == KERNEL_RECORD_OBJECT)
			where.object = records[i].next_hop_id;
		else
			where.prefix = kernel_routes_dst(&records[i]);
	}
	return view->cut ? -E2BIG : 0;
}
