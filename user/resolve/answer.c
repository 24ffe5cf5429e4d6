// SPDX-License-Identifier: GPL-2.0-only
/*
 * By which address the kernel speaks when it sends an ICMPv6 error out by a port to a global
 * destination (ipv6_dev_get_saddr(), RFC 6724), as far as that is one and the same for all of
 * them. Its rules in their order: the destination's own address (1), scope (2), not deprecated (3),
 * home address (4), of the port (5); from the label (6) on they depend on the destination. So an
 * address that is ahead of all others by rules 2 to 5 is the source, and a tie is for the kernel to
 * break.
 */
#include "port.h"

#include <linux/if_addr.h>
#include <string.h>

/* What an address scores: more is better, whatever the destination. */
#define SCORE_PREFERRED 2u
#define SCORE_OF_PORT 1u
#define SCORE_BEST (SCORE_PREFERRED | SCORE_OF_PORT)

struct search {
	const struct links *links;
	const struct device *device;
	const struct address *best;
	unsigned int score; /* of best */
	bool tie;	    /* another one scores as much */
};

/* DAD has not ended, or has failed. */
static bool is_candidate(const struct address *address)
{
	return !(address->flags & IFA_F_TENTATIVE) || address->flags & IFA_F_OPTIMISTIC;
}

/* ::ffff:0:0/96 and ::/96 are preferred in any case (ipv6_saddr_preferred()). */
static bool holds_ipv4(const union sixlane_addr *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, compatible[12];

	return !memcmp(addr, mapped, sizeof(mapped)) ||
	       !memcmp(addr, compatible, sizeof(compatible));
}

/* Optimistic ones as if net.ipv6.conf.*.use_optimistic were set, which nobody tells. */
static bool is_preferred(const struct address *address)
{
	return !(address->flags & IFA_F_DEPRECATED) || holds_ipv4(&address->addr);
}

static void consider(struct search *search, const struct address *address)
{
	unsigned int score = 0;

	if (!is_candidate(address) || address_is_site_local(&address->addr))
		return;
	if (is_preferred(address))
		score |= SCORE_PREFERRED;
	if (address->ifindex == search->device->ifindex)
		score |= SCORE_OF_PORT;
	if (!search->best || score > search->score) {
		search->best = address;
		search->score = score;
		search->tie = false;
	} else if (score == search->score) {
		search->tie = true;
	}
}

static bool is_vrf(const struct device *device)
{
	return !strcmp(device->link.kind, "vrf");
}

/* l3mdev_master_ifindex_rcu() */
static uint32_t domain_of(const struct device *device)
{
	if (is_vrf(device))
		return device->ifindex;
	return strcmp(device->link.master_kind, "vrf") ? 0 : device->link.master;
}

/* Addresses of a VRF's members and of all that is in none do not meet. */
static bool is_near(const struct search *search, const struct address *address)
{
	const struct device *device = links_find(search->links, address->ifindex);

	return device && domain_of(device) == domain_of(search->device);
}

static void search_run(struct search *search, const struct addrs *addrs)
{
	size_t n;
	const struct addrs_entry *own = addrs_of(addrs, search->device->ifindex, &n);

	for (size_t i = 0; i < n; i++)
		consider(search, &own[i].address);
	if ((search->best && search->score == SCORE_BEST) || search->device->ipv6.own_addrs_only)
		return;
	for (size_t i = 0; i < addrs->n; i++) {
		const struct address *address = &addrs->list[i].address;

		if (address->ifindex != search->device->ifindex && is_near(search, address))
			consider(search, address);
	}
}

/*
 * An address that was kept while its device is down and does not wait for DAD is a candidate, but
 * has no local route any more: it may be the very destination, or the one that the packet in
 * question was for, and the kernel answers from it.
 */
static bool is_kept(const struct links *links, const struct address *address)
{
	const struct device *device;

	if (!(address->flags & (IFA_F_NODAD | IFA_F_OPTIMISTIC)) || !is_candidate(address))
		return false;
	device = links_find(links, address->ifindex);
	return !device || !(device->link.flags & IFF_UP);
}

/*
 * Addresses by which rules 1, 2 and 4 may say otherwise: site-local destinations have site-local
 * sources, and whether home addresses count depends on how the kernel was built. And those of which
 * the kernel says more than is known here.
 */
static bool any_odd(const struct links *links, const struct addrs *addrs)
{
	for (size_t i = 0; i < addrs->n; i++) {
		const struct address *address = &addrs->list[i].address;

		if (address_is_site_local(&address->addr) || address->flags & IFA_F_HOMEADDRESS ||
		    address->unknown_attr || is_kept(links, address))
			return true;
	}
	return false;
}

/* Linux before 6.10 asks no other members of a VRF, even if that leaves a link-local address. */
static bool is_asked(const struct search *search)
{
	uint32_t domain = domain_of(search->device), ifindex = search->best->ifindex;

	return !domain || ifindex == search->device->ifindex || ifindex == domain;
}

/* Packets of the kernel's own come in by lo, as rules see it: they must find what the port's do. */
static bool rules_differ(const struct resolve_port_policy *policy)
{
	return rules_program_walk(policy->rules, LOOPBACK_IFINDEX, false);
}

/*
 * Ahead of all others, whatever the destination and the settings that are not known. A deprecated
 * one never is: an optimistic address of the port may be before it, of which the kernel has
 * not told yet.
 */
static bool is_sure(const struct search *search)
{
	return search->score & SCORE_PREFERRED && !(search->best->flags & IFA_F_OPTIMISTIC) &&
	       !search->tie && is_asked(search);
}

/* A source that is not sure is a usable address at least, if only of another device. */
uint32_t resolve_answer(const struct links *links, const struct device *device,
			const struct resolve_port_policy *policy, struct sixlane_port *out)
{
	struct search search = { .links = links, .device = device };

	if (!device->has_ipv6 || !device->ipv6.hop_limit)
		return 0;
	out->hop_limit = device->ipv6.hop_limit;
	search_run(&search, policy->addrs);
	/* the half that the datapath takes for "none" while it is 0 */
	if (!search.best || !search.best->addr.halves[0])
		return 0;
	out->source = search.best->addr;
	if (!is_sure(&search) || rules_differ(policy) || any_odd(links, policy->addrs))
		return 0;
	return SIXLANE_PORT_SOURCE;
}
