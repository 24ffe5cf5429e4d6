// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operator's exceptions: what `sixlane exception` has put into sl_operator, brought into the
 * FIB. The CLI counts its changes and says when to look; a change that it did not come to count is
 * found within ten seconds, or more of a long list. All are read anew, in pieces, between which
 * routes and packets' neighbours have their turn, and when one has expired.
 */
#include "operator.h"

#include <errno.h>
#include <string.h>

#include "../lib/poke.h"
#include "daemon.h"
#include "exceptions_store.h"
#include "neigh_refresh.h"
#include "ports.h"

#define LOOK_INTERVAL_NS 1000000000ull
#define LOOK_EACH_NS 50000u /* and so long for each entry, for those that expire */
#define LOOK_LAST 9	    /* and at most so many intervals more */
#define LEAVE_MAX 1024	    /* in one run */

struct operator_list {
	struct sync *sync;
	int poke_fd;
	bool reading;
	uint64_t next_ns; /* to be read then, whatever changes */
	uint64_t changes; /* counted before the reading */
	struct maps_cursor cursor;
	uint32_t number; /* of the reading, which all that it sees has */
	/* What the reading has found; the last one, if none is under way. */
	size_t n;
	int error;	/* of it, or of an entry but for one whose device is not there */
	bool by_device; /* an entry names one */
	uint64_t next_expire_ns;
	size_t n_left; /* that were removed in this run */
};

/* By the device of that name; false: there is none. */
static bool set_hop(const struct sync *sync, const struct sixlane_operator *entry,
		    struct fib_exception *exception)
{
	char name[sizeof(entry->device) + 1] = "";
	const struct device *device;

	memcpy(name, entry->device, sizeof(entry->device));
	device = links_find_name(&sync->stores.links, name);
	if (!device)
		return false;
	exception->has_hop = exception->hop.has_gateway = true;
	exception->hop.ifindex = device->ifindex;
	exception->hop.gateway = entry->gateway;
	return true;
}

static void drop(struct sync *sync, const union sixlane_addr *dst)
{
	const struct fib_exception *said = fib_exception(sync->fib, dst);

	if (!said || said->origin != FIB_OPERATOR)
		return;
	fib_set_exception(sync->fib, dst, NULL);
	exceptions_operator_removed(sync);
}

/* 0, -ENODEV, or as fib_set_exception(). */
static int bring(const struct operator_list *list, const union sixlane_addr *dst,
		 const struct sixlane_operator *entry)
{
	struct sync *sync = list->sync;
	struct fib_exception exception = {
		.origin = FIB_OPERATOR,
		.table = entry->table,
		.mtu = entry->mtu,
		.mtu_locked = entry->mtu != 0,
		.expires_ns = entry->expires_ns,
		.added_ns = entry->added_ns,
		.reading = list->number,
	};

	if (exceptions_override(sync, dst)) {
		drop(sync, dst);
		return 0;
	}
	if (*entry->device && !set_hop(sync, entry, &exception))
		return -ENODEV;
	if (exception.has_hop)
		ports_add_egress(sync, exception.hop.ifindex);
	fib_set_exception_flag(sync->fib, exception.table, dst);
	return fib_set_exception(sync->fib, dst, &exception);
}

static int take_entry(void *ctx, const union sixlane_addr *dst,
		      const struct sixlane_operator *entry)
{
	struct operator_list *list = ctx;
	const uint64_t now_ns = util_now_ns();
	int ret;

	if (entry->expires_ns && entry->expires_ns <= now_ns) {
		maps_operator_expire(list->sync->maps, dst, now_ns);
		return 0;
	}
	list->n++;
	list->by_device |= *entry->device != '\0';
	ret = bring(list, dst, entry);
	if (ret)
		drop(list->sync, dst);
	if (ret && ret != -ENODEV)
		list->error = ret;
	if (entry->expires_ns)
		list->next_expire_ns = util_earlier(list->next_expire_ns, entry->expires_ns);
	return 0;
}

static uint64_t count_changes(const struct sync *sync)
{
	return __atomic_load_n(&sync->maps->meta->operator_changes, __ATOMIC_ACQUIRE);
}

/* Changes while the list is read are counted later than what it is told to have carried out. */
static void begin(struct operator_list *list)
{
	*list = (struct operator_list){
		.sync = list->sync,
		.poke_fd = list->poke_fd,
		.reading = true,
		.changes = count_changes(list->sync),
		.number = list->number + 1,
		.next_ns = UINT64_MAX,
		.next_expire_ns = UINT64_MAX,
	};
}

static void finish(struct operator_list *list)
{
	uint64_t next_ns = util_now_ns() + LOOK_INTERVAL_NS;

	list->reading = false;
	if (list->error) {
		log_warning_limited(
			"cannot apply the operator's exceptions: %s; sixlaned tries again",
			strerror(-list->error));
	} else {
		/* not for each of many that expire */
		next_ns += list->n * LOOK_EACH_NS;
		next_ns = util_earlier(util_later(next_ns, list->next_expire_ns),
				       next_ns + LOOK_LAST * LOOK_INTERVAL_NS);
		__atomic_store_n(&list->sync->maps->meta->operator_done, list->changes,
				 __ATOMIC_RELEASE);
	}
	/* it may be wanted since it began */
	list->next_ns = util_earlier(list->next_ns, next_ns);
	/* once, since it goes over all neighbours */
	if (list->by_device)
		list->sync->schedule.next_refresh_ns = 0;
}

/* Unless it has come behind the reading. */
static void leave(void *ctx, const union sixlane_addr *dst, const struct fib_exception *told)
{
	struct operator_list *list = ctx;
	struct sixlane_operator entry;

	if (told->origin != FIB_OPERATOR || told->reading == list->number ||
	    list->n_left == LEAVE_MAX || maps_operator(list->sync->maps, dst, &entry) != -ENOENT)
		return;
	list->n_left++;
	drop(list->sync, dst);
}

/* What the reading has not seen is gone. Returns whether there may be more. */
static bool leave_some(struct operator_list *list)
{
	list->n_left = 0;
	fib_exception_each(list->sync->fib, leave, list);
	return list->n_left == LEAVE_MAX;
}

void operator_run(struct sync *sync)
{
	struct operator_list *list = sync->operator;
	int ret;

	/* first: who pokes has counted before */
	if (list->poke_fd >= 0)
		poke_drain(list->poke_fd);
	if (!list->reading && util_now_ns() >= operator_due_ns(sync))
		begin(list);
	if (!list->reading)
		return;
	/* at the end there is no more, however often */
	ret = maps_operator_some(sync->maps, &list->cursor, take_entry, list);
	if (ret < 0)
		list->error = ret;
	if (ret < 0 || (!ret && !leave_some(list)))
		finish(list);
}

uint64_t operator_due_ns(const struct sync *sync)
{
	const struct operator_list *list = sync->operator;

	return list->reading || count_changes(sync) != list->changes ? 0 : list->next_ns;
}

int operator_fd(const struct sync *sync)
{
	return sync->operator->poke_fd;
}

int operator_new(struct sync *sync)
{
	struct operator_list *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	list->sync = sync;
	list->poke_fd = poke_open();
	if (list->poke_fd < 0)
		log_warning(
			"cannot listen for changes by 'sixlane exception': %s; they take effect within a second",
			strerror(-list->poke_fd));
	sync->operator= list;
	return 0;
}

void operator_free(struct operator_list *list)
{
	if (!list)
		return;
	if (list->poke_fd >= 0)
		close(list->poke_fd);
	free(list);
}

/*
 * The kernel, to which packets pass while such a gateway is not resolved, sends them by the route
 * and never asks for it.
 */
static void mark_gateway(void *ctx, const union sixlane_addr *dst, const struct fib_exception *told)
{
	struct sync *sync = ctx;
	uint32_t slot;

	(void)dst;
	if (told->origin != FIB_OPERATOR || !told->has_hop)
		return;
	slot = maps_neigh_slot(sync->maps, told->hop.ifindex, &told->hop.gateway);
	neigh_refresh_mark(&sync->refresh, slot);
}

void operator_mark_gateways(struct sync *sync)
{
	if (sync->operator->by_device)
		fib_exception_each(sync->fib, mark_gateway, sync);
}

void operator_reread(struct sync *sync)
{
	sync->operator->next_ns = 0;
}

void operator_restore(struct sync *sync, const union sixlane_addr *dst)
{
	struct sixlane_operator entry;

	if (!maps_operator(sync->maps, dst, &entry))
		operator_reread(sync);
}

void operator_device_changed(struct sync *sync)
{
	if (sync->operator->by_device)
		operator_reread(sync);
}
