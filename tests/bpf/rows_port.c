// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switches for all ports, and what the ingress port decides: readiness, operator's switches,
 * ports nobody serves, and slots that lie.
 */
#include <stdbool.h>

#include "rows.h"

static void abi_of_tomorrow(struct world *w)
{
	w->meta.abi = SIXLANE_ABI + 1;
}

static void abi_of_new_maps(struct world *w)
{
	w->meta.abi = 0;
}

static void pass_another_port(struct world *w)
{
	world_port(w, DEV_ALT)->flags |= SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER;
}

static void forwarding_off_at_egress(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_FORWARDING;
}

/* The element of the hash was reused for another interface while it was read. */
static void index_names_another_slot(struct world *w)
{
	for (size_t i = 0; i < w->n_port_index; i++)
		w->port_index[i].slot = world_port_slot(DEV_ALT);
}

static void index_names_no_slot(struct world *w)
{
	for (size_t i = 0; i < w->n_port_index; i++)
		w->port_index[i].slot = SIXLANE_MAX_PORTS;
}

static void index_names_slot_zero(struct world *w)
{
	for (size_t i = 0; i < w->n_port_index; i++)
		w->port_index[i].slot = 0;
}

static void slot_tried_first_is_of_another(struct world *w)
{
	w->ports[world_port(w, DEV_IN)->ifindex] = *world_port(w, DEV_ALT);
}

static void slot_was_freed(struct world *w)
{
	*world_port(w, DEV_IN) = (struct sixlane_port){ 0 };
}

static void mac_with_flags(struct world *w)
{
	world_port(w, DEV_IN)->mac.flags = 0xffff;
	world_port(w, DEV_OUT)->mac.flags = 0xffff;
}

const struct row rows_port[] = {
	{ .name = "maps of another ABI",
	  .arrange = abi_of_tomorrow,
	  .verdict = SIXLANE_PASS_NOT_READY },
	{ .name = "maps that no daemon has seen",
	  .arrange = abi_of_new_maps,
	  .verdict = SIXLANE_PASS_NOT_READY },
	{ .name = "maps that were never complete",
	  .meta_turned = SIXLANE_META_READY,
	  .verdict = SIXLANE_PASS_NOT_READY },
	{ .name = "maps that are being synchronised again", .meta_turned = SIXLANE_META_IN_SYNC },
	{ .name = "pass all", .meta_turned = SIXLANE_META_PASS_ALL, .verdict = SIXLANE_PASS_ALL },
	{ .name = "pass all, of a port without a slot",
	  .in = DEV_STRANGER,
	  .meta_turned = SIXLANE_META_PASS_ALL,
	  .verdict = SIXLANE_PASS_ALL },
	{ .name = "rules beyond the default",
	  .meta_turned = SIXLANE_META_RULES,
	  .verdict = SIXLANE_PUNT_RULES },
	{ .name = "pass all before the rules",
	  .meta_turned = SIXLANE_META_PASS_ALL | SIXLANE_META_RULES,
	  .verdict = SIXLANE_PASS_ALL },
	{ .name = "port without a slot", .in = DEV_STRANGER, .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "port that is not served",
	  .in_turned = SIXLANE_PORT_INGRESS,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "pass port", .in_turned = SIXLANE_PORT_PASS, .verdict = SIXLANE_PASS_PORT },
	{ .name = "port with a master",
	  .in_turned = SIXLANE_PORT_UPPER,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "pass port, of another port", .arrange = pass_another_port },
	{ .name = "forwarding off",
	  .in_turned = SIXLANE_PORT_FORWARDING,
	  .verdict = SIXLANE_PASS_NO_FORWARDING },
	{ .name = "forwarding off at the egress does not matter",
	  .arrange = forwarding_off_at_egress },
	{ .name = "forwarding off does not save from a blackhole",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .in_turned = SIXLANE_PORT_FORWARDING,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "index names a slot of another interface",
	  .arrange = index_names_another_slot,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT,
	  .slot_lost = true },
	{ .name = "index names a slot out of range",
	  .arrange = index_names_no_slot,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT,
	  .slot_lost = true },
	{ .name = "index names slot 0",
	  .arrange = index_names_slot_zero,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT,
	  .slot_lost = true },
	{ .name = "slot was freed",
	  .arrange = slot_was_freed,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT,
	  .slot_lost = true },
	{ .name = "ports in the slots tried first", .at_home = true },
	{ .name = "slot tried first is another's", .arrange = slot_tried_first_is_of_another },
	{ .name = "port without a slot, others in the slots tried first",
	  .in = DEV_STRANGER,
	  .at_home = true,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT,
	  .slot_lost = true },
	{ .name = "back out, in the slots tried first",
	  .routes = { TO(NH_BACK) },
	  .at_home = true,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "flags beside a port's MAC stay out of frames", .arrange = mac_with_flags },
	{ .name = "another port as ingress", .in = DEV_ALT },
	{ .name = "ingress in generic mode", .in = DEV_GENERIC },
};
const size_t rows_port_n = sizeof(rows_port) / sizeof(rows_port[0]);
