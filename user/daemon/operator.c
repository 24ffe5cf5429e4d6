// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operator's exceptions: what `sixlane exception` has put into sl_operator, brought into the
 * FIB. The CLI counts its changes and says when to look; without that they are found within a
 * second. All are read anew, in pieces, between which routes and packets' neighbours have their
 * turn, and when one has expired.
 */
#include <errno.h>
#include <string.h>

#include "../lib/poke.h"
#include "state.h"

#define LOOK_INTERVAL_NS 1000000000u
#define LOOK_EACH_NS 50000u /* and so long for each entry, for those that expire */
#define LEAVE_MAX 1024	    /* in one run */
#define NEIGH_WORDS (SIXLANE_MAX_NEIGHBOURS / 64)

enum step {
	STEP_IDLE,
	STEP_READ,
	STEP_LEAVE, /* all are read, and those that are gone go */
};

/* What a reading finds. */
struct found {
	size_t n, left;		 /* entries; those that are gone */
	size_t missing, refused; /* lead out by a device that is not there; found no room */
	uint64_t next_expire_ns;
	uint64_t gateways[NEIGH_WORDS]; /* bitmap of the slots of gateways in use */
	bool by_device;			/* an entry names one */
};

struct operator_list {
	struct sync *sync;
	int poke_fd;
	enum step step;
	bool wanted;
	uint64_t next_ns; /* to be read then, whatever changes */
	uint64_t changes; /* counted before the reading */
	struct maps_cursor cursor;
	struct found found, last; /* by the one under way, and by the last one */
};

/* By the device of that name; false: there is none. */
static bool set_hop(const struct sync *sync, const struct sixlane_operator *entry,
		    struct fib_exception *exception)
{
	char name[sizeof(entry->device) + 1] = "";
	const struct device *device;

	memcpy(name, entry->device, sizeof(entry->device));
	device = links_find_name(&sync->links, name);
	if (!device)
		return false;
	exception->has_hop = exception->hop.has_gateway = true;
	exception->hop.ifindex = device->ifindex;
	exception->hop.gateway = entry->gateway;
	return true;
}

static void note_gateway(struct found *found, const struct maps *maps, const struct fib_hop *hop)
{
	uint32_t slot = maps_neigh_slot(maps, hop->ifindex, &hop->gateway);

	found->gateways[slot / 64] |= 1ull << slot % 64;
}

/* 0, -ENODEV, or as fib_set_exception(). */
static int bring(struct operator_list *list, const union sixlane_addr *dst,
		 const struct sixlane_operator *entry)
{
	struct fib_exception exception = {
		.origin = FIB_OPERATOR,
		.table = entry->table,
		.mtu = entry->mtu,
		.mtu_locked = entry->mtu != 0,
		.expires_ns = entry->expires_ns,
	};
	struct sync *sync = list->sync;
	int ret;

	if (*entry->device && !set_hop(sync, entry, &exception))
		return -ENODEV;
	if (exception.has_hop)
		ports_need(sync, exception.hop.ifindex);
	exception.punt = exceptions_yield(sync, dst);
	fib_mark(sync->fib, exception.table, dst);
	ret = fib_set_exception(sync->fib, dst, &exception);
	if (ret == -ENOSPC && exceptions_make_room(sync))
		ret = fib_set_exception(sync->fib, dst, &exception);
	if (ret)
		exceptions_take_back(sync, dst);
	else if (exception.has_hop)
		note_gateway(&list->found, sync->maps, &exception.hop);
	return ret;
}

static int take_entry(void *ctx, const union sixlane_addr *dst,
		      const struct sixlane_operator *entry)
{
	struct operator_list *list = ctx;
	struct found *found = &list->found;
	const uint64_t now_ns = util_now_ns();
	int ret;

	if (entry->expires_ns && entry->expires_ns <= now_ns) {
		maps_operator_expire(list->sync->maps, dst, now_ns);
		return 0;
	}
	found->n++;
	found->by_device |= *entry->device != '\0';
	ret = bring(list, dst, entry);
	found->missing += ret == -ENODEV;
	found->refused += ret == -ENOSPC;
	if (entry->expires_ns && entry->expires_ns < found->next_expire_ns)
		found->next_expire_ns = entry->expires_ns;
	return ret == -ENOMEM ? ret : 0;
}

static void report(const struct operator_list *list)
{
	const struct found *found = &list->found, *last = &list->last;

	if (found->missing && found->missing != last->missing)
		log_warning_limited(
			"%zu operator exceptions name devices that do not exist; they stay inactive until the devices appear",
			found->missing);
	if (found->refused && found->refused != last->refused)
		log_warning_limited(
			"%zu operator exceptions do not fit: raise max_exceptions (now %u) and restart sixlaned, or delete some",
			found->refused, list->sync->config->max_exceptions);
}

static uint64_t count_changes(const struct sync *sync)
{
	return __atomic_load_n(&sync->maps->meta->operator_changes, __ATOMIC_ACQUIRE);
}

/* Changes while the list is read are counted later than what it is told to have carried out. */
static void begin(struct operator_list *list)
{
	list->step = STEP_READ;
	list->changes = count_changes(list->sync);
	list->wanted = false;
	list->cursor = (struct maps_cursor){ 0 };
	list->found = (struct found){ .next_expire_ns = UINT64_MAX };
	fib_exceptions_begin(list->sync->fib);
}

static void read_some(struct operator_list *list)
{
	int ret = maps_operator_some(list->sync->maps, &list->cursor, take_entry, list);

	if (ret > 0)
		return;
	list->step = ret ? STEP_IDLE : STEP_LEAVE;
	if (!ret)
		return;
	list->next_ns = util_now_ns() + LOOK_INTERVAL_NS;
	log_warning_limited("cannot read the operator's exceptions: %s; sixlaned tries again",
			    strerror(-ret));
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static void finish(struct operator_list *list)
{
	/* those that are gone have made room since the others were read; nothing else does */
	if (list->found.left && list->found.refused) {
		begin(list);
		return;
	}
	report(list);
	list->last = list->found;
	list->step = STEP_IDLE;
	/* not for each of many that expire */
	list->next_ns = later(list->last.next_expire_ns,
			      util_now_ns() + LOOK_INTERVAL_NS + list->last.n * LOOK_EACH_NS);
	/* once, since it goes over all neighbours */
	if (list->last.by_device)
		list->sync->next_keep_ns = 0;
	__atomic_store_n(&list->sync->maps->meta->operator_done, list->changes, __ATOMIC_RELEASE);
}

static void take_back(void *ctx, const union sixlane_addr *dst)
{
	struct operator_list *list = ctx;

	list->found.left++;
	exceptions_take_back(list->sync, dst);
}

void operator_run(struct sync *sync)
{
	struct operator_list *list = sync->operator;

	/* first: who pokes has counted before */
	if (list->poke_fd >= 0)
		poke_drain(list->poke_fd);
	if (list->step == STEP_IDLE && util_now_ns() >= operator_due_ns(sync))
		begin(list);
	if (list->step == STEP_READ)
		read_some(list);
	if (list->step == STEP_LEAVE && !fib_exceptions_end(sync->fib, LEAVE_MAX, take_back, list))
		finish(list);
}

uint64_t operator_due_ns(const struct sync *sync)
{
	const struct operator_list *list = sync->operator;
	bool wanted = list->wanted || count_changes(sync) != list->changes;

	return list->step != STEP_IDLE || wanted ? 0 : list->next_ns;
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
	list->next_ns = UINT64_MAX;
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
void operator_mark_gateways(const struct sync *sync, uint64_t *used)
{
	for (size_t i = 0; i < NEIGH_WORDS; i++)
		used[i] |= sync->operator->last.gateways[i];
}

void operator_want(struct sync *sync)
{
	sync->operator->wanted = true;
}

void operator_device_changed(struct sync *sync)
{
	sync->operator->wanted |= sync->operator->found.by_device;
}
