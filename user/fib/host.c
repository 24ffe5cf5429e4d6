// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the map says of a host: what its origins say, with the next hops and slots that this
 * leads to, got before the map names them and given back after it does so no more. Whatever is
 * lacking, the host is the kernel's meanwhile. Knows the trie only as what is asked for there.
 */
#include <errno.h>

#include "host.h"

/* --- what it leads to ------------------------------------------------------------------------- */

void fib_host_drop_parts(struct fib *fib, struct fib_host_parts *parts)
{
	if (parts->hop)
		fib_next_hop_unwant(fib, parts->hop);
	if (parts->under_neigh)
		fib_neigh_put(fib, parts->under_neigh);
	if (parts->under_port)
		fib_port_put(fib, parts->under_port);
	*parts = (struct fib_host_parts){ 0 };
}

/* The next hop of that meaning, as members of groups have it. False: it is lacking, or starved. */
static bool get_hop(struct fib *fib, struct fib_host_parts *parts, const struct fib_hop *said)
{
	const struct fib_key_hop hop = fib_key_hop(said);
	struct fib_leaf_key leaf;

	fib_key_of_hop(&leaf, &hop);
	if (fib_next_hop_want(fib, &leaf.key, &parts->hop))
		parts->hop = NULL;
	return parts->hop && parts->hop->id;
}

/* The slots by which a fate tells this hop from others. Held, so that they stay its own. */
static bool get_under(struct fib *fib, struct fib_host_parts *parts, const struct fib_hop *said)
{
	parts->under_port = fib_port_get(fib, said->ifindex);
	if (parts->under_port && said->has_gateway)
		parts->under_neigh = fib_neigh_get(fib, said->ifindex, &said->gateway);
	return parts->under_port && (parts->under_neigh || !said->has_gateway);
}

static union sixlane_fate under_fate(const struct fib_host_parts *parts)
{
	return (union sixlane_fate){
		.kind = SIXLANE_FORWARD,
		.port = (uint16_t)parts->under_port->slot,
		.neighbour = parts->under_neigh ? parts->under_neigh->slot : 0,
	};
}

/* --- who counts ------------------------------------------------------------------------------ */

/* What the origins say that counts: of those that are but observed nothing, unless all are. */
struct voices {
	const struct fib_exception *kernel, *oper;
	bool observed;
};

static const struct fib_exception *voice(const struct fib_host *host, enum fib_origin origin,
					 bool observed)
{
	const struct fib_word *word = &host->words[origin];

	return word->there && word->said.observe == observed ? &word->said : NULL;
}

static struct voices voices_of(const struct fib_host *host)
{
	struct voices voices = { voice(host, FIB_KERNEL, false), voice(host, FIB_OPERATOR, false),
				 false };

	if (voices.kernel || voices.oper)
		return voices;
	return (struct voices){ voice(host, FIB_KERNEL, true), voice(host, FIB_OPERATOR, true),
				true };
}

static uint32_t mtu_of(const struct fib_exception *said)
{
	return said->mtu && said->mtu < FIB_MIN_MTU ? FIB_MIN_MTU : said->mtu;
}

static void take(struct sixlane_exception *content, const struct fib_exception *said)
{
	content->mtu = mtu_of(said);
	content->expires_ns = said->expires_ns;
	if (said->mtu)
		content->flags |= SIXLANE_EXCEPTION_MTU;
	if (said->mtu && said->mtu_locked)
		content->flags |= SIXLANE_EXCEPTION_LOCKED;
	if (said->punt)
		content->flags |= SIXLANE_EXCEPTION_PUNT;
	if (said->confirm_ns || said->gone_ns)
		content->flags |= SIXLANE_EXCEPTION_MORE;
}

/* NULL: there are several, or none that leads out. */
static const struct fib_key_hop *only_hop(const struct fib_next_hop *route)
{
	if (route->object && route->object->def)
		return fib_object_only_hop(route->object);
	return route->key.n == 1 && route->key.kind != FIB_SOURCES ? fib_key_hops(&route->key)
								   : NULL;
}

/* The route has one hop, which is not the one that the kernel speaks of. */
static bool goes_elsewhere(const struct fib_next_hop *route, const struct fib_hop *under)
{
	const struct fib_key_hop hop = fib_key_hop(under);
	const struct fib_key_hop *only = route ? only_hop(route) : NULL;

	return only && !fib_key_hop_is(only, &hop);
}

static bool is_by_source(const struct fib_next_hop *route)
{
	return route && (route->key.kind == FIB_SOURCES || route->set);
}

static bool is_in_doubt(const struct fib_host *host, const struct fib_next_hop *route)
{
	return host->doubtful || is_by_source(route);
}

/*
 * Beside the operator's word: whether packets that it lets through may meet with more in the
 * kernel. By the operator's next hop they do not, since the kernel speaks of those of its route.
 */
static bool has_more(const struct fib_host *host, const struct fib_next_hop *route,
		     const struct voices *voices)
{
	const struct fib_exception *kernel = voices->kernel;

	if (voices->oper->has_hop)
		return false;
	if (host->lost || kernel->punt || kernel->has_hop || is_in_doubt(host, route))
		return true;
	return kernel->mtu && mtu_of(kernel) < mtu_of(voices->oper) &&
	       !(kernel->has_under && goes_elsewhere(route, &kernel->under));
}

/* The kernel's word alone. False: something is lacking for it. */
static bool take_kernel(struct fib *fib, const struct fib_host *host,
			const struct fib_next_hop *route, const struct fib_exception *said,
			struct fib_host_parts *parts, struct sixlane_exception *content)
{
	take(content, said);
	if (is_in_doubt(host, route))
		content->flags |= SIXLANE_EXCEPTION_PUNT;
	if (!said->has_under)
		return true;
	if (!get_under(fib, parts, &said->under))
		return false;
	content->under = under_fate(parts);
	content->flags |= SIXLANE_EXCEPTION_UNDER;
	return true;
}

/* The kernel is to be asked whether it goes on, and so long it has no end. */
static bool is_held(const struct fib_host *host)
{
	const struct fib_word *kernel = &host->words[FIB_KERNEL];

	return kernel->there && kernel->said.confirm_ns && host->doubtful;
}

/*
 * What the map should say: the operator's word if there is one, and what it leaves to the kernel
 * then is the kernel's packet. False: something is lacking for that, and it is a punt.
 */
static bool compose(struct fib *fib, const struct fib_host *host, struct fib_host_parts *parts,
		    struct sixlane_exception *content)
{
	const struct fib_next_hop *route = fib_host_route(host);
	const struct voices voices = voices_of(host);
	const struct fib_exception *said = voices.oper ?: voices.kernel;
	bool whole = true;

	*content = (struct sixlane_exception){ 0 };
	if (host->words[FIB_KERNEL].there)
		content->flags |= SIXLANE_EXCEPTION_KERNEL;
	if (host->words[FIB_OPERATOR].there)
		content->flags |= SIXLANE_EXCEPTION_OPERATOR;
	if (voices.oper)
		take(content, voices.oper);
	else if (voices.kernel)
		whole = take_kernel(fib, host, route, voices.kernel, parts, content);
	if (voices.oper && (voices.kernel || host->lost)) {
		content->flags |= SIXLANE_EXCEPTION_MORE;
		if (has_more(host, route, &voices))
			content->flags |= SIXLANE_EXCEPTION_PUNT;
	}
	if (said && said->has_hop && get_hop(fib, parts, &said->hop)) {
		content->next_hop = parts->hop->id;
		content->flags |= SIXLANE_EXCEPTION_NEXT_HOP;
	} else if (said && said->has_hop) {
		whole = false;
	}
	if (!whole || (host->lost && !voices.oper))
		content->flags |= SIXLANE_EXCEPTION_PUNT;
	if (voices.observed) {
		content->flags &= ~(SIXLANE_EXCEPTION_PUNT | SIXLANE_EXCEPTION_MORE);
		content->flags |= SIXLANE_EXCEPTION_OBSERVE;
	} else if (content->flags & SIXLANE_EXCEPTION_PUNT) {
		/* Wherever the route leads, and until it is known what holds. */
		content->flags &= ~SIXLANE_EXCEPTION_UNDER;
		if (!voices.oper && is_held(host))
			content->expires_ns = 0;
	}
	return whole;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool is_same(const struct sixlane_exception *a, const struct sixlane_exception *b)
{
	return a->flags == b->flags && a->mtu == b->mtu && a->next_hop == b->next_hop &&
	       a->under.word == b->under.word && a->expires_ns == b->expires_ns;
}

static void set_written(struct fib *fib, struct fib_host *host, bool written)
{
	fib->hosts.n_written += written;
	fib->hosts.n_written -= host->written;
	host->written = written;
}

static int write_value(struct fib *fib, struct fib_host *host,
		       const struct sixlane_exception *content)
{
	const struct sixlane_exception_key key = fib_host_key(host);
	int err = -ENOMEM;

	for (int i = 0; i < FIB_ENOMEM_TRIES && err == -ENOMEM; i++) {
		err = fib->writer.exception_set(fib->writer.ctx, &key, content);
		fib->write_errors += err != 0;
	}
	if (err)
		return err;
	set_written(fib, host, true);
	host->content = *content;
	return 0;
}

static int delete_value(struct fib *fib, struct fib_host *host)
{
	const struct sixlane_exception_key key = fib_host_key(host);
	int err = fib->writer.exception_del(fib->writer.ctx, &key);

	if (err && err != -ENOENT) {
		fib->write_errors++;
		return err;
	}
	set_written(fib, host, false);
	return 0;
}

static void set_failed(struct fib *fib, struct fib_host *host, bool failed)
{
	fib->hosts.n_failed += failed;
	fib->hosts.n_failed -= host->failed;
	host->failed = failed;
}

void fib_host_settle(struct fib *fib, struct fib_host *host)
{
	struct fib_host_parts parts = { 0 }, old = host->parts;
	struct sixlane_exception content;
	bool said = fib_host_is_said(host), whole = true;
	int err = 0;

	if (said) {
		whole = compose(fib, host, &parts, &content);
		/* What failed may have been done by half. */
		if (!host->written || host->stuck || !is_same(&host->content, &content))
			err = write_value(fib, host, &content);
	} else if (host->written) {
		err = delete_value(fib, host);
	}
	if (!err)
		host->parts = parts;
	fib_host_drop_parts(fib, err ? &parts : &old);
	if (said && !host->written)
		fib_missing_add(fib, &host->node.prefix.addr, false);
	fib_host_count(host, said && !host->written, err && host->written);
	set_failed(fib, host, err || !whole);
}

void fib_host_doubt(struct fib *fib, struct fib_host *host)
{
	if (!host->words[FIB_KERNEL].there)
		return;
	host->doubtful = true;
	host->doubted_in = fib->hosts.generation[FIB_KERNEL];
	fib->hosts.n_doubted++;
	fib_list_unlink(&host->doubts);
	fib_list_append(&fib->hosts.doubts, &host->doubts);
	fib_host_settle(fib, host);
	fib_host_place(fib, host);
}
