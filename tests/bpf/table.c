// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a row of the table: arranges the world, builds the frame, asserts its fate. Remembers
 * which verdicts had a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests.h"

static bool has_row[SIXLANE_N_VERDICTS];

static void add_routes(struct world *world, const struct row *row)
{
	for (size_t i = 0; i < ROW_ROUTES && row->routes[i].prefix; i++)
		world_add_route(world, row->routes[i].prefix, row->routes[i].table,
				row->routes[i].next_hop);
	if (!row->routes[0].prefix)
		world_add_route(world, "2001:db8:2::/48", 0, NH_GATEWAY);
	for (size_t i = 0; i < ROW_SOURCES && row->sources[i].prefix; i++)
		world_add_source(world, WORLD_SET, row->sources[i].prefix, row->sources[i].next_hop,
				 row->sources[i].len ? row->sources[i].len : 48);
}

static void arrange(const struct row *row)
{
	struct world world;

	harness_world(&world);
	world.meta.hash_policy = row->hash;
	add_routes(&world, row);
	for (size_t i = 0; i < ROW_RULES && row->rules[i].rule.priority; i++)
		world_add_rule(&world, &row->rules[i].rule, row->rules[i].src, row->rules[i].dst);
	if (row->arrange)
		row->arrange(&world);
	if (row->at_home)
		world_move_ports_home(&world);
	harness_install(&world);
}

static void build(const struct row *row, struct frame *frame)
{
	const struct frame_spec spec = {
		.src = row->src,
		.dst = row->dst,
		.dst_mac = world_device_mac[row->to ? row->to : row->in],
		.payload = row->payload,
		.padding = row->padding,
	};

	if (row->in_hex)
		frame_from_hex(frame, row->in_hex);
	else
		frame_build(frame, &spec);
	for (size_t i = 0; i < ROW_PATCHES && row->patches[i].hex; i++)
		frame_patch(frame, row->patches[i].at, row->patches[i].hex);
	frame->meta = row->meta == ROW_META_MAX ? harness_meta_max() : row->meta;
}

static uint32_t counted_in(const struct row *row)
{
	enum device dev = row->as ? row->as : row->in;

	if (row->slot_lost)
		return 0;
	return row->at_home ? harness_ifindex()[dev] : world_port_slot(dev);
}

void table_test_row(void **state)
{
	const struct row *row = *state;
	enum device egress = world_neigh_device(row->via);
	struct frame in, out;
	struct expected expected = {
		.verdict = row->verdict,
		.slot = counted_in(row),
		.egress = harness_ifindex()[row->slave ? row->slave : world_device_xmit(egress)],
		.out = &out,
	};

	has_row[row->verdict] = true;
	if (row->meta == ROW_META_MAX && !harness_meta_max()) {
		fprintf(stderr, "SKIP: this kernel has little room for metadata\n");
		skip();
	}
	arrange(row);
	build(row, &in);
	out = in;
	frame_push(&in, row->tags, FRAME_TAGS);
	if (row->verdict != SIXLANE_FORWARD) {
		out = in;
	} else if (row->out_hex) {
		frame_from_hex(&out, row->out_hex);
	} else {
		frame_route(&out, world_neigh_mac[row->via], world_device_mac[egress]);
		frame_push(&out, world_device_tags(egress), WORLD_TAGS);
	}
	harness_expect(row->prog, row->in, &in, &expected, SWEEP_ALL);
}

void table_test_every_verdict_has_a_row(void **state)
{
	size_t missing = 0;

	(void)state;
	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		if (has_row[v])
			continue;
		fprintf(stderr, "verdict %s has no row\n", harness_verdict_name(v));
		missing++;
	}
	assert_int_equal(missing, 0);
}
