// SPDX-License-Identifier: GPL-2.0-only
/*
 * The source address of ICMPv6 errors that the kernel sends by a port to global destinations
 * (ipv6_dev_get_saddr(), RFC 6724), if it is the same for all destinations.
 *
 * The rules in order: the destination's own address (1), scope (2), not deprecated (3), home
 * address (4), address of the port (5). From the label (6) on they depend on the destination. So an
 * address that wins by rules 2 to 5 is the source; only the kernel can break a tie.
 */
#include "port.h"

#include <linux/if_addr.h>
#include <string.h>

/* Score of an address, whatever the destination: more is better. */
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

/* Not while DAD is running, nor after it failed. */
static bool is_candidate(const struct address *address)
{
	return !(address->flags & IFA_F_TENTATIVE) || address->flags & IFA_F_OPTIMISTIC;
}

/* ::ffff:0:0/96 and ::/96 are always preferred (ipv6_saddr_preferred()). */
static bool holds_ipv4(const union sixlane_addr *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, compatible[12];

	return !memcmp(addr, mapped, sizeof(mapped)) ||
	       !memcmp(addr, compatible, sizeof(compatible));
}

/* No message shows net.ipv6.conf.*.use_optimistic, so this is the answer for 1. */
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

/* Whether both devices are in the same VRF, or both in none. */
static bool is_same_domain(const struct search *search, const struct address *address)
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

		if (address->ifindex != search->device->ifindex && is_same_domain(search, address))
			consider(search, address);
	}
}

/*
 * An address that was kept while its device is down, and needs no DAD, is a candidate without a
 * local route. It can be the destination of an error, or of the packet that caused it, and then the
 * kernel uses it as the source.
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
 * Addresses that make rules 1, 2 or 4 matter: site-local destinations get site-local sources, home
 * addresses count only in some kernel builds, and unknown attributes may mean anything.
 */
static bool any_special(const struct links *links, const struct addrs *addrs)
{
	for (size_t i = 0; i < addrs->n; i++) {
		const struct address *address = &addrs->list[i].address;

		if (address_is_site_local(&address->addr) || address->flags & IFA_F_HOMEADDRESS ||
		    address->unknown_attr || is_kept(links, address))
			return true;
	}
	return false;
}

/* Linux before 6.10 ignores other members of a VRF, even if only a link-local one is left. */
static bool is_considered(const struct search *search)
{
	uint32_t domain = domain_of(search->device), ifindex = search->best->ifindex;

	return !domain || ifindex == search->device->ifindex || ifindex == domain;
}

/* The kernel's own packets have iif lo, and must match the same rules as the port's. */
static bool rules_differ(const struct rules_program *rules)
{
	return rules_program_walk(rules, LOOPBACK_IFINDEX, false);
}

/*
 * It wins for every destination, whatever the unknown settings are. A deprecated one never does:
 * the port may have an optimistic address that is not announced yet.
 */
static bool is_sure(const struct search *search)
{
	return search->score & SCORE_PREFERRED && !(search->best->flags & IFA_F_OPTIMISTIC) &&
	       !search->tie && is_considered(search);
}

uint32_t resolve_icmp_source(const struct links *links, const struct device *device,
			     const struct addrs *addrs, const struct rules_program *rules,
			     struct sixlane_port *out)
{
	struct search search = { .links = links, .device = device };

	if (!device->has_ipv6 || !device->ipv6.hop_limit)
		return 0;
	out->hop_limit = device->ipv6.hop_limit;
	search_run(&search, addrs);
	/* the datapath takes a first half of 0 for "none" */
	if (!search.best || !search.best->addr.halves[0])
		return 0;
	out->source = search.best->addr;
	if (!is_sure(&search) || rules_differ(rules) || any_special(links, addrs))
		return 0;
	return SIXLANE_PORT_SOURCE;
}
