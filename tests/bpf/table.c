// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a row of the table: arranges the world, builds the frame, asserts its next-hop entry.
 * Remembers which verdicts had a row.
 */
#include "answer.h"
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

static uint32_t counted_in(const struct row *row)
{
	enum device dev = row->as ? row->as : row->in;

	if (row->slot_lost)
		return 0;
	return row->at_home ? harness_ifindex()[dev] : world_port_slot(dev);
}

static void build_answer(const struct row *row, const struct frame *in, struct frame *out)
{
	enum device dev = row->as ? row->as : row->in;
	const uint8_t *dst_mac =
		row->answer.turned ? in->bytes + AT_SRC_MAC : world_neigh_mac[row->answer.via];
	struct answer answer = answer_by(dev, dst_mac, row->answer.mtu);

	answer.decremented = row->answer.decremented;
	answer_build(out, in, &answer);
	frame_push(out, world_device_tags(dev), WORLD_TAGS);
}

/* What becomes of a packet without its tags; false: it stays as it is. */
static bool build_out(const struct row *row, const struct frame *in, struct frame *out)
{
	enum device egress = world_neigh_device(row->via);

	if (row->out_hex) {
		frame_from_hex(out, row->out_hex);
	} else if (row->verdict == SIXLANE_ANSWER_TOO_BIG) {
		build_answer(row, in, out);
	} else if (row->verdict == SIXLANE_FORWARD) {
		*out = *in;
		frame_route(out, world_neigh_mac[row->via], world_device_mac[egress]);
		frame_push(out, world_device_tags(egress), WORLD_TAGS);
	} else {
		return false;
	}
	return true;
}

static const struct sixlane_icmp_event *build_icmp_event(const struct row *row,
							 struct sixlane_icmp_event *icmp_event)
{
	const enum device dev = row->as ? row->as : row->in;

	if (!row->icmp_event.type)
		return NULL;
	*icmp_event = (struct sixlane_icmp_event){
		.dst = world_addr(row->icmp_event.dst ?: "::"),
		.ifindex = harness_ifindex()[dev],
		.type = row->icmp_event.type,
	};
	return icmp_event;
}

static void run(const struct row *row, uint32_t engine)
{
	enum device egress = world_neigh_device(row->via);
	static struct world world;
	static struct frame in, out, bare;
	struct sixlane_icmp_event icmp_event;
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
	harness_answer_by(engine, row->verdict == SIXLANE_DROP_BLACKHOLE ? SIXLANE_PASS_LOCAL
									 : SIXLANE_DROP_BLACKHOLE);
	arrange(row, &world);
	if (row->hit)
		expected.hit = &world.exceptions[0].dst;
	expected.icmp_event = build_icmp_event(row, &icmp_event);
	build(row, &bare);
	in = bare;
	frame_push(&in, row->tags, FRAME_TAGS);
	if (!build_out(row, &bare, &out))
		out = in;
	harness_expect(row->prog, row->in, &in, &expected, SWEEP_ALL);
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
