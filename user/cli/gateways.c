// SPDX-License-Identifier: GPL-2.0-only
/* See gateways.h. */
#include "gateways.h"

#include <string.h>

void gateways_add(struct gateways *gateways, const union sixlane_addr *addr, uint32_t ifindex)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };

	for (size_t i = 0; i < gateways->n; i++)
		if (!memcmp(&gateways->at[i], &key, sizeof(key)))
			return;
	if (gateways->n < GATEWAYS_MAX)
		gateways->at[gateways->n++] = key;
	else
		gateways->more++;
}

void gateways_report(struct checkup *checkup)
{
	const struct gateways *gateways = checkup->gateways;
	char addr[PRINT_PREFIX_LEN];

	for (size_t i = 0; i < gateways->n; i++) {
		const struct sixlane_neigh_key *key = &gateways->at[i];
		const struct link *link = ports_find(&checkup->view->ports, key->ifindex);

		check_report(
			checkup, checkup->daemon ? FINDING_WARNING : FINDING_NOTE,
			link ? link->name : NULL,
			"the gateway %s on %s is not resolved: packets to it pass to the kernel",
			print_addr(&key->addr, addr), link ? link->name : "a device that is gone");
	}
	if (gateways->more)
		check_note(checkup, NULL, "more gateways are not resolved");
}
