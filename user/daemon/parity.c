// SPDX-License-Identifier: GPL-2.0-only
/*
 * See parity.h. Routes change under traffic, so a difference counts only if it is there while no
 * notification is pending. The order is: the kernel's answer, then the notifications before it,
 * then the maps as they are; and all of that once more.
 */
#include "parity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "apply.h"
#include "daemon.h"

#define DRAW_INTERVAL_NS (250 * NS_PER_MS)
#define RECHECK_NS (100 * NS_PER_MS)
#define READ_MAX 4
#define MAX_PENDING 8
/* A sample waits so often while tables are read, or change faster than they are followed. */
#define MAX_DELAYS 50
#define MAX_NEIGHBOURS 4

struct pending {
	struct sixlane_sample sample;
	uint64_t due_ns;
	uint64_t rules; /* list in force when it was taken */
	unsigned int delays;
};

struct parity_state {
	struct maps_ring *reader;
	bool understood[2]; /* see parity_ask() */
	struct pending pending[MAX_PENDING];
	size_t n_pending;
	/* A uniform choice of the neighbours that had traffic in the last second. */
	uint32_t neighbours[MAX_NEIGHBOURS];
	uint32_t n_neighbours; /* all that had traffic */
	uint64_t next_draw_ns;
	uint64_t random;
	uint64_t checked, differed;
};

static const struct fib_target punt = { .verdict = SIXLANE_PUNT_MISMATCH };

/* xorshift64: samples need not be unpredictable, only spread. */
static uint32_t draw_number(struct parity_state *state, uint32_t below)
{
	state->random ^= state->random << 13;
	state->random ^= state->random >> 7;
	state->random ^= state->random << 17;
	return (uint32_t)(state->random >> 32) % below;
}

/* --- drawing -------------------------------------------------------------------------------- */

void parity_reset_neighbours(struct parity_state *state)
{
	state->n_neighbours = 0;
}

void parity_add_neighbour(struct parity_state *state, uint32_t slot)
{
	const uint32_t place = draw_number(state, ++state->n_neighbours);

	if (state->n_neighbours <= MAX_NEIGHBOURS)
		state->neighbours[state->n_neighbours - 1] = slot;
	else if (place < MAX_NEIGHBOURS)
		state->neighbours[place] = slot;
}

static void draw(struct sync *sync, uint64_t now_ns)
{
	struct parity_state *state = sync->parity;
	const uint32_t n =
		state->n_neighbours < MAX_NEIGHBOURS ? state->n_neighbours : MAX_NEIGHBOURS;
	uint32_t slot;

	if (!n || now_ns < state->next_draw_ns)
		return;
	state->next_draw_ns = now_ns + DRAW_INTERVAL_NS;
	slot = state->neighbours[draw_number(state, n)];
	if (maps_sample_draw(sync->maps, slot))
		neigh_refresh_mark(&sync->refresh, slot);
}

/* --- a difference --------------------------------------------------------------------------- */

static const char *name_of(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);

	return device && device->link.name[0] ? device->link.name : "a device that is gone";
}

static void format_hop(const struct sync *sync, const union sixlane_addr *next_hop,
		       uint32_t ifindex, char *buf, size_t size)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, next_hop, text, sizeof(text));
	snprintf(buf, size, "%s by %s", text, name_of(&sync->stores.links, ifindex));
}

static void format_answer(const struct sync *sync, const struct sixlane_sample *sample,
			  const struct parity_answer *answer, char *buf, size_t size)
{
	const union sixlane_addr *next_hop =
		answer->hop.has_gateway ? &answer->hop.gateway : &sample->dst;

	if (answer->error)
		snprintf(buf, size, "nowhere (%s)", strerror(-answer->error));
	else if (answer->has_hop && answer->type == RTN_UNICAST)
		format_hop(sync, next_hop, answer->hop.ifindex, buf, size);
	else
		snprintf(buf, size, "by a route of type %u", answer->type);
}

static void report(const struct sync *sync, const struct sixlane_sample *sample,
		   const struct parity_answer *answer, const struct prefix *dst, uint64_t length_ns)
{
	char to[INET6_ADDRSTRLEN], prefix[PREFIX_STRLEN], by_xdp[128], by_kernel[128];

	inet_ntop(AF_INET6, &sample->dst, to, sizeof(to));
	prefix_format(dst, prefix);
	format_hop(sync, &sample->next_hop, sample->egress, by_xdp, sizeof(by_xdp));
	format_answer(sync, sample, answer, by_kernel, sizeof(by_kernel));
	log_warning_limited(
		"parity check: XDP sends packets from %s for %s to %s; the kernel sends them to %s; %s in table %u passes to the kernel for %llu s; please report this",
		name_of(&sync->stores.links, sample->ingress), to, by_xdp, by_kernel, prefix,
		sample->table, (unsigned long long)(length_ns / NS_PER_S));
}

static struct maps_flow flow_of(const struct sixlane_sample *sample)
{
	return (struct maps_flow){
		.table = sample->table,
		.dst = sample->dst,
		.src = sample->src,
		.ifindex = sample->egress,
		.next_hop = sample->next_hop,
	};
}

/* Whether packets from the same port are still looked up in that table, and sent to that hop. */
static bool still_forwards(const struct maps *maps, const struct sixlane_sample *sample,
			   uint8_t *len)
{
	const uint32_t slot = maps_port_slot(maps, sample->ingress);
	const struct sixlane_port *port = &maps->ports[slot];
	const struct maps_flow flow = flow_of(sample);

	return slot && port->iif == sample->iif &&
	       (port->flags & SIXLANE_PORT_RULES || port->table == sample->table) &&
	       maps_may_forward(maps, &flow, util_now_ns(), len);
}

/*
 * The prefix that decided, or that should have decided. If the maps have one too many, it is the
 * one that they name, which is longer. If they lack one, it is that of the FIB.
 */
static struct prefix deciding_prefix(const struct fib *fib, const struct sixlane_sample *sample,
				     uint8_t len)
{
	struct prefix found = { .addr = sample->dst, .len = len > 128 ? 128 : len }, own;

	prefix_mask(&found);
	if (fib_find_prefix(fib, sample->table, &sample->dst, &own) && own.len > found.len)
		return own;
	return found;
}

/* True: it is punted now. */
static bool punt_prefix(struct sync *sync, const struct sixlane_sample *sample,
			const struct parity_answer *answer, const struct prefix *dst)
{
	const uint64_t now_ns = util_now_ns();
	uint64_t until_ns;

	/* The maps were overwritten since: the FIB writes only what differs from its own state. */
	if (quarantine_has(&sync->quarantine, sample->table, dst)) {
		quarantine_end(&sync->quarantine, sample->table, dst, now_ns);
		apply_prefix(sync, sample->table, dst);
	}
	if (quarantine_add(&sync->quarantine, sample->table, dst, now_ns, &until_ns)) {
		log_warning_limited(
			"parity check: %u prefixes pass to the kernel already, no more are added; restart sixlaned to write the maps again",
			QUARANTINE_MAX);
		return false;
	}
	report(sync, sample, answer, dst, until_ns - now_ns);
	if (fib_set(sync->fib, sample->table, dst, &punt))
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
	return true;
}

static void handle_difference(struct sync *sync, const struct sixlane_sample *sample,
			      const struct parity_answer *answer, uint8_t len)
{
	const struct prefix host = { .addr = sample->dst, .len = 128 };
	/* An exception of the kernel concerns one destination only. */
	const struct prefix dst =
		answer->by_exception ? host : deciding_prefix(sync->fib, sample, len);

	sync->parity->checked++;
	sync->parity->differed++;
	fib_rewrite(sync->fib, sample->table, &dst);
	if (!punt_prefix(sync, sample, answer, &dst) || !still_forwards(sync->maps, sample, &len))
		return;
	/* The compiled FIB may be wrong; or another prefix than the maps name decides. */
	compile_invalidate(sync);
	if (still_forwards(sync->maps, sample, &len))
		punt_prefix(sync, sample, answer, &host);
}

/* --- checking again --------------------------------------------------------------------------- */

/* As far as is known the maps agree with all notifications. */
static bool may_compare(const struct schedule *schedule)
{
	const uint32_t unread = SCHEDULE_TABLES | SCHEDULE_RULES | SCHEDULE_NEXT_HOPS;

	return schedule->in_sync && !schedule->backlog && !schedule->held &&
	       !(schedule->wanted & unread);
}

/* One comparison. PARITY_UNKNOWN: routes changed, or are about to. */
static enum parity compare_again(struct sync *sync, const struct pending *pending,
				 struct parity_answer *answer, uint8_t *len)
{
	enum parity parity = parity_ask(sync, sync->parity->understood, &pending->sample, answer);

	if (parity != PARITY_DIFFERS)
		return parity;
	sync->schedule.backlog = !sockets_follow(sync);
	if (!may_compare(&sync->schedule) || sync->maps->meta->rules.word != pending->rules ||
	    !still_forwards(sync->maps, &pending->sample, len))
		return PARITY_UNKNOWN;
	return PARITY_DIFFERS;
}

static void recheck(struct sync *sync, const struct pending *pending)
{
	enum parity parity = PARITY_DIFFERS;
	struct parity_answer answer;
	uint8_t len;

	for (int turn = 0; turn < 2 && parity == PARITY_DIFFERS; turn++)
		parity = compare_again(sync, pending, &answer, &len);
	if (parity == PARITY_DIFFERS)
		handle_difference(sync, &pending->sample, &answer, len);
	else if (parity == PARITY_SAME)
		sync->parity->checked++;
}

static void run_pending(struct sync *sync, uint64_t now_ns)
{
	struct parity_state *state = sync->parity;
	size_t n = state->n_pending;

	state->n_pending = 0;
	for (size_t i = 0; i < n; i++) {
		struct pending pending = state->pending[i];

		if (now_ns >= pending.due_ns && may_compare(&sync->schedule)) {
			recheck(sync, &pending);
			continue;
		}
		if (now_ns >= pending.due_ns) {
			pending.due_ns = now_ns + RECHECK_NS;
			if (++pending.delays > MAX_DELAYS)
				continue;
		}
		state->pending[state->n_pending++] = pending;
	}
}

static void check_sample(struct sync *sync, const struct sixlane_sample *sample)
{
	struct parity_state *state = sync->parity;
	struct parity_answer answer;
	enum parity parity = parity_ask(sync, state->understood, sample, &answer);

	state->checked += parity == PARITY_SAME;
	if (parity == PARITY_DIFFERS && state->n_pending < MAX_PENDING)
		state->pending[state->n_pending++] = (struct pending){
			.sample = *sample,
			.due_ns = util_now_ns() + RECHECK_NS,
			.rules = sync->maps->meta->rules.word,
		};
}

static void read_samples(struct sync *sync)
{
	struct sixlane_sample samples[READ_MAX];
	int n = maps_ring_read(sync->parity->reader, samples, READ_MAX);

	if (n < 0)
		log_warning_limited("cannot read the samples of the datapath: %s", strerror(-n));
	for (int i = 0; i < n && may_compare(&sync->schedule); i++)
		check_sample(sync, &samples[i]);
}

/* --- interface ----------------------------------------------------------------- */

void parity_run(struct sync *sync)
{
	const uint64_t now_ns = util_now_ns();
	struct prefix dst;
	uint32_t table;

	read_samples(sync);
	run_pending(sync, now_ns);
	while (quarantine_expire(&sync->quarantine, now_ns, &table, &dst))
		apply_prefix(sync, table, &dst);
	draw(sync, now_ns);
}

uint64_t parity_due_ns(const struct sync *sync)
{
	const struct parity_state *state = sync->parity;
	uint64_t due_ns = quarantine_due_ns(&sync->quarantine);

	if (state->n_neighbours && state->next_draw_ns < due_ns)
		due_ns = state->next_draw_ns;
	for (size_t i = 0; i < state->n_pending; i++)
		if (state->pending[i].due_ns < due_ns)
			due_ns = state->pending[i].due_ns;
	return due_ns;
}

int parity_fd(const struct parity_state *state)
{
	return maps_ring_fd(state->reader);
}

void parity_write_meta(const struct sync *sync, struct sixlane_meta *meta)
{
	const struct parity_state *state = sync->parity;

	meta->parity_checked = state->checked;
	meta->parity_differed = state->differed;
	meta->parity_punted = sync->quarantine.n_active;
	meta->parity_punts = sync->quarantine.total;
}

int parity_new(struct sync *sync)
{
	struct parity_state *state = calloc(1, sizeof(*state));
	int ret;

	if (!state)
		return -ENOMEM;
	ret = maps_ring_open(sync->maps, LOADER_SAMPLES, sizeof(struct sixlane_sample),
			     &state->reader);
	if (ret) {
		free(state);
		return ret;
	}
	state->random = util_now_ns() | 1;
	sync->parity = state;
	return 0;
}

void parity_free(struct parity_state *state)
{
	if (!state)
		return;
	maps_ring_close(state->reader);
	free(state);
}
