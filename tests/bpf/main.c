// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_bpf [OBJECT]: the XDP object through BPF_PROG_TEST_RUN, and its xdp.frags flavour, the
 * .frags.bpf.o beside the .bpf.o; with array maps also the .trace.bpf.o there. Needs root; touches
 * nothing outside a network namespace of its own. SIXLANE_FUZZ_SEED and SIXLANE_FUZZ_RUNS repeat a
 * run of the fuzzer; SIXLANE_BPF_TESTS names tests, by a pattern with * and ?.
 */
#include <limits.h>
#include <stdlib.h>

#include "../../user/loader/arena.h"
#include "agree_run.h"
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
	world_init(w);
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
	       .icmp_event = icmp_event.type ? &icmp_event : NULL, .silent_used = row->silent_used,
	       .prog = row->prog, .sweep = SWEEP_ALL);
}

static void test_row(void **state)
{
	run(*state, SIXLANE_ENGINE_COMPILED);
}

static void test_row_by_trie(void **state)
{
	run(*state, SIXLANE_ENGINE_TRIE);
	harness_answer_by(SIXLANE_ENGINE_COMPILED, SIXLANE_DROP_BLACKHOLE);
}

static void test_every_verdict_has_a_row(void **state)
{
	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++)
		if (!has_row[v])
			fail_msg("verdict %s has no row", harness_verdict_name(v));
}

#define MAX_TESTS 4096

static struct CMUnitTest tests[MAX_TESTS];
static size_t n_tests;

void tests_add(const char *title, CMUnitTestFunction function, const struct row *row)
{
	if (n_tests == MAX_TESTS)
		abort();
	tests[n_tests++] = (struct CMUnitTest){ .name = title,
						.test_func = function,
						.initial_state = (void *)(uintptr_t)row };
}

/* Each row is a test of both engines. Which routes they find is also tested in agreement.c. */
void tests_add_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *by_trie;

		if (asprintf(&by_trie, "%s (trie)", rows[i].name) < 0)
			abort();
		tests_add(rows[i].name, test_row, &rows[i]);
		tests_add(by_trie, test_row_by_trie, &rows[i]);
	}
}

static const char *object = "build/sixlane.bpf.o";

static bool is_arena(void)
{
	return strstr(object, ".arena.");
}

/* agree.bpf.o lies beside the object, or agree.arena.bpf.o if it is of that flavour. */
static void find_agree_object(void)
{
	static char beside[PATH_MAX];
	const char *slash = strrchr(object, '/');

	snprintf(beside, sizeof(beside), "%.*sagree%s.bpf.o", slash ? (int)(slash - object) + 1 : 0,
		 object, strstr(slash ?: object, ".arena.") ? ".arena" : "");
	agree_set_path(beside);
}

/* The object of another flavour beside this one. */
static const char *find_flavour(const char *flavour, char path[PATH_MAX])
{
	static const char ending[] = ".bpf.o";
	size_t stem = strlen(object);

	if (stem > strlen(ending) && !strcmp(object + stem - strlen(ending), ending))
		stem -= strlen(ending);
	snprintf(path, PATH_MAX, "%.*s.%s%s", (int)stem, object, flavour, ending);
	return path;
}

static int open_harness(void **state)
{
	static char frags[PATH_MAX], trace[PATH_MAX];

	find_agree_object();
	return harness_open(object, find_flavour("frags", frags),
			    is_arena() ? NULL : find_flavour("trace", trace));
}

static int close_harness(void **state)
{
	harness_close();
	return 0;
}

static void skip_arena(void **state)
{
	print_message("this kernel has no arenas for %s\n", object);
	skip();
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest none[] = { cmocka_unit_test(skip_arena) };

	if (argc > 1)
		object = argv[1];
	if (is_arena() && loader_arena_usable() <= 0)
		return cmocka_run_group_tests(none, NULL, NULL);
	tests_add("every verdict has a row", test_every_verdict_has_a_row, NULL);
	cmocka_set_test_filter(getenv("SIXLANE_BPF_TESTS"));
	return _cmocka_run_group_tests("bpf", tests, n_tests, open_harness, close_harness);
}
