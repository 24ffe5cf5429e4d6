// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exception.h. The datapath reads a value of sl_exceptions while the kernel copies a new one
 * over it word by word, and the memory of a deleted entry may become another's at once. Hence the
 * version and the check that readers compare (see struct sixlane_exception): only this file knows
 * of both.
 *
 * Invariant: a destination with an entry has its bits in sl_punted; packets do not find it before.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "access.h"

#define REFILL_STEP_NS 500000
#define REFILL_STEPS 40

/* A walk of sl_operator has one value an entry, of sl_exceptions one of each CPU. */
_Static_assert(sizeof(struct sixlane_exception) % 8 == 0, "the kernel pads values to 8 bytes");
_Static_assert(sizeof(struct sixlane_operator) % 8 == 0, "likewise");

/* --- readers ----------------------------------------------------------------------------- */

static struct sixlane_exception sum_up(const struct sixlane_exception *values, size_t n)
{
	struct sixlane_exception sum = values[0];

	sum.flags &= ~SIXLANE_EXCEPTION_VERSION;
	sum.check = 0;
	for (size_t cpu = 1; cpu < n; cpu++) {
		sum.hits += values[cpu].hits;
		sum.bytes += values[cpu].bytes;
		if (values[cpu].used_ns > sum.used_ns)
			sum.used_ns = values[cpu].used_ns;
	}
	return sum;
}

int maps_exception(const struct maps *maps, const union sixlane_addr *dst,
		   struct sixlane_exception *out)
{
	_cleanup_free_ struct sixlane_exception *values = calloc(maps->n_cpus, sizeof(*values));

	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(maps->fd[LOADER_EXCEPTIONS], dst, values))
		return -errno;
	*out = sum_up(values, maps->n_cpus);
	return 0;
}

struct exception_each {
	size_t n_cpus;
	maps_exception_fn fn;
	void *ctx;
};

static int each_exception(void *ctx, const void *key, const void *value)
{
	const struct exception_each *each = ctx;
	const struct sixlane_exception sum = sum_up(value, each->n_cpus);

	return each->fn(each->ctx, key, &sum);
}

int maps_exception_each(const struct maps *maps, maps_exception_fn fn, void *ctx)
{
	struct exception_each each = { maps->n_cpus, fn, ctx };

	return maps_walk(&(struct maps_walk){
		.fd = maps->fd[LOADER_EXCEPTIONS],
		.key_bytes = sizeof(union sixlane_addr),
		.value_bytes = maps->n_cpus * sizeof(struct sixlane_exception),
		.fn = each_exception,
		.ctx = &each,
	});
}

/* --- the operator's ---------------------------------------------------------------------- */

int maps_operator(const struct maps *maps, const union sixlane_addr *dst,
		  struct sixlane_operator *out)
{
	return bpf_map_lookup_elem(maps->fd[LOADER_OPERATOR], dst, out) ? -errno : 0;
}

int maps_operator_set(const struct maps *maps, const union sixlane_addr *dst,
		      const struct sixlane_operator *value, bool replace)
{
	const __u64 flags = replace ? BPF_ANY : BPF_NOEXIST;

	return bpf_map_update_elem(maps->fd[LOADER_OPERATOR], dst, value, flags) ? -errno : 0;
}

int maps_operator_del(const struct maps *maps, const union sixlane_addr *dst)
{
	return maps_erase(maps, LOADER_OPERATOR, dst);
}

struct operator_each {
	maps_operator_fn fn;
	void *ctx;
};

static int each_operator(void *ctx, const void *key, const void *value)
{
	const struct operator_each *each = ctx;

	return each->fn(each->ctx, key, value);
}

int maps_operator_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		       void *ctx)
{
	struct operator_each each = { fn, ctx };
	const struct maps_walk walk = {
		.fd = maps->fd[LOADER_OPERATOR],
		.key_bytes = sizeof(union sixlane_addr),
		.value_bytes = sizeof(struct sixlane_operator),
		.fn = each_operator,
		.ctx = &each,
	};

	return maps_walk_some(&walk, cursor);
}

/* Another one that the CLI has just put in its place comes back, unless yet another is there. */
void maps_operator_expire(const struct maps *maps, const union sixlane_addr *dst, uint64_t now_ns)
{
	const int fd = maps->fd[LOADER_OPERATOR];
	struct sixlane_operator was;

	if (bpf_map_lookup_elem(fd, dst, &was) || !was.expires_ns || was.expires_ns > now_ns ||
	    bpf_map_lookup_and_delete_elem(fd, dst, &was))
		return;
	if (!was.expires_ns || was.expires_ns > now_ns)
		bpf_map_update_elem(fd, dst, &was, BPF_NOEXIST);
}

/* --- the writer -------------------------------------------------------------------------- */

/* The same on all CPUs. What these have counted since the values were read is lost. */
static int write_cpus(const struct maps *maps, const union sixlane_addr *dst,
		      struct sixlane_exception *values, const struct sixlane_exception *value)
{
	int rc;

	for (size_t cpu = 0; cpu < maps->n_cpus; cpu++) {
		const struct sixlane_exception was = values[cpu];

		values[cpu] = *value;
		values[cpu].hits = was.hits;
		values[cpu].bytes = was.bytes;
		values[cpu].used_ns = was.used_ns;
	}
	rc = maps_update(maps, LOADER_EXCEPTIONS, dst, values);
	return rc == -E2BIG ? -ENOSPC : rc;
}

/* They differ in the first of the words that packets go by alone, or in the last. */
static bool one_word_apart(const struct sixlane_exception *a, const struct sixlane_exception *b)
{
	bool first = a->flags == b->flags && a->mtu == b->mtu;

	return a->next_hop == b->next_hop && a->check == b->check && a->table == b->table &&
	       (first || a->expires_ns == b->expires_ns);
}

/*
 * An entry that is there is changed in three steps if one will not do: all packets the kernel's
 * first, and of another version when it is done, so that nobody takes half of each for something.
 * Should a later step fail, which an update in place has no reason to, they go on to the kernel.
 */
static int change(const struct maps *maps, const union sixlane_addr *dst,
		  struct sixlane_exception *values, struct sixlane_exception *value)
{
	struct sixlane_exception first = values[0], second;
	uint32_t version = first.flags & SIXLANE_EXCEPTION_VERSION;

	value->added_ns = value->added_ns ?: first.added_ns;
	value->flags |= version;
	if (one_word_apart(&first, value))
		return write_cpus(maps, dst, values, value);
	version += 1u << SIXLANE_EXCEPTION_VERSION_SHIFT;
	value->flags = (value->flags & ~SIXLANE_EXCEPTION_VERSION) | version;
	second = *value;
	first.flags = second.flags = value->flags | SIXLANE_EXCEPTION_CHANGING;
	return write_cpus(maps, dst, values, &first) ?: write_cpus(maps, dst, values, &second)
		       ?: write_cpus(maps, dst, values, value);
}

/*
 * A new entry's memory comes from a reserve that a kernel thread refills: having waited some
 * milliseconds for it there is some, or none for a long time, and then nobody waits again in vain.
 */
static int insert(struct maps *maps, const union sixlane_addr *dst,
		  struct sixlane_exception *values, const struct sixlane_exception *value)
{
	const struct timespec step = { .tv_nsec = REFILL_STEP_NS };
	int rc = write_cpus(maps, dst, values, value);

	for (int i = 0; rc == -ENOMEM && !maps->no_memory && i < REFILL_STEPS; i++) {
		nanosleep(&step, NULL);
		rc = write_cpus(maps, dst, values, value);
	}
	maps->no_memory = rc == -ENOMEM;
	if (!rc)
		maps_punted_add(maps->punted, dst);
	return rc;
}

int maps_write_exception(struct maps *maps, const union sixlane_addr *dst,
			 const struct sixlane_exception *value)
{
	_cleanup_free_ struct sixlane_exception *values = calloc(maps->n_cpus, sizeof(*values));
	struct sixlane_exception said = *value;

	if (!values)
		return -ENOMEM;
	said.check = sixlane_exception_check(dst);
	if (!bpf_map_lookup_elem(maps->fd[LOADER_EXCEPTIONS], dst, values))
		return change(maps, dst, values, &said);
	if (errno != ENOENT)
		return -errno;
	said.added_ns = said.added_ns ?: util_now_ns();
	said.flags |= (uint32_t)++maps->version << SIXLANE_EXCEPTION_VERSION_SHIFT;
	return insert(maps, dst, values, &said);
}

int maps_write_exception_del(struct maps *maps, const union sixlane_addr *dst)
{
	return maps_erase(maps, LOADER_EXCEPTIONS, dst);
}
