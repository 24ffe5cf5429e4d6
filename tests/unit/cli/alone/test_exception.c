// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words of `sixlane exception`, and what it says of an exception that meets no packet.
 */
#include <net/if.h>

#include "../../../../user/cli/exception.h"
#include "../../unit.h"
#include "../cmd_world.h"

#define NS_PER_S 1000000000ull
#define MAX_WORDS 16

static struct sixlane_operator wish;
static bool has_wish;

int maps_operator(const struct maps *of, const union sixlane_addr *dst,
		  struct sixlane_operator *out)
{
	(void)of;
	(void)dst;
	*out = wish;
	return has_wish ? 0 : -ENOENT;
}

/* Two of them. */
const char *cmd_verdict_name(uint32_t verdict)
{
	return verdict == SIXLANE_PUNT_ROUTE ? "punt_route" : "pass_local";
}

/* --- words ------------------------------------------------------------------------------- */

static bool parse(enum exception_words words, const char *line, struct exception_request *out,
		  char *err)
{
	char copy[256], *argv[MAX_WORDS], *save = NULL;
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	return exception_parse(words, argc, argv, out, err);
}

static void every_word_is_taken(void **state)
{
	struct exception_request request;
	uint64_t now_ns = util_now_ns(), life_ns;
	union sixlane_addr dst = address("2001:db8::1"), gateway = address("fe80::1");
	char err[EXCEPTION_ERR];

	(void)state;
	assert_true(parse(EXCEPTION_WHOLE,
			  "2001:db8::1 expires 60 dev lo table 100 mtu 1300 via fe80::1", &request,
			  err));
	assert_true(request.has_dst);
	assert_memory_equal(&request.key.dst, &dst, sizeof(dst));
	assert_int_equal(request.key.table, 100);
	assert_int_equal(request.value.mtu, 1300);
	assert_int_equal(request.value.table, 100);
	assert_memory_equal(&request.value.gateway, &gateway, sizeof(gateway));
	assert_string_equal(request.value.device, "lo");
	life_ns = request.value.expires_ns - request.value.added_ns;
	assert_int_equal(life_ns, 60 * NS_PER_S);
	assert_true(request.value.added_ns >= now_ns && request.value.added_ns <= util_now_ns());
}

static void what_is_not_said(void **state)
{
	struct exception_request request;
	char err[EXCEPTION_ERR];

	(void)state;
	assert_true(parse(EXCEPTION_WHOLE, "2001:db8::1 mtu 65535", &request, err));
	assert_int_equal(request.key.table, SIXLANE_TABLE_MAIN);
	assert_int_equal(request.value.expires_ns, 0);
	assert_int_equal(request.value.device[0], 0);
	assert_true(parse(EXCEPTION_KEY, "2001:db8::1", &request, err));
	assert_int_equal(request.key.table, SIXLANE_TABLE_MAIN);
	assert_true(parse(EXCEPTION_ANY, "", &request, err));
	assert_false(request.has_dst);
	assert_int_equal(request.key.table, 0);
	assert_true(parse(EXCEPTION_ANY, "table local", &request, err));
	assert_int_equal(request.key.table, 255);
	assert_true(parse(EXCEPTION_ANY, "2001:db8::1", &request, err));
	assert_true(request.has_dst && !request.key.table);
	assert_true(parse(EXCEPTION_ANY, "2001:db8::1 table 7", &request, err));
	assert_true(request.has_dst && request.key.table == 7);
	assert_true(parse(EXCEPTION_TABLE, "table 7", &request, err));
	assert_true(parse(EXCEPTION_TABLE, "", &request, err));
	assert_int_equal(request.key.table, 0);
}

static void bounds_are_those_that_are_told(void **state)
{
	static const char *const good[] = {
		"2001:db8::1 mtu 1280",
		"2001:db8::1 mtu 65535",
		"2001:db8::1 mtu 1280 expires 1",
		"2001:db8::1 mtu 1280 expires 4294967",
		"2001:db8::1 mtu 1280 table 4294967295",
		"::2 mtu 1280",
		"fec0::1 mtu 1280",
		"2001:db8::1 via 2001:db8::2 dev lo",
		"2001:db8::1 via fe80::1 dev lo",
	};
	struct exception_request request;
	char err[EXCEPTION_ERR];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (!parse(EXCEPTION_WHOLE, good[i], &request, err))
			fail_msg("%s: %s", good[i], err);
	}
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		enum exception_words words;
		const char *line, *part; /* of the message */
	} rows[] = {
		{ EXCEPTION_WHOLE, "", "destination is needed" },
		{ EXCEPTION_WHOLE, "x mtu 1300", "\"x\" is not an IPv6 address" },
		{ EXCEPTION_WHOLE, "2001:db8::1/128 mtu 1300", "is not an IPv6 address" },
		{ EXCEPTION_WHOLE, "192.0.2.1 mtu 1300", "is not an IPv6 address" },
		{ EXCEPTION_WHOLE, "ff02::1 mtu 1300",
		  "destination ff02::1: it must be a unicast" },
		{ EXCEPTION_WHOLE, ":: mtu 1300", "destination ::: it must be a unicast" },
		{ EXCEPTION_WHOLE, "::1 mtu 1300", "destination ::1: it must be a unicast" },
		{ EXCEPTION_WHOLE, "fe80::1 mtu 1300", "destination fe80::1: link-local" },
		{ EXCEPTION_WHOLE, "febf::1 mtu 1300", "destination febf::1: link-local" },
		{ EXCEPTION_WHOLE, "2001:db8::1", "exception is missing" },
		{ EXCEPTION_WHOLE, "2001:db8::1 expires 5", "exception is missing" },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1279", "mtu 1279: " },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 65536", "mtu 65536: " },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu -1", "mtu -1: " },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300x", "mtu 1300x: " },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu", "\"mtu\" needs a value" },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300 mtu 1300", "\"mtu\" is given twice" },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300 expires 0", "expires 0: " },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300 expires 4294968", "expires 4294968: " },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300 table 0", "\"0\" is not a table" },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300 table x", "\"x\" is not a table" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via fe80::1", "via needs a device" },
		{ EXCEPTION_WHOLE, "2001:db8::1 dev lo", "dev needs via" },
		{ EXCEPTION_WHOLE, "2001:db8::1 mtu 1300 dev lo", "dev needs via" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via ff02::1 dev lo",
		  "via ff02::1: it must be a unicast" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via :: dev lo", "via ::: it must be a unicast" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via ::1 dev lo", "via ::1: it must be a unicast" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via x dev lo", "\"x\" is not an IPv6 address" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via fe80::1 dev no-such-dev",
		  "cannot find device \"no-such-dev\"" },
		{ EXCEPTION_WHOLE, "2001:db8::1 via fe80::1 dev a-name-of-sixteen",
		  "cannot find device" },
		{ EXCEPTION_WHOLE, "2001:db8::1 lock 1300", "unexpected argument \"lock\"" },
		{ EXCEPTION_KEY, "", "destination is needed" },
		{ EXCEPTION_KEY, "2001:db8::1 mtu 1300", "unexpected argument \"mtu\"" },
		{ EXCEPTION_ANY, "2001:db8::1 mtu 1300", "unexpected argument \"mtu\"" },
		{ EXCEPTION_ANY, "ff02::1", "unicast address" },
		{ EXCEPTION_TABLE, "2001:db8::1", "unexpected argument \"2001:db8::1\"" },
		{ EXCEPTION_TABLE, "2001:db8::1", "'del 2001:db8::1' removes the exception" },
		{ EXCEPTION_ANY, "table", "\"table\" needs a value" },
		{ EXCEPTION_ANY, "2001:db8::1 table", "\"table\" needs a value" },
		{ EXCEPTION_TABLE, "table", "\"table\" needs a value" },
	};
	struct exception_request request, before;
	char err[EXCEPTION_ERR];

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		request = before;
		if (parse(rows[i].words, rows[i].line, &request, err) || !strstr(err, rows[i].part))
			fail_msg("\"%s\": %s", rows[i].line, err);
		assert_memory_equal(&request, &before, sizeof(request));
	}
}

/* --- lines ------------------------------------------------------------------------------- */

static bool parse_bytes(const char *text, size_t n, struct exception_requests *out, char *err)
{
	FILE *from = fmemopen((void *)text, n, "r");
	bool good;

	assert_non_null(from);
	good = exception_parse_lines(EXCEPTION_WHOLE, from, out, err);
	fclose(from);
	return good;
}

static bool parse_text(const char *text, struct exception_requests *out, char *err)
{
	return parse_bytes(text, strlen(text), out, err);
}

static void lines_are_taken_one_by_one(void **state)
{
	struct exception_requests all = { 0 };
	char err[EXCEPTION_ERR];

	(void)state;
	assert_true(parse_text("# of the peers\n"
			       "2001:db8::2 mtu 1300\t# one\n"
			       "\n"
			       "  2001:db8::1 mtu 1400 table 7\r\n"
			       "2001:db8::1 mtu 1500",
			       &all, err));
	assert_int_equal(all.n, 3);
	for (size_t i = 0; i < all.n; i++)
		assert_int_equal(all.at[i].value.mtu, all.at[i].line == 2   ? 1300
						      : all.at[i].line == 4 ? 1400
									    : 1500);
	free(all.at);
}

static void lines_are_named(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{ "2001:db8::1 mtu 1300\n2001:db8::2 mtu 1\n", "line 2: mtu 1: " },
		{ "2001:db8::1 mtu 1300\n\n2001:db8::2 mtu 1300\n2001:db8::1 mtu 1400\n",
		  "line 4: repeats the destination of line 1" },
		{ "2001:db8::1 a a a a a a a a a a a a a a a a\n",
		  "line 1: the line has too many words" },
	};
	struct exception_requests all;
	char err[EXCEPTION_ERR];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		all = (struct exception_requests){ 0 };
		assert_false(parse_text(rows[i].text, &all, err));
		if (strncmp(err, rows[i].wanted, strlen(rows[i].wanted)) != 0)
			fail_msg("%s: %s", rows[i].wanted, err);
		free(all.at);
	}
	all = (struct exception_requests){ 0 };
	assert_false(parse_bytes("2001:db8::1 mtu 1300\n\0\n", 23, &all, err));
	assert_string_equal(err, "line 2: it is not text");
	free(all.at);
}

/* --- in force, or why not ---------------------------------------------------------------- */

#define OPERATOR (SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_LOCKED)

static struct link devices[] = { { .ifindex = OUT, .name = "out" },
				 { .ifindex = 99, .name = "unknown" } };
static const struct cmd_view view = {
	.maps = { .meta = &meta,
		  .ports = ports,
		  .next_hops = next_hops,
		  .neighbours = neighbours,
		  .punted = punted,
		  .fresh = fresh },
	.ports = { .links = devices, .n = ARRAY_SIZE(devices) },
};

/* An exception as asked for, and carried out. */
static void in_force(void)
{
	world_clear();
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION,
			(struct sixlane_exception){ .flags = OPERATOR, .mtu = 1300 });
	world_route(SIXLANE_TABLE_MAIN, "2001:db8::", 32, 5);
	meta.max_exceptions = 10;
	wish = (struct sixlane_operator){ .mtu = 1300, .table = SIXLANE_TABLE_MAIN };
	has_wish = true;
}

static bool refused;

static const char *why_not(bool daemon)
{
	const struct exception_key key = { .dst = address(DESTINATION),
					   .table = SIXLANE_TABLE_MAIN };
	static struct exception_why buf;
	struct exception_state now;
	const char *why;

	assert_int_equal(exception_read(&view.maps, &key, &now), 0);
	why = exception_why_not(&view, daemon, &now, &buf);
	refused = buf.refused;
	return why ?: "";
}

static void what_is_carried_out(void **state)
{
	(void)state;
	in_force();
	assert_string_equal(why_not(true), "");
	/* the daemon may be gone since */
	assert_string_equal(why_not(false), "");
	exceptions[0].value.mtu = 1299;
	assert_string_equal(why_not(true), "sixlaned has not applied it");
	assert_true(refused);
	exceptions[0].value.mtu = 1300;
	exceptions[0].value.flags = SIXLANE_EXCEPTION_KERNEL | SIXLANE_EXCEPTION_MTU;
	assert_string_equal(why_not(true), "sixlaned has not applied it");
	has_wish = false;
	assert_string_equal(why_not(true), "");
	assert_false(refused);
}

static void a_next_hop_is_asked_for(void **state)
{
	(void)state;
	in_force();
	strcpy(wish.device, "out");
	assert_string_equal(why_not(true), "sixlaned has not applied it");
	assert_true(refused);
	strcpy(wish.device, "unknown");
	assert_string_equal(why_not(true), "waits for device unknown, which is not in the maps");
	assert_false(refused);
	strcpy(wish.device, "gone");
	assert_string_equal(why_not(true), "waits for device gone, which does not exist");
	assert_false(refused);
	/* it may have been there */
	exceptions[0].value.flags |= SIXLANE_EXCEPTION_NEXT_HOP;
	exceptions[0].value.next_hop = 6;
	world_hop(6, SLOT_OUT, GATEWAY);
	neighbours[GATEWAY].key.addr = wish.gateway = address("fe80::1");
	assert_string_equal(why_not(true), "waits for device gone, which does not exist");
	strcpy(wish.device, "out");
	assert_string_equal(why_not(true), "");
}

/* Without a daemon the entry stays what was asked for before. */
static void another_one_is_asked_for(void **state)
{
	struct sixlane_exception *entry = &exceptions[0].value;

	(void)state;
	in_force();
	entry->flags |= SIXLANE_EXCEPTION_NEXT_HOP;
	entry->next_hop = 6;
	entry->expires_ns = util_now_ns() + 60 * NS_PER_S;
	world_hop(6, SLOT_OUT, GATEWAY);
	neighbours[GATEWAY].key.addr = address("fe80::1");
	wish.gateway = address("fe80::1");
	strcpy(wish.device, "out");
	wish.expires_ns = entry->expires_ns;
	assert_string_equal(why_not(false), "");
	/* by another gateway, by another device, by none of its own */
	wish.gateway = address("fe80::2");
	assert_string_equal(why_not(false), "sixlaned does not run");
	wish.gateway = address("fe80::1");
	strcpy(wish.device, "unknown");
	assert_string_equal(why_not(false), "sixlaned does not run");
	wish.device[0] = '\0';
	assert_string_equal(why_not(false), "sixlaned does not run");
	strcpy(wish.device, "out");
	/* without an MTU */
	wish.mtu = 0;
	assert_string_equal(why_not(false), "sixlaned does not run");
	wish.mtu = 1300;
	/* for longer, and for ever */
	wish.expires_ns++;
	assert_string_equal(why_not(false), "sixlaned does not run");
	wish.expires_ns = 0;
	assert_string_equal(why_not(false), "sixlaned does not run");
	wish.expires_ns = entry->expires_ns;
	assert_string_equal(why_not(false), "");
	/* it is not known where a device leads out that is down */
	world_fate(6, SIXLANE_PASS_EGRESS_DOWN);
	wish.gateway = address("fe80::2");
	assert_string_equal(why_not(false), "");
}

static void why_it_is_not_there(void **state)
{
	(void)state;
	in_force();
	n_exceptions = 0;
	assert_string_equal(why_not(false), "sixlaned does not run");
	assert_false(refused);
	assert_string_equal(why_not(true), "sixlaned has not applied it");
	meta.exceptions = 10;
	assert_string_equal(why_not(true), "the limit of 10 exceptions is reached");
	assert_true(refused);
	wish.expires_ns = 1;
	assert_string_equal(why_not(true), "expired");
	assert_false(refused);
}

static void no_packet_comes_to_it(void **state)
{
	(void)state;
	for (int with_entry = 1; with_entry >= 0; with_entry--) {
		in_force();
		n_exceptions = (uint32_t)with_entry;
		n_routes = 0;
		assert_string_equal(why_not(true), "its table has no route for it");
		assert_false(refused);
		world_route(SIXLANE_TABLE_MAIN, DESTINATION, 128, 6);
		world_fate(6, SIXLANE_PASS_LOCAL);
		assert_string_equal(why_not(true), "its covering route does not forward");
		next_hops[6].fate.kind = SIXLANE_PUNT_ROUTE;
		assert_string_equal(why_not(true), "its route passes to the kernel (punt_route)");
		assert_false(refused);
		next_hops[6].fate.kind = SIXLANE_KIND_GROUP;
		assert_string_equal(why_not(true), with_entry ? "" : "sixlaned has not applied it");
	}
	in_force();
	exceptions[0].value.expires_ns = wish.expires_ns = 1;
	assert_string_equal(why_not(true), "expired");
}

/* A destination has one, whatever the table. */
static void one_of_another_table(void **state)
{
	const struct exception_key key = { .dst = address(DESTINATION), .table = 100 };
	struct exception_state now;

	(void)state;
	in_force();
	assert_int_equal(exception_read(&view.maps, &key, &now), 0);
	assert_false(now.has_entry);
	assert_false(now.has_wish);
	assert_int_equal(now.elsewhere, SIXLANE_TABLE_MAIN);
	wish.expires_ns = 1;
	assert_int_equal(exception_read(&view.maps, &key, &now), 0);
	assert_int_equal(now.elsewhere, 0);
}

static void a_destination_is_punted_by_a_filter(void **state)
{
	const union sixlane_addr dst = address(DESTINATION);

	(void)state;
	in_force();
	assert_false(exception_is_punted(&view.maps, &dst));
	maps_punted_add_to(punted, &dst);
	assert_true(exception_is_punted(&view.maps, &dst));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_is_taken),
		cmocka_unit_test(what_is_not_said),
		cmocka_unit_test(bounds_are_those_that_are_told),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(lines_are_taken_one_by_one),
		cmocka_unit_test(lines_are_named),
		cmocka_unit_test(what_is_carried_out),
		cmocka_unit_test(a_next_hop_is_asked_for),
		cmocka_unit_test(another_one_is_asked_for),
		cmocka_unit_test(why_it_is_not_there),
		cmocka_unit_test(no_packet_comes_to_it),
		cmocka_unit_test(one_of_another_table),
		cmocka_unit_test(a_destination_is_punted_by_a_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
