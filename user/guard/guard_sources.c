// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sources and their schedule. A source has a function that opens it, one that checks its
 * notifications and one that reads it. Sources without notifications are polled.
 */
#include "guard_sources.h"

#include <errno.h>
#include <string.h>

#include "../lib/util.h"
#include "ip6_tables.h"
#include "nf_tables.h"
#include "ruleset_query.h"
#include "tc.h"
#include "xfrm.h"

/*
 * A change must take effect within 50 ms. A source that takes longer than this to read, or has to
 * wait longer, is stale until it is read.
 */
#define SLOW_NS 20000000u
/* A source is read for one part in SHARE of a CPU's time; if it is only polled, SHARE_POLLED. */
#define SHARE 10
#define SHARE_POLLED 100

/* A read() that found what was there before. */
#define UNCHANGED 1

/* Called every few milliseconds of a long reading. */
static void check_time(void *ctx)
{
	struct guard_sources *sources = ctx;

	if (!sources->reading_ns || util_now_ns() - sources->reading_ns < SLOW_NS)
		return;
	sources->reading_ns = 0;
	if (sources->slow)
		sources->slow(sources->slow_ctx);
}

static int open_nf_tables(struct guard_sources *sources)
{
	int ret = nf_tables_new(sources->rcvbuf_bytes, &sources->nf_tables);

	if (!ret)
		nf_tables_set_idle(sources->nf_tables, check_time, sources);
	return ret;
}

static bool follow_nf_tables(struct guard_sources *sources)
{
	return nf_tables_read_events(sources->nf_tables);
}

static int read_nf_tables(struct guard_sources *sources)
{
	struct guard_ruleset *read;
	int ret = nf_tables_read(sources->nf_tables, &read);

	if (ret)
		return ret;
	guard_ruleset_free(sources->rules[GUARD_RULES_NF_TABLES]);
	sources->rules[GUARD_RULES_NF_TABLES] = read;
	return 0;
}

static int read_ip6_tables(struct guard_sources *sources)
{
	struct guard_ruleset *read, **rules = &sources->rules[GUARD_RULES_IP6_TABLES];
	bool unchanged;
	int ret = ip6_tables_read(&read);

	if (ret)
		return ret;
	unchanged = *rules && guard_ruleset_is_empty(*rules) && guard_ruleset_is_empty(read);
	guard_ruleset_free(*rules);
	*rules = read;
	return unchanged ? UNCHANGED : 0;
}

static int read_hooks(struct guard_sources *sources)
{
	struct nf_hooks read = { 0 };
	int ret = nf_hooks_read(&read);

	if (!ret && !read.known)
		ret = nf_hooks_read_bpf(&read) ?: nf_hooks_guess_defragments(&read.defragments);
	if (!ret && !memcmp(&sources->hooks, &read, sizeof(read)))
		return UNCHANGED;
	if (!ret)
		sources->hooks = read;
	return ret;
}

static int open_xfrm(struct guard_sources *sources)
{
	return xfrm_new(&sources->xfrm);
}

static bool follow_xfrm(struct guard_sources *sources)
{
	return xfrm_read_events(sources->xfrm);
}

static int read_xfrm(struct guard_sources *sources)
{
	struct policies *read;
	int ret = xfrm_read(sources->xfrm, &read);

	if (ret)
		return ret;
	policies_free(sources->policies);
	sources->policies = read;
	sources->policies_version++;
	return 0;
}

static int open_tc(struct guard_sources *sources)
{
	return tc_new(sources->rcvbuf_bytes, &sources->tc);
}

static bool follow_tc(struct guard_sources *sources)
{
	return tc_read_events(sources->tc);
}

static int read_tc(struct guard_sources *sources)
{
	struct queueing *read;
	int ret = tc_read(sources->tc, &read);

	if (ret)
		return ret;
	queueing_free(sources->queueing);
	sources->queueing = read;
	return 0;
}

/* 0 or -errno; a device that is gone has no reasons, and its message is on its way. */
static int read_device(const struct device *device, struct guard_device *out)
{
	struct nf_hooks hooks = { 0 };
	int ret = tc_read_tcx(device->ifindex, out->tcx_in, out->tcx_out);

	out->ifindex = device->ifindex;
	if (!ret)
		ret = nf_hooks_read_device(device->ifindex, device->link.name, &hooks);
	if (ret)
		*out = (struct guard_device){ 0 };
	memcpy(out->hook_in, hooks.unknown[GUARD_HOOK_INGRESS], sizeof(out->hook_in));
	memcpy(out->hook_out, hooks.unknown[GUARD_HOOK_EGRESS], sizeof(out->hook_out));
	return ret == -ENODEV ? 0 : ret;
}

static int read_devices(struct guard_sources *sources, const struct links *links)
{
	struct guard_device *read = calloc(links->n + 1, sizeof(*read)), *at;
	bool unchanged;
	size_t n = 0;
	int ret = read ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < links->n; i++) {
		if (!links->devices[i].has_link)
			continue;
		at = &read[n];
		ret = read_device(&links->devices[i], at);
		n += *at->tcx_in || *at->tcx_out || *at->hook_in || *at->hook_out;
	}
	if (ret) {
		free(read);
		return ret;
	}
	unchanged = n == sources->n_devices &&
		    (!n || !memcmp(read, sources->devices, n * sizeof(*read)));
	free(sources->devices);
	sources->devices = read;
	sources->n_devices = n;
	return unchanged ? UNCHANGED : 0;
}

static const struct source_kind {
	const char *name; /* for people */
	int (*open)(struct guard_sources *sources);
	bool (*follow)(struct guard_sources *sources);
	int (*read)(struct guard_sources *sources); /* NULL: read_devices() */
	enum guard_cause cause;
	bool polled; /* the kernel announces nothing */
} kinds[GUARD_N_SOURCES] = {
	[GUARD_SOURCE_NF_TABLES] = { .name = "nf_tables",
				     .open = open_nf_tables,
				     .follow = follow_nf_tables,
				     .read = read_nf_tables,
				     .cause = GUARD_NETFILTER },
	[GUARD_SOURCE_IP6_TABLES] = { .name = "ip6_tables",
				      .read = read_ip6_tables,
				      .cause = GUARD_NETFILTER,
				      .polled = true },
	[GUARD_SOURCE_HOOKS] = { .name = "netfilter hooks",
				 .read = read_hooks,
				 .cause = GUARD_NETFILTER,
				 .polled = true },
	[GUARD_SOURCE_XFRM] = { .name = "IPsec policies",
				.open = open_xfrm,
				.follow = follow_xfrm,
				.read = read_xfrm,
				.cause = GUARD_XFRM },
	[GUARD_SOURCE_TC] = { .name = "qdiscs and filters",
			      .open = open_tc,
			      .follow = follow_tc,
			      .read = read_tc,
			      .cause = GUARD_TC },
	[GUARD_SOURCE_DEVICES] = { .name = "programs at devices",
				   .cause = GUARD_TC,
				   .polled = true },
};

/* True: it was not stale before. */
static bool set_stale(struct guard_source *source)
{
	bool was = source->stale;

	source->stale = true;
	return !was;
}

/* False: the result and the state are as before. */
static bool read_source(struct guard_sources *sources, enum guard_source_kind kind,
			const struct links *links)
{
	struct guard_source *source = &sources->state[kind];
	uint64_t start_cpu_ns = util_cpu_ns();
	int ret = kinds[kind].open && !source->opened ? kinds[kind].open(sources) : 0;
	bool unchanged;

	source->opened |= !ret;
	source->pending = false;
	sources->reading_ns = util_now_ns();
	if (!ret)
		ret = kinds[kind].read ? kinds[kind].read(sources) : read_devices(sources, links);
	sources->reading_ns = 0;
	source->took_ns = util_cpu_ns() - start_cpu_ns;
	source->next_ns =
		util_now_ns() + (kinds[kind].polled ? SHARE_POLLED : SHARE) * source->took_ns;
	unchanged = ret == UNCHANGED && source->read && !source->stale && !source->error;
	ret = ret == UNCHANGED ? 0 : ret;
	source->stale = false;
	source->read |= !ret;
	source->error = ret;
	return !unchanged;
}

static bool run_source(struct guard_sources *sources, enum guard_source_kind kind,
		       const struct links *links, uint64_t *due_ns)
{
	struct guard_source *source = &sources->state[kind];
	uint64_t now_ns = util_now_ns();

	if (source->opened && kinds[kind].follow)
		source->pending |= kinds[kind].follow(sources);
	if (!source->pending)
		return false;
	if (now_ns < source->next_ns) {
		*due_ns = util_earlier(*due_ns, source->next_ns);
		return !kinds[kind].polled && source->next_ns - now_ns > SLOW_NS &&
		       set_stale(source);
	}
	/* The caller punts first, and then comes back for the reading. */
	if (!kinds[kind].polled && source->took_ns > SLOW_NS && set_stale(source)) {
		*due_ns = 0;
		return true;
	}
	return read_source(sources, kind, links);
}

bool guard_sources_run(struct guard_sources *sources, const struct links *links, uint64_t *due_ns)
{
	bool changed = false;

	*due_ns = UINT64_MAX;
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		if (!guard_sources_bypass(sources, kinds[kind].cause))
			changed |= run_source(sources, kind, links, due_ns);
	return changed;
}

void guard_sources_poll(struct guard_sources *sources)
{
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		sources->state[kind].pending |= kinds[kind].polled || sources->state[kind].error;
}

const char *guard_sources_unread(const struct guard_sources *sources, enum guard_cause cause,
				 char *reason)
{
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++) {
		const struct guard_source *source = &sources->state[kind];

		if (kinds[kind].cause != cause || guard_sources_bypass(sources, cause))
			continue;
		if (source->error)
			snprintf(reason, GUARD_REASON_LEN, "cannot read %s: %s", kinds[kind].name,
				 strerror(-source->error));
		else if (!source->read || source->stale)
			snprintf(reason, GUARD_REASON_LEN, "%s are being read", kinds[kind].name);
		else
			continue;
		return reason;
	}
	return NULL;
}

void guard_sources_init(struct guard_sources *sources, uint32_t bypassed, size_t rcvbuf_bytes)
{
	*sources = (struct guard_sources){ .bypassed = bypassed, .rcvbuf_bytes = rcvbuf_bytes };
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		sources->state[kind].pending = true;
}

void guard_sources_free(struct guard_sources *sources)
{
	nf_tables_free(sources->nf_tables);
	xfrm_free(sources->xfrm);
	tc_free(sources->tc);
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		guard_ruleset_free(sources->rules[i]);
	policies_free(sources->policies);
	queueing_free(sources->queueing);
	free(sources->devices);
}

void guard_sources_fds(const struct guard_sources *sources, int fds[3])
{
	fds[0] = sources->nf_tables ? nf_tables_fd(sources->nf_tables) : -1;
	fds[1] = sources->xfrm ? xfrm_fd(sources->xfrm) : -1;
	fds[2] = sources->tc ? tc_fd(sources->tc) : -1;
}
