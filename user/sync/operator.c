// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operator's exceptions: what `sixlane exception` has put into sl_operator, brought into the
 * FIB. The CLI counts its changes and says when to look; without that they are found within a
 * second.
 */
#include <errno.h>
#include <string.h>

#include "../poke.h"
#include "state.h"

#define LOOK_INTERVAL_NS 1000000000u
#define NEIGH_WORDS (SIXLANE_MAX_NEIGHBOURS / 64)

struct operator_list {
	struct sync *sync;
	int poke_fd;
	bool wanted;
	uint64_t next_look_ns;
	uint64_t next_expire_ns;
	bool by_device;			/* an entry names a device … */
	size_t missing;			/* … so many one that is not there */
	size_t refused;			/* for want of room */
	uint64_t gateways[NEIGH_WORDS]; /* bitmap of their neighbours' slots */
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

/* Unless the CLI has put another one in its place. */
static void delete_expired(const struct sync *sync, const struct sixlane_exception_key *key,
			   uint64_t now_ns)
{
	struct sixlane_operator now;

	if (!maps_operator(sync->maps, key, &now) && now.expires_ns && now.expires_ns <= now_ns)
		maps_operator_del(sync->maps, key);
}

static void note_gateway(struct operator_list *list, const struct fib_hop *hop)
{
	uint32_t slot;

	if (!hop->has_gateway)
		return;
	slot = maps_neigh_slot(list->sync->maps, hop->ifindex, &hop->gateway);
	list->gateways[slot / 64] |= 1ull << slot % 64;
	list->sync->next_keep_ns = 0;
}

static int take_entry(void *ctx, const struct sixlane_exception_key *key,
		      const struct sixlane_operator *entry)
{
	struct operator_list *list = ctx;
	struct sync *sync = list->sync;
	const uint64_t now_ns = util_now_ns();
	struct fib_exception exception;
	int ret;

	if (entry->expires_ns && entry->expires_ns <= now_ns) {
		delete_expired(sync, key, now_ns);
		return 0;
	}
	if (entry->expires_ns && entry->expires_ns < list->next_expire_ns)
		list->next_expire_ns = entry->expires_ns;
	list->by_device |= entry->device[0] != '\0';
	if (!express(sync, entry, &exception)) {
		list->missing++;
		return 0;
	}
	if (exception.has_hop)
		ports_need(sync, exception.hop.ifindex);
	ret = fib_set_exception(sync->fib, FIB_OPERATOR, key->table, &key->dst, &exception);
	if (!ret && exception.has_hop)
		note_gateway(list, &exception.hop);
	list->refused += ret == -ENOSPC;
	return ret == -ENOMEM ? ret : 0;
}

static void report(const struct operator_list *list, size_t missing, size_t refused)
{
	if (list->missing && list->missing != missing)
		log_warning_limited(
			"%zu of the operator's exceptions lead out by devices that are not there: they wait for these",
			list->missing);
	if (list->refused && list->refused != refused)
		log_warning_limited(
			"%zu of the operator's exceptions found no room: raise max_exceptions (%u) and restart, or delete some",
			list->refused, list->sync->config->max_exceptions);
}

/* Changes while the list is read are counted later than what it is told to have carried out. */
static void read_all(struct operator_list *list, uint64_t changes)
{
	const size_t missing = list->missing, refused = list->refused;
	struct sync *sync = list->sync;
	int ret;

	list->wanted = list->by_device = false;
	list->next_look_ns = 0;
	list->missing = list->refused = 0;
	memset(list->gateways, 0, sizeof(list->gateways));
	list->next_expire_ns = UINT64_MAX;
	fib_exceptions_begin(sync->fib, FIB_OPERATOR);
	ret = maps_operator_each(sync->maps, take_entry, list);
	if (ret) {
		list->wanted = true;
		list->next_look_ns = util_now_ns() + LOOK_INTERVAL_NS;
		log_warning_limited("cannot read the operator's exceptions: %s; trying again",
				    strerror(-ret));
		return;
	}
	fib_exceptions_end(sync->fib, FIB_OPERATOR, true, NULL, NULL);
	report(list, missing, refused);
	__atomic_store_n(&sync->maps->meta->operator_done, changes, __ATOMIC_RELEASE);
}

void operator_run(struct sync *sync)
{
	struct operator_list *list = sync->operator;
	const struct sixlane_meta *meta = sync->maps->meta;
	const uint64_t now_ns = util_now_ns();
	uint64_t changes;

	/* first: who pokes has counted before */
	if (list->poke_fd >= 0)
		poke_drain(list->poke_fd);
	changes = __atomic_load_n(&meta->operator_changes, __ATOMIC_ACQUIRE);
	if (now_ns < list->next_look_ns)
		return;
	if (list->wanted || changes != meta->operator_done || now_ns >= list->next_expire_ns)
		read_all(list, changes);
}

uint64_t operator_due_ns(const struct sync *sync)
{
	const struct operator_list *list = sync->operator;
	uint64_t next_ns = list->wanted ? 0 : list->next_expire_ns;

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
	list->next_expire_ns = UINT64_MAX;
	list->poke_fd = poke_open();
	if (list->poke_fd < 0)
		log_warning(
			"cannot listen to 'sixlane exception': %s; its changes take up to a second",
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
		used[i] |= sync->operator->gateways[i];
}

void operator_want(struct sync *sync)
{
	sync->operator->wanted = true;
}

void operator_device_changed(struct sync *sync)
{
	sync->operator->wanted |= sync->operator->by_device;
}
