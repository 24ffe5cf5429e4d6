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
#define LOOK_EACH_NS 50000u /* and so long for each entry, where it is for what has expired */
#define LEAVE_MAX 1024	    /* in one run */
#define NEIGH_WORDS (SIXLANE_MAX_NEIGHBOURS / 64)

enum step {
	STEP_IDLE,
	STEP_READ,
	STEP_LEAVE, /* all are read, and those that are gone go */
};

/* What a reading finds. */
struct found {
	size_t n;
	size_t missing, refused; /* lead out by a device that is not there; found no room */
	uint64_t next_expire_ns;
	uint64_t gateways[NEIGH_WORDS]; /* bitmap of the slots of gateways in use */
	bool any_gateway;
};

struct operator_list {
	struct sync *sync;
	int poke_fd;
	enum step step;
	bool wanted;
	bool by_device; /* an entry names a device */
	bool again;	/* read anew for those that found no room */
	uint64_t next_look_ns, next_room_ns;
	uint64_t changes; /* counted before the reading */
	struct maps_cursor cursor;
	struct found found, last; /* by the one under way, and by the last one */
};

static const struct device *find_device(const struct sync *sync, const char *name)
{
	for (size_t i = 0; i < sync->links.n; i++) {
		const struct device *device = &sync->links.devices[i];

		if (device->has_link && !strcmp(device->link.name, name))
			return device;
	}
	return NULL;
}

/* False: no such device. */
static bool express(const struct sync *sync, const struct sixlane_operator *entry,
		    struct fib_exception *exception)
{
	static const union sixlane_addr none;
	char name[sizeof(entry->device) + 1] = "";
	const struct device *device;

	*exception = (struct fib_exception){
		.origin = FIB_OPERATOR,
		.table = entry->table,
		.mtu = entry->mtu,
		.mtu_locked = entry->mtu != 0,
		.expires_ns = entry->expires_ns,
	};
	memcpy(name, entry->device, sizeof(entry->device));
	if (!*name)
		return true;
	device = find_device(sync, name);
	if (!device)
		return false;
	exception->has_hop = true;
	exception->hop.ifindex = device->ifindex;
	exception->hop.gateway = entry->gateway;
	exception->hop.has_gateway = memcmp(&entry->gateway, &none, sizeof(none)) != 0;
	return true;
}

static void note_gateway(struct found *found, const struct maps *maps,
			 const struct fib_exception *said)
{
	uint32_t slot;

	if (!said->hop.has_gateway)
		return;
	slot = maps_neigh_slot(maps, said->hop.ifindex, &said->hop.gateway);
	found->gateways[slot / 64] |= 1ull << slot % 64;
	found->any_gateway = true;
}

/* 0, -ENODEV, or as fib_set_exception(). */
static int bring(struct operator_list *list, const union sixlane_addr *dst,
		 const struct sixlane_operator *entry)
{
	struct sync *sync = list->sync;
	struct fib_exception exception;
	int ret;

	if (!express(sync, entry, &exception))
		return -ENODEV;
	if (exception.has_hop)
		ports_need(sync, exception.hop.ifindex);
	exceptions_yield(sync, dst);
	fib_mark(sync->fib, exception.table, dst);
	ret = fib_set_exception(sync->fib, dst, &exception);
	if (ret == -ENOSPC && exceptions_make_room(sync))
		ret = fib_set_exception(sync->fib, dst, &exception);
	if (ret)
		exceptions_take_back(sync, dst);
	else
		note_gateway(&list->found, sync->maps, &exception);
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
	list->by_device |= entry->device[0] != '\0';
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

/* Changes while the list is read are counted later than what it is told to have carried out. */
static void begin(struct operator_list *list, uint64_t changes)
{
	list->step = STEP_READ;
	list->changes = changes;
	list->wanted = list->by_device = false;
	list->cursor = (struct maps_cursor){ 0 };
	list->found = (struct found){ .next_expire_ns = UINT64_MAX };
	fib_exceptions_begin(list->sync->fib);
}

static void read_some(struct operator_list *list)
{
	int ret = maps_operator_some(list->sync->maps, &list->cursor, take_entry, list);

	if (ret > 0)
		return;
	if (ret) {
		list->step = STEP_IDLE;
		list->wanted = true;
		list->again = false;
		list->next_look_ns = util_now_ns() + LOOK_INTERVAL_NS;
		log_warning_limited(
			"cannot read the operator's exceptions: %s; sixlaned tries again",
			strerror(-ret));
		return;
	}
	/* once, since it goes over all neighbours */
	if (list->found.any_gateway)
		list->sync->next_keep_ns = 0;
	list->step = STEP_LEAVE;
}

static bool is_room(const struct sync *sync)
{
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	return stats.exceptions < sync->config->max_exceptions;
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* When it is to be looked for room, and for those that expire: not for each of many. */
static void plan(struct operator_list *list, uint64_t now_ns)
{
	struct found *last = &list->last;

	list->next_room_ns = last->refused ? now_ns + LOOK_INTERVAL_NS : UINT64_MAX;
	last->next_expire_ns =
		later(last->next_expire_ns, now_ns + LOOK_INTERVAL_NS + last->n * LOOK_EACH_NS);
}

/* Those that were gone have made room since the others were read. */
static void finish(struct operator_list *list)
{
	list->again = !list->again && list->found.refused && is_room(list->sync);
	if (list->again) {
		begin(list, list->changes);
		return;
	}
	report(list);
	list->last = list->found;
	list->step = STEP_IDLE;
	plan(list, util_now_ns());
	__atomic_store_n(&list->sync->maps->meta->operator_done, list->changes, __ATOMIC_RELEASE);
}

static uint64_t count_changes(const struct sync *sync)
{
	return __atomic_load_n(&sync->maps->meta->operator_changes, __ATOMIC_ACQUIRE);
}

static bool is_wanted(const struct sync *sync)
{
	return sync->operator->wanted || count_changes(sync) != sync->maps->meta->operator_done;
}

static bool is_due(struct operator_list *list)
{
	const uint64_t now_ns = util_now_ns();

	if (now_ns < list->next_look_ns)
		return false;
	if (is_wanted(list->sync) || now_ns >= list->last.next_expire_ns)
		return true;
	if (now_ns < list->next_room_ns)
		return false;
	list->next_room_ns = now_ns + LOOK_INTERVAL_NS;
	return is_room(list->sync);
}

static void take_back(void *ctx, const union sixlane_addr *dst)
{
	exceptions_take_back(ctx, dst);
}

void operator_run(struct sync *sync)
{
	struct operator_list *list = sync->operator;

	/* first: who pokes has counted before */
	if (list->poke_fd >= 0)
		poke_drain(list->poke_fd);
	if (list->step == STEP_IDLE && is_due(list))
		begin(list, count_changes(sync));
	if (list->step == STEP_READ)
		read_some(list);
	if (list->step == STEP_LEAVE && !fib_exceptions_end(sync->fib, LEAVE_MAX, take_back, sync))
		finish(list);
}

uint64_t operator_due_ns(const struct sync *sync)
{
	const struct operator_list *list = sync->operator;
	uint64_t next_ns = list->last.next_expire_ns;

	if (list->step != STEP_IDLE)
		return 0;
	if (list->next_room_ns < next_ns)
		next_ns = list->next_room_ns;
	if (is_wanted(sync))
		next_ns = 0;
	return next_ns > list->next_look_ns ? next_ns : list->next_look_ns;
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
	list->last.next_expire_ns = list->next_room_ns = UINT64_MAX;
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
		used[i] |= sync->operator->found.gateways[i] | sync->operator->last.gateways[i];
}

void operator_want(struct sync *sync)
{
	sync->operator->wanted = true;
}

void operator_device_changed(struct sync *sync)
{
	sync->operator->wanted |= sync->operator->by_device;
}
