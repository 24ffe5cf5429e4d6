// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hints of the datapath: an ICMPv6 message to this machine has come after which the kernel may have
 * a new exception. It has not seen the message yet, so that it is asked a moment later, and once
 * more in case that it was busy. Of hints for one destination that come meanwhile one is kept, in a
 * table of fixed size; what finds no place there, or was lost before, only the next dump tells.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define NS_PER_MS 1000000ull
#define FIRST_NS (10 * NS_PER_MS)
#define SECOND_NS (300 * NS_PER_MS)
#define READ_MAX 512
#define READ_GAP_NS (10 * NS_PER_MS)
#define LOST_INTERVAL_NS (300 * NS_PER_MS)

#define SLOTS 1024u
#define PROBES 4u

struct slot {
	struct sixlane_hint hint;
	uint64_t due_ns; /* 0: empty */
	bool second;
};

struct hints {
	struct sync *sync;
	struct maps_hints *reader;
	uint64_t next_read_ns, next_due_ns, next_lost_ns;
	uint64_t lost;
	bool behind; /* some have not been asked about in time, from this slot on */
	uint32_t stopped;
	struct slot slots[SLOTS];
};

static uint32_t hash_of(const struct sixlane_hint *hint)
{
	const struct sixlane_exception_key key = { .dst = hint->dst };

	return sixlane_exception_check(&key);
}

static bool is_same(const struct sixlane_hint *a, const struct sixlane_hint *b)
{
	return !memcmp(&a->dst, &b->dst, sizeof(a->dst)) &&
	       !memcmp(&a->src, &b->src, sizeof(a->src)) && a->ifindex == b->ifindex;
}

/* The place of this hint, or one for it; NULL: there is none. */
static struct slot *find_slot(struct hints *hints, const struct sixlane_hint *hint)
{
	const uint32_t hash = hash_of(hint);
	struct slot *empty = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct slot *slot = &hints->slots[(hash + i) % SLOTS];

		if (slot->due_ns && is_same(&slot->hint, hint))
			return slot;
		if (!slot->due_ns && !empty)
			empty = slot;
	}
	return empty;
}

static void take_hint(void *ctx, const struct sixlane_hint *hint)
{
	struct hints *hints = ctx;
	struct slot *slot;

	if (hint->type == SIXLANE_HINT_ROUTER_ADVERT) {
		audit_advertised(hints->sync, hint->ifindex);
		return;
	}
	slot = find_slot(hints, hint);
	if (!slot) {
		exceptions_want(hints->sync);
		return;
	}
	if (slot->due_ns && !slot->second)
		return;
	slot->hint = *hint;
	slot->second = false;
	slot->due_ns = util_now_ns() + FIRST_NS;
	if (slot->due_ns < hints->next_due_ns)
		hints->next_due_ns = slot->due_ns;
}

static void ask(struct hints *hints, struct slot *slot, uint64_t now_ns)
{
	exceptions_hint(hints->sync, &slot->hint);
	slot->due_ns = 0;
	slot->second = !slot->second;
	if (slot->second)
		slot->due_ns = now_ns + SECOND_NS;
}

/* From where the last run was told to stop, so that each has its turn. */
static void ask_due(struct hints *hints, uint64_t now_ns)
{
	const uint32_t first = hints->stopped;
	uint64_t again_ns;

	hints->next_due_ns = UINT64_MAX;
	hints->behind = false;
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &hints->slots[(first + i) % SLOTS];

		if (slot->due_ns && slot->due_ns <= now_ns &&
		    exceptions_hints_again_ns(hints->sync) <= now_ns)
			ask(hints, slot, now_ns);
		if (!slot->due_ns)
			continue;
		if (slot->due_ns <= now_ns && !hints->behind) {
			hints->behind = true;
			hints->stopped = (first + i) % SLOTS;
		}
		if (slot->due_ns < hints->next_due_ns)
			hints->next_due_ns = slot->due_ns;
	}
	again_ns = exceptions_hints_again_ns(hints->sync);
	if (hints->next_due_ns < again_ns)
		hints->next_due_ns = again_ns;
}

static void read_some(struct hints *hints, uint64_t now_ns)
{
	int n;

	/* Until those that were read have been asked about, others may as well stay there. */
	if (hints->behind) {
		hints->next_read_ns = hints->next_due_ns;
		return;
	}
	n = maps_hints_read(hints->reader, READ_MAX);
	hints->next_read_ns = n > 0 ? now_ns + READ_GAP_NS : 0;
	if (n < 0)
		log_warning_limited("cannot read the ICMP events of the datapath: %s",
				    strerror(-n));
}

static void look_for_lost(struct hints *hints)
{
	uint64_t lost = hints->lost;

	/* Not known: none. A dump comes in any case. */
	(void)maps_hints_lost(hints->sync->maps, &lost);
	exceptions_flooded(hints->sync, lost != hints->lost);
	if (lost != hints->lost)
		exceptions_want(hints->sync);
	hints->lost = lost;
}

void hints_run(struct sync *sync)
{
	struct hints *hints = sync->hints;
	uint64_t now_ns = util_now_ns();

	if (now_ns >= hints->next_due_ns)
		ask_due(hints, now_ns);
	if (now_ns >= hints->next_read_ns)
		read_some(hints, now_ns);
	if (now_ns >= hints->next_lost_ns) {
		hints->next_lost_ns = now_ns + LOST_INTERVAL_NS;
		look_for_lost(hints);
	}
}

int hints_fd(const struct sync *sync)
{
	/* what is there is read when it is time to */
	return sync->hints->next_read_ns ? -1 : maps_hints_fd(sync->hints->reader);
}

uint64_t hints_due_ns(const struct sync *sync)
{
	const struct hints *hints = sync->hints;

	if (hints->next_read_ns && hints->next_read_ns < hints->next_due_ns)
		return hints->next_read_ns;
	return hints->next_due_ns;
}

int hints_new(struct sync *sync)
{
	struct hints *hints = calloc(1, sizeof(*hints));
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->sync = sync;
	hints->next_due_ns = UINT64_MAX;
	(void)maps_hints_lost(sync->maps, &hints->lost); /* before us */
	ret = maps_hints_open(sync->maps, take_hint, hints, &hints->reader);
	if (ret) {
		free(hints);
		return ret;
	}
	sync->hints = hints;
	return 0;
}

void hints_free(struct hints *hints)
{
	if (!hints)
		return;
	maps_hints_close(hints->reader);
	free(hints);
}
