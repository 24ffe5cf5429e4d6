// SPDX-License-Identifier: GPL-2.0-only
/* See sim_maps.h: neighbours, ports and VLANs, each with the index of its slots. */
#include <errno.h>
#include <string.h>

#include "../unit.h"
#include "sim_use.h"

void sim_neigh_set(struct sim *sim, uint32_t slot, const struct sixlane_neigh *neigh)
{
	sim_use_refresh(sim);
	assert_true(slot > 0 && slot < SIXLANE_MAX_NEIGHBOURS);
	assert_int_equal(neigh->used, 0);
	assert_int_equal(neigh->key.zero, 0);
	assert_false(sim_use_is_recent(sim, &sim->neigh_use[slot]));
	for (size_t i = 0; i < sim->n_neigh_index; i++)
		assert_int_not_equal(sim->neigh_index[i].slot, slot);
	sim->array_writes++;
	sim->neighs[slot] = *neigh;
}

void sim_neigh_set_mac(struct sim *sim, uint32_t slot, union sixlane_mac mac)
{
	assert_true(slot > 0 && slot < SIXLANE_MAX_NEIGHBOURS);
	sim->array_writes++;
	sim->neighs[slot].mac = mac;
	sim_report(sim);
}

static bool is_vlan(const struct sixlane_port *port, const struct sixlane_vlan_key *key)
{
	return port->lower == key->lower && port->tag.word == key->tag.word;
}

/* While a tag leads to a slot, the port there keeps it, unless the entry could not be deleted. */
static void check_vlans(const struct sim *sim, uint32_t slot, const struct sixlane_port *port)
{
	for (size_t i = 0; i < sim->n_vlans && !sim->index_errors; i++) {
		if (sim->vlans[i].slot != slot || !is_vlan(&sim->ports[slot], &sim->vlans[i].key))
			continue;
		assert_true(port->flags & SIXLANE_PORT_TAGGED);
		assert_true(is_vlan(port, &sim->vlans[i].key));
	}
}

bool sim_port_hold(void *ctx, uint32_t slot, const struct sixlane_port *port)
{
	struct sim *sim = ctx;

	sim->ports[slot].flags &= port->flags;
	sim_report(sim);
	return true;
}

void sim_port_set(struct sim *sim, uint32_t slot, const struct sixlane_port *port)
{
	struct sixlane_port *old = &sim->ports[slot];

	sim_use_refresh(sim);
	assert_true(slot > 0 && slot < SIXLANE_MAX_PORTS);
	check_vlans(sim, slot, port);
	if (old->ifindex != port->ifindex) {
		assert_false(sim_use_is_named(sim, &sim->port_use[slot]));
		/* Without ifindex it is down, at any moment. */
		if (port->ifindex)
			assert_false(sim_use_is_recent(sim, &sim->port_use[slot]));
		for (size_t i = 0; i < sim->n_port_index; i++)
			assert_int_not_equal(sim->port_index[i].slot, slot);
	}
	sim->array_writes++;
	*old = *port;
	sim_report(sim);
}

/* --- indices ---------------------------------------------------------------------------------- */

static bool index_fails(struct sim *sim)
{
	bool failed = sim_fails(sim, sim->index_fails);

	sim->index_writes++;
	sim->index_errors += failed;
	return failed;
}

static int index_set(struct sim *sim, struct sim_index *index, size_t *n,
		     const struct sixlane_neigh_key *key, uint32_t slot)
{
	if (index_fails(sim))
		return -ENOSPC;
	for (size_t i = 0; i < *n; i++) {
		if (!memcmp(&index[i].key, key, sizeof(*key)))
			fail_msg("an index entry is overwritten");
		assert_int_not_equal(index[i].slot, slot);
	}
	index[*n].key = *key;
	index[(*n)++].slot = slot;
	return 0;
}

static int index_del(struct sim *sim, struct sim_index *index, size_t *n,
		     const struct sixlane_neigh_key *key, struct sim_use *uses)
{
	if (index_fails(sim))
		return -EBUSY;
	for (size_t i = 0; i < *n; i++) {
		if (memcmp(&index[i].key, key, sizeof(*key)))
			continue;
		uses[index[i].slot].until = sim->epoch;
		index[i] = index[--(*n)];
		return 0;
	}
	return -ENOENT;
}

int sim_neigh_index_set(struct sim *sim, const struct sixlane_neigh_key *key, uint32_t slot)
{
	assert_memory_equal(&sim->neighs[slot].key, key, sizeof(*key));
	return index_set(sim, sim->neigh_index, &sim->n_neigh_index, key, slot);
}

int sim_neigh_index_del(struct sim *sim, const struct sixlane_neigh_key *key)
{
	sim_use_refresh(sim);
	for (size_t i = 0; i < sim->n_neigh_index; i++) {
		if (!memcmp(&sim->neigh_index[i].key, key, sizeof(*key)))
			assert_false(
				sim_use_is_named(sim, &sim->neigh_use[sim->neigh_index[i].slot]));
	}
	return index_del(sim, sim->neigh_index, &sim->n_neigh_index, key, sim->neigh_use);
}

int sim_port_index_set(struct sim *sim, uint32_t ifindex, uint32_t slot)
{
	const struct sixlane_neigh_key key = { .ifindex = ifindex };

	assert_int_equal(sim->ports[slot].ifindex, ifindex);
	return index_set(sim, sim->port_index, &sim->n_port_index, &key, slot);
}

int sim_port_index_del(struct sim *sim, uint32_t ifindex)
{
	const struct sixlane_neigh_key key = { .ifindex = ifindex };

	sim_use_refresh(sim);
	return index_del(sim, sim->port_index, &sim->n_port_index, &key, sim->port_use);
}

static size_t find_vlan(const struct sim *sim, const struct sixlane_vlan_key *key)
{
	size_t i = 0;

	while (i < sim->n_vlans && memcmp(&sim->vlans[i].key, key, sizeof(*key)))
		i++;
	return i;
}

int sim_vlan_set(struct sim *sim, const struct sixlane_vlan_key *key, uint32_t slot)
{
	size_t i = find_vlan(sim, key);

	assert_true(slot > 0 && slot < SIXLANE_MAX_PORTS);
	assert_int_not_equal(sim->ports[slot].ifindex, 0);
	assert_true(sim->ports[slot].flags & SIXLANE_PORT_TAGGED);
	assert_true(is_vlan(&sim->ports[slot], key));
	if (index_fails(sim))
		return -ENOMEM;
	assert_true(i < sizeof(sim->vlans) / sizeof(sim->vlans[0]));
	sim->n_vlans += i == sim->n_vlans;
	sim->vlans[i] = (struct sim_vlan){ *key, slot };
	sim_report(sim);
	return 0;
}

int sim_vlan_del(struct sim *sim, const struct sixlane_vlan_key *key)
{
	size_t i = find_vlan(sim, key);

	if (index_fails(sim))
		return -EBUSY;
	if (i == sim->n_vlans)
		return -ENOENT;
	sim->vlans[i] = sim->vlans[--sim->n_vlans];
	sim_report(sim);
	return 0;
}
