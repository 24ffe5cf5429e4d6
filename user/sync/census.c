// SPDX-License-Identifier: GPL-2.0-only
/*
 * What dumps of routes may have left out: see rib_untold(). Counts fib6's own routes, level by
 * level, with a BPF iterator (census.bpf.c), and tells the RIB, which is to know as many.
 *
 * What changed while it was counted is counted again after a second, as is what a count has just
 * found. Until it is settled, the packets concerned are the kernel's.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "census.h"
#include "state.h"

#define AGAIN_NS 1000000000u
#define ROOM_TO_SPARE 1024u /* for levels that the RIB does not know yet */

__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"census_object: .incbin \"" SIXLANE_CENSUS_OBJECT "\"\n"
	"census_object_end: .balign 8\n"
	"census_object_bytes: .quad census_object_end - census_object\n"
	".popsection\n");
extern const char census_object[];
extern const uint64_t census_object_bytes;

struct census {
	struct bpf_object *object;
	struct census_level *levels;
	size_t room, bytes;
};

static void census_close(struct census *census)
{
	if (census->levels)
		munmap(census->levels, census->bytes);
	bpf_object__close(census->object);
}

/* room: for so many levels. 0 or -errno. */
static int census_open(struct census *census, size_t room)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct bpf_map *map;
	void *levels;
	int ret;

	census->object = bpf_object__open_mem(census_object, census_object_bytes, NULL);
	if (!census->object)
		return -errno;
	map = bpf_object__find_map_by_name(census->object, CENSUS_LEVELS);
	ret = bpf_map__set_max_entries(map, (uint32_t)room);
	if (!ret)
		ret = bpf_object__load(census->object);
	if (ret)
		return ret;
	census->room = room;
	census->bytes = (room * sizeof(*census->levels) + page - 1) / page * page;
	levels = mmap(NULL, census->bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
	if (levels == MAP_FAILED)
		return -errno;
	census->levels = levels;
	return 0;
}

/* Walk through all tables of this namespace. 0 or -errno. */
static int census_walk(const struct census *census)
{
	struct bpf_program *program = bpf_object__next_program(census->object, NULL);
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	_cleanup_close_ int fd = -1;
	ssize_t got;
	int ret = 0;
	char none;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		ret = -errno;
	/* -EAGAIN after every million of routes: bpf_seq_read() */
	while (!ret && (got = read(fd, &none, sizeof(none))))
		ret = got < 0 && errno != EAGAIN ? -errno : 0;
	bpf_link__destroy(link);
	return ret;
}

static void census_tell(const struct census *census, struct rib *rib)
{
	const struct census_level *end = census->levels + census->room;

	for (const struct census_level *l = census->levels; l < end && l->n; l++) {
		struct route level = { .table = l->table, .metric = l->metric };

		memcpy(level.dst.addr.bytes, l->dst, sizeof(l->dst));
		memcpy(level.src.addr.bytes, l->src, sizeof(l->src));
		level.dst.len = l->dst_len;
		level.src.len = l->src_len;
		rib_count(rib, &level, l->n);
	}
}

static int take_census(struct sync *sync)
{
	struct census census = { 0 };
	int ret = census_open(&census, rib_routes(sync->rib) + ROOM_TO_SPARE);

	rib_count_begin(sync->rib);
	if (!ret)
		ret = census_walk(&census);
	/* what changed under the walk has come by now */
	if (!ret && sync_follow(sync))
		census_tell(&census, sync->rib);
	census_close(&census);
	return ret;
}

static void report(size_t before, size_t beside)
{
	if (beside && !before)
		log_warning(
			"%zu multipath routes have others of the same metric between their hops, which dumps leave out: the kernel forwards to them (punt_equal_metric); delete those others, or give them another metric",
			beside);
	else if (before && !beside)
		log_info("no dump leaves routes out any more");
}

void census_run(struct sync *sync)
{
	const size_t before = sync->routes_beside;
	int ret;

	sync->next_census_ns = UINT64_MAX;
	if (rib_untold(sync->rib)) {
		ret = take_census(sync);
		if (ret)
			log_warning_limited(
				"cannot count the kernel's routes (%s): multipath routes that were read from a dump are left to the kernel, since a dump may leave out others beside them; needs a kernel with BTF and IPv6 built in, and CAP_PERFMON",
				strerror(-ret));
		else if (rib_untold(sync->rib) > rib_beside(sync->rib) ||
			 rib_beside(sync->rib) > before)
			sync->next_census_ns = util_now_ns() + AGAIN_NS;
	}
	sync->routes_beside = rib_beside(sync->rib);
	report(before, sync->routes_beside);
}
