// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects at random: beside the store there is a kernel in small (net/ipv4/nexthop.c),
 * which also does without a word what the kernel does. The store must say what the kernel
 * has, and whoever listens must have heard of every id that means something else than before.
 */
#include "nexthops_store.h"

#include <stdbool.h>
#include <stdio.h>

/* Ids 1 to IDS; the kernel's state, and what is told of it. */
#define IDS 12u
#define MEMBERS 4u

struct kernel_object {
	bool there;
	enum next_hop_kind kind;
	uint32_t ifindex;
	uint32_t n;
	uint32_t member[MEMBERS], weight[MEMBERS];
};

struct kernel {
	struct kernel_object objects[IDS + 1];
	struct store *store;
	uint32_t seed;
};

static uint32_t draw(struct kernel *kernel, uint32_t below)
{
	kernel->seed = kernel->seed * 1664525u + 1013904223u;
	return (kernel->seed >> 8) % below;
}

static void kernel_tell(const struct kernel *kernel, uint32_t id)
{
	const struct kernel_object *object = &kernel->objects[id];
	uint32_t pairs[2 * MEMBERS + 1] = { 0 };

	for (uint32_t i = 0; i < object->n; i++) {
		pairs[2 * i] = object->member[i];
		pairs[2 * i + 1] = object->weight[i];
	}
	if (object->kind == NEXT_HOP_GROUP)
		store_set_group(kernel->store, id, 0, pairs);
	else if (object->kind == NEXT_HOP_ONE)
		store_set_one(kernel->store, id, object->ifindex);
	else
		store_set_kind(kernel->store, id, object->kind);
}

static void kernel_remove(struct kernel *kernel, uint32_t id)
{
	kernel->objects[id].there = false;
	for (uint32_t g = 1; g <= IDS; g++) {
		struct kernel_object *group = &kernel->objects[g];
		uint32_t kept = 0;

		if (!group->there || group->kind != NEXT_HOP_GROUP)
			continue;
		for (uint32_t i = 0; i < group->n; i++) {
			group->member[kept] = group->member[i];
			group->weight[kept] = group->weight[i];
			kept += group->member[i] != id;
		}
		group->n = kept;
		group->there = kept;
	}
}

static void kernel_add(struct kernel *kernel)
{
	uint32_t id = 1 + draw(kernel, IDS);
	struct kernel_object object = { .there = true };

	if (draw(kernel, 2) &&
	    (!kernel->objects[id].there || kernel->objects[id].kind == NEXT_HOP_GROUP)) {
		object.kind = NEXT_HOP_GROUP;
		for (uint32_t m = 1; m <= IDS && object.n < MEMBERS; m++) {
			if (m == id || !kernel->objects[m].there || draw(kernel, 2) ||
			    kernel->objects[m].kind != NEXT_HOP_ONE)
				continue;
			object.member[object.n] = m;
			object.weight[object.n++] = 1 + draw(kernel, 3);
		}
		if (!object.n)
			return;
	} else {
		if (kernel->objects[id].there && kernel->objects[id].kind == NEXT_HOP_GROUP)
			return;
		object.kind = NEXT_HOP_ONE;
		object.ifindex = 1 + draw(kernel, 4);
	}
	kernel->objects[id] = object;
	kernel_tell(kernel, id);
}

/* RTM_DELNEXTHOP, then RTM_NEWNEXTHOP of the groups that shrank, or the other way round. */
static void kernel_delete(struct kernel *kernel)
{
	uint32_t id = 1 + draw(kernel, IDS);

	if (!kernel->objects[id].there)
		return;
	kernel_remove(kernel, id);
	nexthops_delete(kernel->store->nexthops, id);
	for (uint32_t g = 1; g <= IDS && draw(kernel, 2); g++) {
		if (kernel->objects[g].there && kernel->objects[g].kind == NEXT_HOP_GROUP)
			kernel_tell(kernel, g);
	}
}

/* A device goes down: nothing is said, ids may be given anew, and then all is read. */
static void kernel_flush(struct kernel *kernel)
{
	uint32_t ifindex = 1 + draw(kernel, 4);

	for (uint32_t id = 1; id <= IDS; id++) {
		if (kernel->objects[id].there && kernel->objects[id].kind == NEXT_HOP_ONE &&
		    kernel->objects[id].ifindex == ifindex)
			kernel_remove(kernel, id);
	}
	if (draw(kernel, 2))
		kernel_add(kernel);
	nexthops_mark(kernel->store->nexthops);
	for (uint32_t id = 1; id <= IDS; id++) {
		if (kernel->objects[id].there)
			kernel_tell(kernel, id);
	}
	nexthops_sweep(kernel->store->nexthops);
}

static void kernel_text(const struct kernel *kernel, uint32_t id, char out[STORE_TEXT])
{
	const struct kernel_object *object = &kernel->objects[id];
	int at = 0;

	if (!object->there) {
		strcpy(out, "none");
	} else if (object->kind == NEXT_HOP_ONE) {
		snprintf(out, STORE_TEXT, "via %u", object->ifindex);
	} else {
		at = snprintf(out, STORE_TEXT, "group");
		for (uint32_t i = 0; i < object->n; i++)
			at += snprintf(out + at, STORE_TEXT - (size_t)at, " %u*%u",
				       kernel->objects[object->member[i]].ifindex,
				       object->weight[i]);
	}
}

/* The store says what the kernel has; whoever listens knows of every id that changed. */
static void compare(struct kernel *kernel, char before[IDS + 1][STORE_TEXT])
{
	uint32_t n = 0;

	for (uint32_t id = 1; id <= IDS; id++) {
		char want[STORE_TEXT], got[STORE_TEXT], told[STORE_TEXT + 2], word[16];

		kernel_text(kernel, id, want);
		assert_string_equal(store_text(kernel->store, id, got), want);
		n += kernel->objects[id].there;
		snprintf(told, sizeof(told), " %.*s ", STORE_TEXT - 1, kernel->store->told);
		snprintf(word, sizeof(word), " %u ", id);
		if (strcmp(before[id], want) != 0)
			assert_non_null(strstr(told, word));
		strcpy(before[id], want);
	}
	assert_int_equal(nexthops_count(kernel->store->nexthops), n);
	kernel->store->told[0] = '\0';
}

static void test_random(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 300; seed++) {
		static char before[IDS + 1][STORE_TEXT];
		struct store store;
		struct kernel kernel = { .store = &store, .seed = seed };

		store_open(&store);
		for (uint32_t id = 1; id <= IDS; id++)
			strcpy(before[id], "none");
		for (int step = 0; step < 100; step++) {
			uint32_t what = draw(&kernel, 10);

			if (what < 7)
				kernel_add(&kernel);
			else if (what < 9)
				kernel_delete(&kernel);
			else
				kernel_flush(&kernel);
			compare(&kernel, before);
		}
		store_close(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests_name("nexthops at random", tests, NULL, NULL);
}
