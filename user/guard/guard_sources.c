// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sources and their schedule. Sources without notifications are polled.
 */
#include "guard_sources.h"

#include <errno.h>
#include <string.h>

#include "ip6_tables.h"
#include "nf_tables.h"
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

static int read_nf_tables(struct guard_sources *sources)
{
	struct guard_ruleset *read;
	int ret = nf_tables_read(check_time, sources, &sources->parser, &read);

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

static int read_xfrm(struct guard_sources *sources)
{
	struct policies *read;
	int ret = xfrm_read(&read);

	if (ret)
		return ret;
	policies_free(sources->policies);
	sources->policies = read;
	sources->policies_version++;
	return 0;
}

static int read_tc(struct guard_sources *sources)
{
	struct queueing *read;
	int ret = tc_read(&read);

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
	int ret = tc_read_tcx(device->ifindex, false, out->tcx_in)
			  ?: tc_read_tcx(device->ifindex, true, out->tcx_out);

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
	const char *name;			    /* for people */
	const struct notifications *notifications;  /* NULL: it is polled */
	int (*read)(struct guard_sources *sources); /* NULL: read_devices() */
	enum guard_cause cause;
} kinds[GUARD_N_SOURCES] = {
	[GUARD_SOURCE_NF_TABLES] = { "nf_tables", &nf_tables_notifications, read_nf_tables,
				     GUARD_NETFILTER },
	[GUARD_SOURCE_IP6_TABLES] = { "ip6_tables", NULL, read_ip6_tables, GUARD_NETFILTER },
	[GUARD_SOURCE_HOOKS] = { "netfilter hooks", NULL, read_hooks, GUARD_NETFILTER },
	[GUARD_SOURCE_XFRM] = { "IPsec policies", &xfrm_notifications, read_xfrm, GUARD_XFRM },
	[GUARD_SOURCE_TC] = { "qdiscs and filters", &tc_notifications, read_tc, GUARD_TC },
	[GUARD_SOURCE_DEVICES] = { "programs at devices", NULL, NULL, GUARD_TC },
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
	bool polled = !kinds[kind].notifications, unchanged;
	int ret = 0;

	if (!polled && !source->opened)
		ret = notifications_open(kinds[kind].notifications, sources->rcvbuf_bytes,
					 &source->socket);
	source->opened |= !ret;
	source->pending = false;
	sources->reading_ns = util_now_ns();
	if (!ret)
		ret = kinds[kind].read ? kinds[kind].read(sources) : read_devices(sources, links);
	sources->reading_ns = 0;
	source->took_ns = util_cpu_ns() - start_cpu_ns;
	source->next_ns = util_now_ns() + (polled ? SHARE_POLLED : SHARE) * source->took_ns;
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
	bool polled = !kinds[kind].notifications;
	uint64_t now_ns = util_now_ns();

	if (!polled)
		source->pending |= notifications_read(kinds[kind].notifications, source->socket,
						      sources->parser);
	if (!source->pending)
		return false;
	if (now_ns < source->next_ns) {
		*due_ns = util_earlier(*due_ns, source->next_ns);
		return !polled && source->next_ns - now_ns > SLOW_NS && set_stale(source);
	}
	/* The caller punts first, and then comes back for the reading. */
	if (!polled && source->took_ns > SLOW_NS && set_stale(source)) {
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
		sources->state[kind].pending |=
			!kinds[kind].notifications || sources->state[kind].error;
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
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		nl_socket_free(sources->state[kind].socket);
	nf_parser_free(sources->parser);
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		guard_ruleset_free(sources->rules[i]);
	policies_free(sources->policies);
	queueing_free(sources->queueing);
	free(sources->devices);
}

void guard_sources_fds(const struct guard_sources *sources, int fds[3])
{
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		if (kinds[kind].notifications)
			*fds++ = sources->state[kind].socket
					 ? nl_socket_fd(sources->state[kind].socket)
					 : -1;
}
