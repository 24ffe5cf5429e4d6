// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of the datapath: an ICMPv6 message to this machine has come after which the kernel may
 * have a new exception, or other lifetimes. They are handed on to who reads what the kernel has.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define NS_PER_MS 1000000ull
#define READ_MAX 512
#define READ_GAP_NS (10 * NS_PER_MS)

struct hints {
	struct maps_ring *reader;
	uint64_t next_read_ns;
	uint64_t until_ns; /* all of before has been handed on */
};

static void take_hint(struct sync *sync, const struct sixlane_hint *hint)
{
	if (hint->type == SIXLANE_HINT_ROUTER_ADVERT)
		audit_advertised(sync, hint->ifindex);
	else
		exceptions_event(sync, &hint->dst);
}

void hints_run(struct sync *sync)
{
	struct hints *hints = sync->hints;
	const uint64_t now_ns = util_now_ns();
	struct sixlane_hint read[READ_MAX];
	int n;

	if (now_ns < hints->next_read_ns)
		return;
	n = maps_ring_read(hints->reader, read, READ_MAX);
	for (int i = 0; i < n; i++)
		take_hint(sync, &read[i]);
	hints->next_read_ns = n > 0 ? now_ns + READ_GAP_NS : 0;
	if (n >= 0 && n < READ_MAX)
		hints->until_ns = now_ns;
	if (n < 0)
		log_warning_limited("cannot read the ICMP events of the datapath: %s",
				    strerror(-n));
}

uint64_t hints_read_until_ns(const struct sync *sync)
{
	return sync->hints->until_ns;
}

uint64_t hints_lost(const struct sync *sync)
{
	uint64_t lost = 0;

	/* not known: none; a pass comes in any case */
	(void)maps_hints_lost(sync->maps, &lost);
	return lost;
}

int hints_fd(const struct sync *sync)
{
	/* what is there is read when it is time to */
	return sync->hints->next_read_ns ? -1 : maps_ring_fd(sync->hints->reader);
}

uint64_t hints_due_ns(const struct sync *sync)
{
	return sync->hints->next_read_ns ? sync->hints->next_read_ns : UINT64_MAX;
}

int hints_new(struct sync *sync)
{
	struct hints *hints = calloc(1, sizeof(*hints));
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = maps_ring_open(sync->maps, LOADER_HINTS, sizeof(struct sixlane_hint), &hints->reader);
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
	maps_ring_close(hints->reader);
	free(hints);
}
