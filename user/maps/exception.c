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

/* Values are per CPU in sl_exceptions. */
_Static_assert(sizeof(struct sixlane_exception) % 8 == 0, "the kernel pads values to 8 bytes");
_Static_assert(sizeof(struct sixlane_operator) % 8 == 0, "likewise");

/* --- readers ---------------------------------------------------------------------------------- */

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

/* --- operator --------------------------------------------------------------------------------- */

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

/* If the CLI replaces the entry meanwhile, the new one is put back, unless there is a newer one. */
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

/* --- the writer ------------------------------------------------------------------------------- */

/* Write the same on all CPUs. What they have counted since the values were read is lost. */
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

/* Of the words that packets read, only the first one (flags, mtu) or only expires_ns differs. */
static bool one_word_apart(const struct sixlane_exception *a, const struct sixlane_exception *b)
{
	bool first = a->flags == b->flags && a->mtu == b->mtu;

	return a->next_hop == b->next_hop && a->check == b->check && a->table == b->table &&
	       (first || a->expires_ns == b->expires_ns);
}

/*
 * A change of more than one word takes three steps. First all packets pass (CHANGING), and in the
 * end the version is new, so that no packet uses half of each value. If a later step fails, which
 * an update in place has no reason to do, packets go on passing.
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
 * The memory of a new entry comes from a reserve that a kernel thread refills within milliseconds.
 * So an insertion waits for it, unless the last wait was in vain: then memory is short.
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
	struct sixlane_exception content = *value;

	if (!values)
		return -ENOMEM;
	content.check = sixlane_exception_check(dst);
	if (!bpf_map_lookup_elem(maps->fd[LOADER_EXCEPTIONS], dst, values))
		return change(maps, dst, values, &content);
	if (errno != ENOENT)
		return -errno;
	content.added_ns = content.added_ns ?: util_now_ns();
	content.flags |= (uint32_t)++maps->version << SIXLANE_EXCEPTION_VERSION_SHIFT;
	return insert(maps, dst, values, &content);
}

int maps_write_exception_del(struct maps *maps, const union sixlane_addr *dst)
{
	return maps_erase(maps, LOADER_EXCEPTIONS, dst);
}
