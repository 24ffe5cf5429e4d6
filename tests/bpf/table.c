// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a row of the table: arranges the world, builds the frame, asserts its next-hop entry.
 * Remembers which verdicts had a row.
 */
#include "rows.h"
#include "tests.h"

static bool has_row[SIXLANE_N_VERDICTS];

static void add_routes(struct world *world, const struct row *row)
{
	for (size_t i = 0; i < ROW_ROUTES && row->routes[i].prefix; i++)
		world_add_route(world, row->routes[i].prefix, row->routes[i].table,
				row->routes[i].next_hop);
	if (!row->routes[0].prefix)
		world_add_route(world, "2001:db8:2::/48", 0, NH_GATEWAY);
	world->routes[0].value |= row->marks;
	for (size_t i = 0; i < ROW_SOURCES && row->sources[i].prefix; i++)
		world_add_source(world, WORLD_SET, row->sources[i].prefix, row->sources[i].next_hop,
				 row->sources[i].len ? row->sources[i].len : 48);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a value begins with its lowest byte");

static void change(struct world *world, const struct row_change *change)
{
	uint8_t *field = (uint8_t *)world + change->at;
	uint64_t value = 0;

	memcpy(&value, field, change->bytes);
	value = change->flip ? value ^ change->value : change->value;
	memcpy(field, &value, change->bytes);
}

static void arrange(const struct row *row, struct world *w)
{
	harness_world(w);
	w->meta.hash_policy = row->hash;
	add_routes(w, row);
	for (size_t i = 0; i < ROW_EXCEPTIONS && row->exceptions[i].dst; i++)
		world_add_exception(w, row->exceptions[i].dst, &row->exceptions[i].value);
	if (row->punted)
		world_add_punted(w, row->punted);
	if (row->fresh)
		world_add_fresh(w, row->fresh, 0, 0);
	if (row->check_punted)
		w->meta.flags |= SIXLANE_META_CHECK_PUNTED;
	for (size_t i = 0; i < ROW_RULES && row->rules[i].rule.priority; i++)
		world_add_rule(w, &row->rules[i].rule, row->rules[i].src, row->rules[i].dst);
	if (row->arrange)
		row->arrange(w);
	for (size_t i = 0; i < ROW_CHANGES && row->changes[i].bytes; i++)
		change(w, &row->changes[i]);
	if (row->at_home)
		world_move_ports_home(w);
	harness_install(w);
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

static void run(const struct row *row, uint32_t engine)
{
	static struct world world;
	static struct frame frame, out;
	const enum device as = row->as ? row->as : row->in;
	const struct sixlane_icmp_event icmp_event = {
		.dst = world_addr(row->icmp_event.dst),
		.ifindex = WORLD_IFINDEX(as),
		.type = row->icmp_event.type,
	};

	has_row[row->verdict] = true;
	if (row->meta == ROW_META_MAX && !harness_meta_max()) {
		fprintf(stderr, "SKIP: this kernel has little room for metadata\n");
		skip();
	}
	harness_answer_by(engine, row->verdict == SIXLANE_DROP_BLACKHOLE ? SIXLANE_PASS_LOCAL
									 : SIXLANE_DROP_BLACKHOLE);
	arrange(row, &world);
	build(row, &frame);
	if (row->out_hex)
		frame_from_hex(&out, row->out_hex);
	EXPECT(.frame = &frame, .tags = row->tags, .in = row->in, .as = as, .at_home = row->at_home,
	       .slot_lost = row->slot_lost, .verdict = row->verdict, .via = row->via,
	       .slave = row->slave, .answer = row->answer, .out = row->out_hex ? &out : NULL,
	       .hit = row->hit ? &world.exceptions[0].dst : NULL,
	       .icmp_event = icmp_event.type ? &icmp_event : NULL, .prog = row->prog,
	       .sweep = SWEEP_ALL);
}

void table_test_row(void **state)
{
	run(*state, SIXLANE_ENGINE_COMPILED);
}

void table_test_row_by_trie(void **state)
{
	run(*state, SIXLANE_ENGINE_TRIE);
	harness_answer_by(SIXLANE_ENGINE_COMPILED, SIXLANE_DROP_BLACKHOLE);
}

void table_test_every_verdict_has_a_row(void **state)
{
	size_t missing = 0;

	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		if (has_row[v])
			continue;
		fprintf(stderr, "verdict %s has no row\n", harness_verdict_name(v));
		missing++;
	}
	assert_int_equal(missing, 0);
}
