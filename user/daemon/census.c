// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settles what dumps and announcements of routes leave open (see rib_untold()): asks fib6 itself
 * what it has there, by a BPF program that is embedded here (census.bpf.c). What equals what is
 * known needs no more; the rest stays the kernel's, and is asked again: after a second when
 * something changes there, and less and less often when nothing does.
 *
 * Equal at one moment is not enough: a message under way may speak of what was there before (a
 * replacement names no victim). It counts only if no message that came since speaks of that level.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "census.h"
#include "state.h"

#define WAIT_NS 1000000000u
#define MAX_WAIT_NS (64ull * WAIT_NS)

__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"census_object: .incbin \"" SIXLANE_CENSUS_OBJECT "\"\n"
	"census_object_end: .balign 8\n"
	"census_object_bytes: .quad census_object_end - census_object\n"
	".popsection\n");
extern const char census_object[];
extern const uint64_t census_object_bytes;

/* The program, and what came of the levels that it was asked about. */
struct asking {
	struct bpf_object *object;
	int prog_fd;
	struct census *census; /* its map */
	int err;
	size_t untellable; /* by any dump */
	size_t tellable;   /* the others: a dump would tell them */
};

static void asking_close(struct asking *asking)
{
	if (asking->census)
		munmap(asking->census, sizeof(*asking->census));
	bpf_object__close(asking->object);
}

/* 0 or -errno. */
static int asking_open(struct asking *asking)
{
	void *map;
	int ret;

	asking->object = bpf_object__open_mem(census_object, census_object_bytes, NULL);
	if (!asking->object)
		return -errno;
	ret = bpf_object__load(asking->object);
	if (ret)
		return ret;
	asking->prog_fd = bpf_program__fd(bpf_object__next_program(asking->object, NULL));
	map = mmap(NULL, sizeof(*asking->census), PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_object__find_map_fd_by_name(asking->object, CENSUS_MAP), 0);
	if (map == MAP_FAILED)
		return -errno;
	asking->census = map;
	return 0;
}

/* Whether fib6 has at this level what is known. */
static bool is_equal(const struct route *level, const struct level_sum *known, void *ctx)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct asking *asking = ctx;
	struct census *census = asking->census;

	if (asking->err)
		return false;
	memcpy(census->level.dst, level->dst.addr.bytes, sizeof(census->level.dst));
	memcpy(census->level.src, level->src.addr.bytes, sizeof(census->level.src));
	census->level.dst_len = level->dst.len;
	census->level.src_len = level->src.len;
	census->level.table = level->table;
	census->level.metric = level->metric;
	asking->err = bpf_prog_test_run_opts(asking->prog_fd, &run);
	if (asking->err)
		return false;
	if (census->answer.sum.n == known->n && census->answer.sum.sum == known->sum &&
	    !census->answer.unlike)
		return true;
	if (census->answer.between || census->answer.unlike)
		asking->untellable++;
	else
		asking->tellable++;
	return false;
}

static void report(struct sync *sync, const struct asking *asking)
{
	const size_t before = sync->untellable;

	if (asking->err) {
		log_warning_limited(
			"cannot run the kernel reader (%s): multipath routes from dumps may be incomplete and pass to the kernel; it needs BTF and CAP_PERFMON; sixlaned tries again in %llu s",
			strerror(-asking->err),
			(unsigned long long)(sync->census_wait_ns / WAIT_NS));
		return;
	}
	sync->untellable = asking->untellable;
	if (asking->untellable && !before)
		log_warning(
			"%zu multipath routes pass to the kernel (punt_equal_metric): a dump does not show all routes of their metric; use different metrics, equal MTU, lifetime, preference and type, or next-hop objects",
			asking->untellable);
	else if (before && !asking->untellable)
		log_info("all multipath routes are complete again");
}

void census_want(struct sync *sync)
{
	const uint64_t next_ns = util_now_ns() + WAIT_NS;

	sync->census_wanted = true;
	if (next_ns < sync->next_census_ns)
		sync->next_census_ns = next_ns;
}

/* False: more messages wait than could be applied now. */
static bool ask(struct sync *sync, struct asking *asking)
{
	bool all;

	asking->err = asking_open(asking);
	rib_compare(sync->rib, is_equal, asking);
	all = sync_follow(sync);
	if (all)
		rib_settle(sync->rib);
	asking_close(asking);
	return all;
}

void census_run(struct sync *sync, bool dumped)
{
	const bool wanted = sync->census_wanted;
	const size_t tellable = sync->tellable;
	struct asking asking = { 0 };
	uint64_t next_ns;
	bool all = true;

	sync->next_census_ns = UINT64_MAX;
	sync->census_wanted = false;
	if (rib_untold(sync->rib))
		all = ask(sync, &asking);
	report(sync, &asking);
	sync->tellable = dumped ? 0 : asking.tellable;
	if (!rib_untold(sync->rib)) {
		sync->census_wait_ns = WAIT_NS;
		return;
	}
	/* what was found twice, since one look may be at a change under way; and what changed, but
	 * cannot be looked at */
	if (dumped)
		sync->census_wanted |= asking.err && wanted;
	else if (asking.err && wanted)
		sync_want(sync, sync->census_wait_ns);
	else if (asking.tellable && tellable)
		sync_want(sync, SYNC_LATER_NS);
	next_ns = util_now_ns();
	if (!all || (sync->tellable && !tellable)) {
		next_ns += WAIT_NS;
	} else {
		next_ns += sync->census_wait_ns;
		if (sync->census_wait_ns < MAX_WAIT_NS)
			sync->census_wait_ns *= 2;
	}
	if (next_ns < sync->next_census_ns)
		sync->next_census_ns = next_ns;
}
