// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions that an earlier daemon left in the map. They stay in effect as they are until those
 * who said them do so anew, or have done and did not mention them; what cannot be understood is
 * punted, as is what an operator's MTU lets through where the kernel said something, too. A next
 * hop that one names is held from the moment on at which it is taken in.
 */
#include <errno.h>

#include "host.h"

#define ORIGINS (SIXLANE_EXCEPTION_KERNEL | SIXLANE_EXCEPTION_OPERATOR)
#define KNOWN_FLAGS                                                                                \
	(ORIGINS | SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_LOCKED | \
	 SIXLANE_EXCEPTION_UNDER | SIXLANE_EXCEPTION_PUNT | SIXLANE_EXCEPTION_OBSERVE |            \
	 SIXLANE_EXCEPTION_MORE)

/* --- taking in -------------------------------------------------------------------------------- */

/* Nobody can have written it so, and what the kernel has there is not known. */
static void refuse(struct fib *fib, const struct sixlane_exception_key *key)
{
	const struct fib_exception unknown = { 0 };

	fib_lost_add(fib, key, &unknown, false);
	fib->writer.exception_del(fib->writer.ctx, key);
}

static void adopt_word(struct fib_host *host, enum fib_origin origin, uint32_t flag)
{
	host->words[origin].there = host->content.flags & flag;
}

int fib_adopt_exception(struct fib *fib, const struct sixlane_exception_key *key,
			const struct sixlane_exception *value)
{
	struct fib_next_hop *hop = NULL;
	struct fib_host *host;

	fib->adopted = true;
	if (key->zero || !(value->flags & ORIGINS)) {
		refuse(fib, key);
		return -EINVAL;
	}
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		hop = fib_adopt_id(fib, value->next_hop);
		if (!hop)
			return -ENOMEM;
	}
	host = fib_host_get(fib, key->table, &key->dst);
	if (!host)
		return -ENOMEM;
	host->content = *value;
	host->written = true;
	fib->hosts.n_written++;
	adopt_word(host, FIB_KERNEL, SIXLANE_EXCEPTION_KERNEL);
	adopt_word(host, FIB_OPERATOR, SIXLANE_EXCEPTION_OPERATOR);
	if (hop)
		hop->wanted++;
	host->parts.hop = hop;
	return 0;
}

/* --- understanding ---------------------------------------------------------------------------- */

static struct fib_hop hop_of(const struct fib_key_hop *hop)
{
	return (struct fib_hop){ .gateway = hop->gateway,
				 .ifindex = hop->ifindex,
				 .has_gateway = hop->has_gateway };
}

/* A next hop like those that exceptions are given. */
static bool understand_hop(struct fib *fib, const struct fib_next_hop *next_hop,
			   struct fib_exception *said)
{
	const struct sixlane_next_hop *content = &next_hop->content;
	struct fib_key_hop hop;

	if (!next_hop->valid || content->flags || content->mtu || content->expires_ns ||
	    !fib_adopt_hop(fib, content->fate, &hop))
		return false;
	said->has_hop = true;
	said->hop = hop_of(&hop);
	return true;
}

static bool understand_under(struct fib *fib, union sixlane_fate under, struct fib_exception *said)
{
	struct fib_key_hop hop;

	if (!fib_adopt_hop(fib, under, &hop))
		return false;
	said->has_under = true;
	said->under = hop_of(&hop);
	return true;
}

static bool is_operators(const struct sixlane_exception *content)
{
	return content->flags & SIXLANE_EXCEPTION_OPERATOR;
}

static bool understand(struct fib *fib, const struct fib_host *host, struct fib_exception *said)
{
	const struct sixlane_exception *content = &host->content;
	bool has_mtu = content->flags & SIXLANE_EXCEPTION_MTU;
	bool more = content->flags & SIXLANE_EXCEPTION_MORE && !is_operators(content);

	*said = (struct fib_exception){
		.mtu = has_mtu ? content->mtu : 0,
		.mtu_locked = content->flags & SIXLANE_EXCEPTION_LOCKED,
		.punt = content->flags & SIXLANE_EXCEPTION_PUNT,
		.observe = content->flags & SIXLANE_EXCEPTION_OBSERVE,
		.expires_ns = content->expires_ns,
		.gone_ns = more && has_mtu ? content->expires_ns : 0,
		.confirm_ns = more && !has_mtu ? content->expires_ns : 0,
	};
	if (content->flags & ~KNOWN_FLAGS || (has_mtu && content->mtu < FIB_MIN_MTU))
		return false;
	if (content->flags & SIXLANE_EXCEPTION_UNDER &&
	    !understand_under(fib, content->under, said))
		return false;
	return !host->parts.hop || understand_hop(fib, host->parts.hop, said);
}

/* Beside the operator's word the map tells only that the kernel says something that counts. */
static struct fib_exception kernels_part(const struct sixlane_exception *content,
					 const struct fib_exception *said)
{
	struct fib_exception kernel = *said;

	if (content->flags & SIXLANE_EXCEPTION_MORE && is_operators(content))
		kernel = (struct fib_exception){ .punt = true };
	else
		kernel.observe |= (content->flags & ORIGINS) == ORIGINS;
	return kernel;
}

static void understand_host(struct fib *fib, struct fib_host *host, void *ctx)
{
	struct fib_exception said;

	(void)ctx;
	if (!understand(fib, host, &said))
		said = (struct fib_exception){ .punt = true,
					       .expires_ns = said.expires_ns,
					       .gone_ns = said.gone_ns,
					       .confirm_ns = said.confirm_ns };
	host->words[FIB_OPERATOR].said = said;
	host->words[FIB_KERNEL].said = kernels_part(&host->content, &said);
	/* as the earlier daemon had it */
	host->lost &= said.punt || (host->content.flags & SIXLANE_EXCEPTION_MORE &&
				    is_operators(&host->content));
	host->moved = host->untold = said.punt && !is_operators(&host->content);
	if (host->words[FIB_KERNEL].there)
		fib_list_append(&fib->hosts.doubts, &host->doubts);
	fib_host_update(fib, host);
}

/* A daemon that ended in between may have left marks too many, or, before what they are for, none.
 */
static void mark(struct fib *fib, struct fib_entry *entry)
{
	if (fib_entry_marks(fib, entry) >> SIXLANE_ROUTE_MARKS_SHIFT != entry->marks)
		fib_owner_settle(fib, entry);
}

void fib_adopt_hosts(struct fib *fib)
{
	fib_lost_adopt_finish(fib);
	fib_host_each(fib, understand_host, NULL);
	fib_entry_each(fib, mark);
	fib_host_trim(fib);
}
