// SPDX-License-Identifier: GPL-2.0-only
/* A sorted array: there are about as many addresses as ports, and they change rarely. */
#include "addrs.h"

#include <endian.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <stdlib.h>
#include <string.h>

void addrs_clear(struct addrs *addrs)
{
	free(addrs->list);
	*addrs = (struct addrs){ 0 };
}

bool address_is_site_local(const union sixlane_addr *addr)
{
	return addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0xc0;
}

static bool is_ignored(const union sixlane_addr *addr)
{
	bool link_local = addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80;

	return link_local || addr->bytes[0] == 0xff ||
	       (!addr->halves[0] && addr->halves[1] == htobe64(1));
}

/* addr NULL: less than all addresses of the device. */
static int compare(const struct address *address, uint32_t ifindex, const union sixlane_addr *addr)
{
	if (address->ifindex != ifindex)
		return address->ifindex < ifindex ? -1 : 1;
	return addr ? memcmp(&address->addr, addr, sizeof(*addr)) : 1;
}

static size_t lower_bound(const struct addrs *addrs, uint32_t ifindex,
			  const union sixlane_addr *addr)
{
	size_t low = 0, high = addrs->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&addrs->list[middle].address, ifindex, addr) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct addrs *addrs, size_t at, uint32_t ifindex,
		  const union sixlane_addr *addr)
{
	return at < addrs->n && !compare(&addrs->list[at].address, ifindex, addr);
}

static int insert(struct addrs *addrs, size_t at, const struct address *address)
{
	if (addrs->n == addrs->capacity) {
		size_t capacity = addrs->capacity ? 2 * addrs->capacity : 16;
		struct addrs_entry *list = reallocarray(addrs->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		addrs->list = list;
		addrs->capacity = capacity;
	}
	memmove(&addrs->list[at + 1], &addrs->list[at], (addrs->n - at) * sizeof(*addrs->list));
	addrs->n++;
	addrs->list[at] = (struct addrs_entry){ *address, addrs->generation };
	return 0;
}

int addrs_set(struct addrs *addrs, const struct address *address, bool *changed)
{
	size_t at = lower_bound(addrs, address->ifindex, &address->addr);
	int ret;

	*changed = false;
	if (is_ignored(&address->addr))
		return 0;
	if (!is_at(addrs, at, address->ifindex, &address->addr)) {
		ret = insert(addrs, at, address);
		*changed = !ret;
		return ret;
	}
	*changed = addrs->list[at].address.flags != address->flags ||
		   addrs->list[at].address.unknown_attr != address->unknown_attr;
	addrs->list[at] = (struct addrs_entry){ *address, addrs->generation };
	return 0;
}

int addrs_set_unannounced(struct addrs *addrs, uint32_t ifindex, const union sixlane_addr *addr,
			  bool *changed)
{
	const struct address address = {
		.addr = *addr,
		.ifindex = ifindex,
		.flags = IFA_F_TENTATIVE | IFA_F_OPTIMISTIC,
	};

	*changed = false;
	if (is_at(addrs, lower_bound(addrs, ifindex, addr), ifindex, addr))
		return 0;
	return addrs_set(addrs, &address, changed);
}

bool addrs_delete(struct addrs *addrs, uint32_t ifindex, const union sixlane_addr *addr)
{
	size_t at = lower_bound(addrs, ifindex, addr);

	if (!is_at(addrs, at, ifindex, addr))
		return false;
	addrs->n--;
	memmove(&addrs->list[at], &addrs->list[at + 1], (addrs->n - at) * sizeof(*addrs->list));
	return true;
}

bool addrs_device_down(struct addrs *addrs, uint32_t ifindex)
{
	bool changed = false;

	for (size_t i = lower_bound(addrs, ifindex, NULL); i < addrs->n; i++) {
		struct address *address = &addrs->list[i].address;

		if (address->ifindex != ifindex)
			break;
		if (address->flags & (IFA_F_NODAD | IFA_F_TENTATIVE))
			continue;
		address->flags |= IFA_F_TENTATIVE;
		changed = true;
	}
	return changed;
}

const struct addrs_entry *addrs_of(const struct addrs *addrs, uint32_t ifindex, size_t *n)
{
	size_t at = lower_bound(addrs, ifindex, NULL), end = at;

	while (end < addrs->n && addrs->list[end].address.ifindex == ifindex)
		end++;
	*n = end - at;
	return addrs->list + at;
}

void addrs_mark(struct addrs *addrs)
{
	addrs->generation++;
}

void addrs_sweep(struct addrs *addrs)
{
	size_t kept = 0;

	for (size_t i = 0; i < addrs->n; i++)
		if (addrs->list[i].generation == addrs->generation)
			addrs->list[kept++] = addrs->list[i];
	addrs->n = kept;
}
