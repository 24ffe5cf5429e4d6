// SPDX-License-Identifier: GPL-2.0-only
/*
 * See operator.h. The CLI counts its changes in sl_meta and wakes the daemon. A change that it did
 * not count is found within ten seconds, or later with a long list. The whole list is read again,
 * in pieces, so that routes and neighbours do not wait. It is also read when an entry expires.
 */
#include "operator.h"

#include <errno.h>
#include <string.h>

#include "../lib/wakeup.h"
#include "daemon.h"
#include "ports.h"

#define READ_INTERVAL_NS 1000000000ull
#define READ_EACH_NS 50000u /* more for each entry, so that many that expire cost one reading */
#define READ_MORE_MAX 9	    /* intervals more at most */
#define REMOVE_MAX 1024	    /* entries removed in one run */

struct operator_list {
	struct sync *sync;
	int wakeup_fd;
	bool reading;
	uint64_t next_ns; /* next reading without a counted change */
	uint64_t changes; /* the CLI's count before the reading */
	struct maps_cursor cursor;
	uint32_t number; /* of the reading; entries that it found have it */
	/* Result of the reading under way, or else of the last one. */
	size_t n;
	int error;	/* of the reading or an entry; a missing device is none */
	bool by_device; /* an entry names one */
	uint64_t next_expire_ns;
	size_t n_removed; /* in this run */
};

/* False: there is no device of that name. */
static bool set_hop(const struct links *links, const struct sixlane_operator *entry,
		    struct fib_exception *exception)
{
	char name[sizeof(entry->device) + 1] = "";
	const struct device *device;

	memcpy(name, entry->device, sizeof(entry->device));
	device = links_find_name(links, name);
	if (!device)
		return false;
	exception->has_hop = exception->hop.has_gateway = true;
	exception->hop.ifindex = device->ifindex;
	exception->hop.gateway = entry->gateway;
	return true;
}

static void drop(struct sync *sync, const union sixlane_addr *dst)
{
	const struct fib_exception *entry = fib_exception(sync->fib, dst);

	if (!entry || entry->origin != FIB_OPERATOR)
		return;
	fib_set_exception(sync->fib, dst, NULL);
	exceptions_operator_removed(sync);
}

/* 0, -ENODEV, or as fib_set_exception(). */
static int set_entry(const struct operator_list *list, const union sixlane_addr *dst,
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
	if (*entry->device && !set_hop(&sync->stores.links, entry, &exception))
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
	ret = set_entry(list, dst, entry);
	if (ret)
		drop(list->sync, dst);
	if (ret && ret != -ENODEV)
		list->error = ret;
	if (entry->expires_ns)
		list->next_expire_ns = util_earlier(list->next_expire_ns, entry->expires_ns);
	return 0;
}

static uint64_t count_changes(const struct maps *maps)
{
	return __atomic_load_n(&maps->meta->operator_changes, __ATOMIC_ACQUIRE);
}

/* Changes during the reading are not counted in changes, and so lead to another reading. */
static void begin(struct operator_list *list)
{
	*list = (struct operator_list){
		.sync = list->sync,
		.wakeup_fd = list->wakeup_fd,
		.reading = true,
		.changes = count_changes(list->sync->maps),
		.number = list->number + 1,
		.next_ns = UINT64_MAX,
		.next_expire_ns = UINT64_MAX,
	};
}

static void finish(struct operator_list *list)
{
	uint64_t next_ns = util_now_ns() + READ_INTERVAL_NS;

	list->reading = false;
	if (list->error) {
		log_warning_limited(
			"cannot apply the operator's exceptions: %s; sixlaned tries again",
			strerror(-list->error));
	} else {
		/* several that expire soon after each other share a reading */
		next_ns += list->n * READ_EACH_NS;
		next_ns = util_earlier(util_later(next_ns, list->next_expire_ns),
				       next_ns + READ_MORE_MAX * READ_INTERVAL_NS);
		__atomic_store_n(&list->sync->maps->meta->operator_done, list->changes,
				 __ATOMIC_RELEASE);
	}
	/* another reading may have been requested meanwhile */
	list->next_ns = util_earlier(list->next_ns, next_ns);
	/* gateways may need to be resolved */
	if (list->by_device)
		list->sync->schedule.next_refresh_ns = 0;
}

/* Remove an entry that the reading has not found, unless it came after the cursor. */
static void remove_old(void *ctx, const union sixlane_addr *dst, const struct fib_exception *entry)
{
	struct operator_list *list = ctx;
	struct sixlane_operator unused;

	if (entry->origin != FIB_OPERATOR || entry->reading == list->number ||
	    list->n_removed == REMOVE_MAX ||
	    maps_operator(list->sync->maps, dst, &unused) != -ENOENT)
		return;
	list->n_removed++;
	drop(list->sync, dst);
}

/* Remove entries that the reading has not found. True: there may be more. */
static bool remove_some(struct operator_list *list)
{
	list->n_removed = 0;
	fib_exception_each(list->sync->fib, remove_old, list);
	return list->n_removed == REMOVE_MAX;
}

void operator_run(struct sync *sync)
{
	struct operator_list *list = sync->operator;
	int ret;

	/* before the count is read: the CLI counts, then wakes */
	if (list->wakeup_fd >= 0)
		wakeup_drain(list->wakeup_fd);
	if (!list->reading && util_now_ns() >= operator_due_ns(sync))
		begin(list);
	if (!list->reading)
		return;
	/* returns 0 at the end, also when called again */
	ret = maps_operator_some(sync->maps, &list->cursor, take_entry, list);
	if (ret < 0)
		list->error = ret;
	if (ret < 0 || (!ret && !remove_some(list)))
		finish(list);
}

uint64_t operator_due_ns(const struct sync *sync)
{
	const struct operator_list *list = sync->operator;

	return list->reading || count_changes(sync->maps) != list->changes ? 0 : list->next_ns;
}

int operator_fd(const struct operator_list *list)
{
	return list->wakeup_fd;
}

int operator_new(struct sync *sync)
{
	struct operator_list *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	list->sync = sync;
	list->wakeup_fd = wakeup_open(loader_pin_dir());
	if (list->wakeup_fd < 0)
		log_warning(
			"cannot listen for changes by 'sixlane exception': %s; they take effect within a second",
			strerror(-list->wakeup_fd));
	sync->operator= list;
	return 0;
}

void operator_free(struct operator_list *list)
{
	if (!list)
		return;
	if (list->wakeup_fd >= 0)
		close(list->wakeup_fd);
	free(list);
}

/*
 * While such a gateway is not resolved its packets pass, and the kernel routes them without it: it
 * would never be resolved.
 */
static void mark_gateway(void *ctx, const union sixlane_addr *dst,
			 const struct fib_exception *entry)
{
	struct sync *sync = ctx;
	uint32_t slot;

	(void)dst;
	if (entry->origin != FIB_OPERATOR || !entry->has_hop)
		return;
	slot = maps_neigh_slot(sync->maps, entry->hop.ifindex, &entry->hop.gateway);
	neigh_refresh_mark(&sync->refresh, slot);
}

void operator_mark_gateways(struct sync *sync)
{
	if (sync->operator->by_device)
		fib_exception_each(sync->fib, mark_gateway, sync);
}

void operator_reread(struct operator_list *list)
{
	list->next_ns = 0;
}

void operator_restore(struct sync *sync, const union sixlane_addr *dst)
{
	struct sixlane_operator entry;

	if (!maps_operator(sync->maps, dst, &entry))
		operator_reread(sync->operator);
}

void operator_device_changed(struct operator_list *list)
{
	if (list->by_device)
		operator_reread(list);
}
