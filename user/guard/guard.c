// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sources put together: when each is read. What they come to for devices is in guard_judge.c.
 */
#include <errno.h>
#include <string.h>

#include "../lib/util.h"
#include "guard_internal.h"

const char *const guard_cause_names[GUARD_N_CAUSES] = {
	[GUARD_NETFILTER] = "netfilter",
	[GUARD_XFRM] = "xfrm",
	[GUARD_TC] = "tc",
};

/*
 * A change acts within 50 ms. A source that takes longer to read than this, or has to wait longer,
 * holds back meanwhile.
 */
#define SLOW_NS 20000000u
/* A source may be read for one part in so many of a CPU's time: while it changes, or by polling. */
#define SHARE 10
#define SHARE_POLLED 100

/* Of read(): it was read, and is what it was before. */
#define UNCHANGED 1

static const struct source_kind {
	const char *name; /* for people */
	int (*open)(struct guard *guard);
	bool (*follow)(struct guard *guard);
	int (*read)(struct guard *guard, const struct links *links);
	enum guard_cause cause;
	bool polled; /* the kernel announces nothing */
} kinds[GUARD_N_SOURCES];

/* --- reading ------------------------------------------------------------------------- */

static void take_time(void *ctx)
{
	struct guard *guard = ctx;

	if (!guard->reading_ns || util_now_ns() - guard->reading_ns < SLOW_NS)
		return;
	guard->reading_ns = 0;
	if (guard->slow)
		guard->slow(guard->slow_ctx);
}

static int open_nf_tables(struct guard *guard)
{
	int ret = nf_tables_new(guard->rcvbuf_bytes, &guard->nf_tables);

	if (!ret)
		nf_tables_set_idle(guard->nf_tables, take_time, guard);
	return ret;
}

static bool follow_nf_tables(struct guard *guard)
{
	return nf_tables_follow(guard->nf_tables);
}

static int read_nf_tables(struct guard *guard, const struct links *links)
{
	struct guard_ruleset *read;
	int ret = nf_tables_read(guard->nf_tables, &read);

	(void)links;
	if (ret)
		return ret;
	guard_ruleset_free(guard->rules[GUARD_RULES_NF_TABLES]);
	guard->rules[GUARD_RULES_NF_TABLES] = read;
	return 0;
}

static int read_ip6_tables(struct guard *guard, const struct links *links)
{
	struct guard_ruleset *read;
	bool unchanged;
	int ret = ip6_tables_read(&read);

	(void)links;
	if (ret)
		return ret;
	unchanged = guard->rules[GUARD_RULES_IP6_TABLES] &&
		    guard_ruleset_is_empty(guard->rules[GUARD_RULES_IP6_TABLES]) &&
		    guard_ruleset_is_empty(read);
	guard_ruleset_free(guard->rules[GUARD_RULES_IP6_TABLES]);
	guard->rules[GUARD_RULES_IP6_TABLES] = read;
	return unchanged ? UNCHANGED : 0;
}

static int read_hooks(struct guard *guard, const struct links *links)
{
	struct nf_hooks read = { 0 };
	int ret = nf_hooks_read(&read);

	(void)links;
	if (!ret && !read.known)
		ret = nf_hooks_read_bpf(&read) ?: nf_hooks_guess_defragments(&read.defragments);
	if (!ret && !memcmp(&guard->hooks, &read, sizeof(read)))
		return UNCHANGED;
	if (!ret)
		guard->hooks = read;
	return ret;
}

static int open_xfrm(struct guard *guard)
{
	return xfrm_new(&guard->xfrm);
}

static bool follow_xfrm(struct guard *guard)
{
	return xfrm_follow(guard->xfrm);
}

static int read_xfrm(struct guard *guard, const struct links *links)
{
	struct policies *read;
	int ret = xfrm_read(guard->xfrm, &read);

	(void)links;
	if (ret)
		return ret;
	policies_free(guard->policies);
	guard->policies = read;
	guard->policies_version++;
	return 0;
}

static int open_tc(struct guard *guard)
{
	return tc_new(guard->rcvbuf_bytes, &guard->tc);
}

static bool follow_tc(struct guard *guard)
{
	return tc_follow(guard->tc);
}

static int read_tc(struct guard *guard, const struct links *links)
{
	struct queueing *read;
	int ret = tc_read(guard->tc, &read);

	(void)links;
	if (ret)
		return ret;
	queueing_free(guard->queueing);
	guard->queueing = read;
	return 0;
}

/* Programs and functions at devices, of which the kernel says nothing by itself. */
static int read_devices(struct guard *guard, const struct links *links)
{
	struct guard_device *read = calloc(links->n + 1, sizeof(*read));
	bool unchanged;
	size_t n = 0;
	int ret = read ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < links->n; i++) {
		const struct device *device = &links->devices[i];
		struct guard_device *at = &read[n];
		struct nf_hooks hooks = { 0 };

		if (!device->has_link)
			continue;
		at->ifindex = device->ifindex;
		ret = tc_read_tcx(device->ifindex, at->tcx_in, at->tcx_out);
		if (!ret)
			ret = nf_hooks_read_device(device->ifindex, device->link.name, &hooks);
		if (ret == -ENODEV) { /* a message about it is on its way */
			ret = 0;
			continue;
		}
		memcpy(at->hook_in, hooks.unknown[GUARD_HOOK_INGRESS], sizeof(at->hook_in));
		memcpy(at->hook_out, hooks.unknown[GUARD_HOOK_EGRESS], sizeof(at->hook_out));
		n += *at->tcx_in || *at->tcx_out || *at->hook_in || *at->hook_out;
	}
	if (ret) {
		free(read);
		return ret;
	}
	unchanged =
		n == guard->n_devices && (!n || !memcmp(read, guard->devices, n * sizeof(*read)));
	free(guard->devices);
	guard->devices = read;
	guard->n_devices = n;
	return unchanged ? UNCHANGED : 0;
}

static const struct source_kind kinds[GUARD_N_SOURCES] = {
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
				   .read = read_devices,
				   .cause = GUARD_TC,
				   .polled = true },
};

/* True: it holds back from now on what it did not. */
static bool set_stale(struct guard_source *source)
{
	bool was = source->stale;

	source->stale = true;
	return !was;
}

/* False: what was read is what was known. */
static bool read_source(struct guard *guard, enum guard_source_kind kind, const struct links *links)
{
	struct guard_source *source = &guard->sources[kind];
	uint64_t start_cpu_ns = util_cpu_ns();
	int ret = kinds[kind].open && !source->opened ? kinds[kind].open(guard) : 0;
	bool unchanged;

	source->opened |= !ret;
	source->wanted = false;
	guard->reading_ns = util_now_ns();
	if (!ret)
		ret = kinds[kind].read(guard, links);
	guard->reading_ns = 0;
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

/* True: something may be another than before. Sets *due_ns lower if there is more to do. */
static bool run_source(struct guard *guard, enum guard_source_kind kind, const struct links *links,
		       uint64_t *due_ns)
{
	struct guard_source *source = &guard->sources[kind];
	uint64_t now_ns = util_now_ns();

	if (source->opened && kinds[kind].follow)
		source->wanted |= kinds[kind].follow(guard);
	if (!source->wanted)
		return false;
	if (now_ns < source->next_ns) {
		if (source->next_ns < *due_ns)
			*due_ns = source->next_ns;
		return !kinds[kind].polled && source->next_ns - now_ns > SLOW_NS &&
		       set_stale(source);
	}
	if (!kinds[kind].polled && source->took_ns > SLOW_NS && set_stale(source)) {
		*due_ns = 0;
		return true;
	}
	return read_source(guard, kind, links);
}

bool guard_run(struct guard *guard, const struct links *links, uint64_t *due_ns)
{
	bool changed = false;

	*due_ns = UINT64_MAX;
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		if (!guard_bypasses(guard, kinds[kind].cause))
			changed |= run_source(guard, kind, links, due_ns);
	if (changed)
		guard_judge(guard, links);
	return changed;
}

void guard_set_slow(struct guard *guard, void (*slow)(void *ctx), void *ctx)
{
	guard->slow = slow;
	guard->slow_ctx = ctx;
}

void guard_poll(struct guard *guard)
{
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		guard->sources[kind].wanted |= kinds[kind].polled || guard->sources[kind].error;
}

/* --- coming and going ---------------------------------------------------------------- */

int guard_new(uint32_t bypassed, size_t rcvbuf_bytes, struct guard **out)
{
	struct guard *guard = calloc(1, sizeof(*guard));

	if (!guard)
		return -ENOMEM;
	guard->bypassed = bypassed;
	guard->rcvbuf_bytes = rcvbuf_bytes;
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		guard->sources[kind].wanted = true;
	*out = guard;
	return 0;
}

void guard_free(struct guard *guard)
{
	if (!guard)
		return;
	nf_tables_free(guard->nf_tables);
	xfrm_free(guard->xfrm);
	tc_free(guard->tc);
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		guard_ruleset_free(guard->rules[i]);
	policies_free(guard->policies);
	queueing_free(guard->queueing);
	free(guard->devices);
	free(guard->classes);
	free(guard->pairs);
	free(guard);
}

void guard_fds(const struct guard *guard, int fds[GUARD_FDS])
{
	fds[0] = guard->nf_tables ? nf_tables_fd(guard->nf_tables) : -1;
	fds[1] = guard->xfrm ? xfrm_fd(guard->xfrm) : -1;
	fds[2] = guard->tc ? tc_fd(guard->tc) : -1;
}

const struct policies *guard_policies(const struct guard *guard)
{
	return guard->policies;
}

uint64_t guard_policies_version(const struct guard *guard)
{
	return guard->policies_version;
}

const char *guard_unread(const struct guard *guard, enum guard_cause cause, char *reason)
{
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++) {
		const struct guard_source *source = &guard->sources[kind];

		if (kinds[kind].cause != cause || guard_bypasses(guard, cause))
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
