// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sources at random: the kernel's choice in small (icmp6_send(), ipv6_dev_get_saddr(), with all
 * rules of RFC 6724 that it has) is asked for many destinations, built and set as no message
 * tells. Where a port is said to be sure of its source, each of them must get it.
 */
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <stdio.h>

#include "resolve_ports.h"

#define N_DEVICES 6u /* 1 to 5 and the VRF 6 */
#define VRF 6u
#define MAX_ADDRS 7u
#define N_DESTINATIONS 24u

struct lab {
	uint32_t seed;
	struct links links;
	struct address addrs[MAX_ADDRS]; /* in the kernel's order, which is not by address */
	uint32_t n;
	/* Unknown to the daemon. */
	bool use_optimistic, use_tempaddr, home_addresses, before_6_10;
	bool unannounced; /* an optimistic address, as it happens without use_optimistic */
};

static uint32_t draw(struct lab *lab, uint32_t below)
{
	lab->seed = lab->seed * 1664525u + 1013904223u;
	return (lab->seed >> 8) % below;
}

/* --- the kernel in small --------------------------------------------------------------------- */

enum { SCOPE_LINK = 2, SCOPE_SITE = 5, SCOPE_GLOBAL = 14 };

static int scope_of(const union sixlane_addr *addr)
{
	if (addr->bytes[0] != 0xfe || addr->bytes[1] < 0x80)
		return SCOPE_GLOBAL;
	return addr->bytes[1] < 0xc0 ? SCOPE_LINK : SCOPE_SITE;
}

static unsigned int common_len(const union sixlane_addr *a, const union sixlane_addr *b)
{
	unsigned int len = 0;

	while (len < 128 && !((a->bytes[len / 8] ^ b->bytes[len / 8]) >> (7 - len % 8) & 1))
		len++;
	return len;
}

static int label_of(const union sixlane_addr *addr)
{
	if ((addr->bytes[0] & 0xfe) == 0xfc)
		return 5;
	return addr->bytes[0] == 0x20 && addr->bytes[1] == 0x02 ? 2 : 1;
}

static const struct device *device_at(const struct lab *lab, uint32_t ifindex)
{
	return links_find(&lab->links, ifindex);
}

static uint32_t domain_of(const struct lab *lab, uint32_t ifindex)
{
	return ifindex == VRF ? VRF : device_at(lab, ifindex)->link.master;
}

static bool is_assigned(const struct address *address)
{
	return !(address->flags & IFA_F_TENTATIVE) || address->flags & IFA_F_OPTIMISTIC;
}

/* The rules as numbers, the first one that differs decides, the greater one wins. */
#define N_RULES 8u

static void score(const struct lab *lab, const struct address *address, uint32_t oif,
		  const union sixlane_addr *dst, int out[N_RULES])
{
	int scope = scope_of(&address->addr), want = scope_of(dst);
	bool optimistic = address->flags & IFA_F_OPTIMISTIC;
	bool temporary = address->flags & IFA_F_TEMPORARY;

	out[0] = !memcmp(&address->addr, dst, sizeof(*dst));
	out[1] = scope >= want ? -scope : scope - 128;
	out[2] = !(address->flags & IFA_F_DEPRECATED) && (!optimistic || lab->use_optimistic);
	out[3] = lab->home_addresses && address->flags & IFA_F_HOMEADDRESS;
	out[4] = address->ifindex == oif;
	out[5] = label_of(&address->addr) == label_of(dst);
	out[6] = temporary == lab->use_tempaddr;
	out[7] = (int)common_len(&address->addr, dst);
}

static bool is_better(const int a[N_RULES], const int b[N_RULES])
{
	for (unsigned int i = 0; i < N_RULES; i++)
		if (a[i] != b[i])
			return a[i] > b[i];
	return false;
}

static const struct address *
best_of(const struct lab *lab, uint32_t oif, const union sixlane_addr *dst,
	bool (*among)(const struct lab *lab, uint32_t oif, uint32_t ifindex))
{
	const struct address *best = NULL;
	int best_score[N_RULES], its[N_RULES];

	for (uint32_t i = 0; i < lab->n; i++) {
		if (!is_assigned(&lab->addrs[i]) || !among(lab, oif, lab->addrs[i].ifindex))
			continue;
		score(lab, &lab->addrs[i], oif, dst, its);
		if (best && !is_better(its, best_score))
			continue;
		best = &lab->addrs[i];
		memcpy(best_score, its, sizeof(its));
	}
	return best;
}

static bool is_port(const struct lab *lab, uint32_t oif, uint32_t ifindex)
{
	return ifindex == oif;
}

static bool is_port_or_vrf(const struct lab *lab, uint32_t oif, uint32_t ifindex)
{
	return ifindex == oif || ifindex == domain_of(lab, oif);
}

static bool is_in_domain(const struct lab *lab, uint32_t oif, uint32_t ifindex)
{
	return domain_of(lab, oif) == domain_of(lab, ifindex);
}

/* NULL: it has none, but for a link-local one. */
static const struct address *kernel_source(const struct lab *lab, uint32_t oif,
					   const union sixlane_addr *dst)
{
	if (device_at(lab, oif)->ipv6.own_addrs_only)
		return best_of(lab, oif, dst, is_port);
	/* every port has a link-local one, which is enough for older kernels */
	if (domain_of(lab, oif) && lab->before_6_10)
		return best_of(lab, oif, dst, is_port_or_vrf);
	return best_of(lab, oif, dst, is_in_domain);
}

/* --- what may be --------------------------------------------------------------------------- */

static const uint8_t prefixes[][4] = {
	{ 0x20, 0x01, 0x0d, 0xb8 }, { 0x20, 0x02, 0x0a, 0x00 }, { 0xfd, 0x00, 0, 0 },
	{ 0xfd, 0xff, 0, 0 },	    { 0xfe, 0xc0, 0, 0 },	{ 0x26, 0x20, 0, 0 },
};

static union sixlane_addr draw_addr(struct lab *lab)
{
	union sixlane_addr addr = { 0 };
	uint32_t which = draw(lab, 40);

	/* few are site-local: with them no port is sure */
	which = which == 39 ? 4 : which % 4 == 0 ? 5 : which % 4;
	memcpy(addr.bytes, prefixes[which], sizeof(prefixes[which]));
	addr.bytes[7] = (uint8_t)draw(lab, 3);
	addr.bytes[15] = (uint8_t)draw(lab, 4);
	return addr;
}

static uint32_t draw_flags(struct lab *lab)
{
	static const uint32_t flags[] = {
		IFA_F_DEPRECATED, IFA_F_TENTATIVE, IFA_F_TENTATIVE | IFA_F_OPTIMISTIC,
		IFA_F_TEMPORARY,  IFA_F_NODAD,	   IFA_F_TENTATIVE | IFA_F_DADFAILED,
	};
	uint32_t drawn = IFA_F_PERMANENT;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (!draw(lab, 8))
			drawn |= flags[i];
	if (!draw(lab, 40))
		drawn |= IFA_F_HOMEADDRESS;
	/* without DAD there is no end to wait for */
	return drawn & IFA_F_NODAD ? drawn & ~(uint32_t)IFA_F_TENTATIVE : drawn;
}

static void add_devices(struct lab *lab)
{
	char text[128];

	for (uint32_t i = 1; i <= N_DEVICES; i++) {
		snprintf(text, sizeof(text), "%u", i);
		if (i == VRF)
			strcat(text, " kind=vrf table=10");
		if (!draw(lab, 6))
			strcat(text, " own_addrs_only");
		if (i != VRF && !draw(lab, 3))
			strcat(text, " master=6 of=vrf");
		if (!draw(lab, 12))
			strcat(text, " down");
		devices_set(&lab->links, text);
	}
}

/* Without use_optimistic they are announced after DAD. */
static bool may_be_unannounced(const struct address *address)
{
	return address->flags & IFA_F_OPTIMISTIC && !(address->flags & IFA_F_HOMEADDRESS) &&
	       scope_of(&address->addr) == SCOPE_GLOBAL;
}

static bool is_up(const struct lab *lab, uint32_t ifindex)
{
	return device_at(lab, ifindex)->link.flags & IFF_UP;
}

/* Down devices keep what they had, but as tentative. */
static void add_address(struct lab *lab)
{
	struct address address = { .addr = draw_addr(lab), .flags = draw_flags(lab) };
	bool changed;

	address.ifindex = 1 + draw(lab, N_DEVICES);
	for (uint32_t i = 0; i < lab->n; i++) /* the kernel refuses it */
		if (lab->addrs[i].ifindex == address.ifindex &&
		    !memcmp(&lab->addrs[i].addr, &address.addr, sizeof(address.addr)))
			return;
	if (may_be_unannounced(&address) && is_up(lab, address.ifindex) && draw(lab, 2)) {
		lab->unannounced = true;
	} else {
		assert_int_equal(addrs_set(&ports_addrs, &address, &changed), 0);
		assert_true(changed);
	}
	if (!is_up(lab, address.ifindex)) {
		addrs_device_down(&ports_addrs, address.ifindex);
		if (!(address.flags & IFA_F_NODAD))
			address.flags |= IFA_F_TENTATIVE;
	}
	lab->addrs[lab->n++] = address;
}

/* What is to a host route of the local table is no answer by a port. */
static bool is_local(const struct lab *lab, uint32_t oif, const union sixlane_addr *dst)
{
	for (uint32_t i = 0; i < lab->n; i++)
		if (!memcmp(&lab->addrs[i].addr, dst, sizeof(*dst)) &&
		    is_assigned(&lab->addrs[i]) && is_in_domain(lab, oif, lab->addrs[i].ifindex) &&
		    is_up(lab, lab->addrs[i].ifindex))
			return true;
	return false;
}

static void show(const struct lab *lab, const struct sixlane_port *port,
		 const union sixlane_addr *dst)
{
	char text[2][INET6_ADDRSTRLEN];

	for (uint32_t i = 0; i < lab->n; i++)
		print_message("device %u (in %u, %s): %s flags %x\n", lab->addrs[i].ifindex,
			      domain_of(lab, lab->addrs[i].ifindex),
			      device_at(lab, lab->addrs[i].ifindex)->link.flags & IFF_UP ? "up"
											 : "down",
			      inet_ntop(AF_INET6, &lab->addrs[i].addr, text[0], sizeof(text[0])),
			      lab->addrs[i].flags);
	print_message("port %u (in %u) to %s: %s\n", port->ifindex, domain_of(lab, port->ifindex),
		      inet_ntop(AF_INET6, dst, text[1], sizeof(text[1])),
		      inet_ntop(AF_INET6, &port->source, text[0], sizeof(text[0])));
}

static void check_port(struct lab *lab, uint32_t seed, const struct sixlane_port *port)
{
	for (uint32_t i = 0; i < N_DESTINATIONS; i++) {
		const union sixlane_addr dst = draw_addr(lab);
		const struct address *source;

		lab->use_optimistic = !lab->unannounced && draw(lab, 2);
		lab->use_tempaddr = draw(lab, 2);
		lab->home_addresses = draw(lab, 2);
		lab->before_6_10 = draw(lab, 2);
		if (is_local(lab, port->ifindex, &dst))
			continue;
		source = kernel_source(lab, port->ifindex, &dst);
		if (source && !memcmp(&source->addr, &port->source, sizeof(port->source)))
			continue;
		show(lab, port, &dst);
		fail_msg("seed %u: the kernel would choose otherwise", seed);
	}
}

static void test_random(void **state)
{
	uint32_t sure = 0, all = 0, others = 0;

	ports_set_rules(true);
	for (uint32_t seed = 1; seed <= 40000; seed++) {
		struct lab lab = { .seed = seed * 2654435761u };

		add_devices(&lab);
		for (uint32_t n = draw(&lab, MAX_ADDRS + 1); n > 0; n--)
			add_address(&lab);
		for (uint32_t i = 1; i < VRF; i++) {
			struct sixlane_port port = ports_port(&lab.links, i, KERNEL_NEW);

			all += lab.n != 0;
			if (!(port.flags & P(SOURCE)))
				continue;
			sure++;
			check_port(&lab, seed, &port);
			for (uint32_t a = 0; a < lab.n; a++)
				others += !memcmp(&lab.addrs[a].addr, &port.source,
						  sizeof(port.source)) &&
					  lab.addrs[a].ifindex != i;
		}
		links_clear(&lab.links);
		addrs_clear(&ports_addrs);
	}
	print_message("%u of %u ports are sure, %u by another's address\n", sure, all, others);
	assert_true(sure > all / 5 && others > all / 20);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests_name("icmp source at random", tests, NULL, NULL);
}
