// SPDX-License-Identifier: GPL-2.0-only
/* See run.h. The verdict is the one counter that rose: several verdicts have the same action. */
#include "run.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "paths.h"

struct loader_run {
	struct bpf_object *object;
	int prog_fd, counters_fd; /* the object's */
	int trace_fd;		  /* of sl_trace; -1: not the trace flavour */
	int n_cpus;
	struct sixlane_counters *cpus; /* [n_cpus] */
};

/* The maps that a run changes and others read: it gets new ones, which end with the object. */
static bool is_own(enum loader_map map)
{
	return map == LOADER_COUNTERS || map == LOADER_CPU || map == LOADER_ICMP_EVENTS ||
	       map == LOADER_SAMPLES;
}

/* Uses the pinned maps for all but its own. */
static int use_maps(struct bpf_object *object, const char *path, const struct loader_maps *maps,
		    char *err)
{
	struct bpf_map *map;
	int rc;

	for (int i = 0; i < LOADER_N_MAPS; i++) {
		map = bpf_object__find_map_by_name(object, loader_map_name(i));
		if (!map && !loader_map_is_required(i))
			continue;
		if (!map)
			return loader_fail(err, -EPROTO,
					   "%s has no map %s: it is not a sixlane object", path,
					   loader_map_name(i));
		rc = bpf_map__set_pin_path(map, NULL);
		if (!rc && !is_own(i))
			rc = bpf_map__reuse_fd(map, maps->fd[i]);
		if (rc)
			return loader_fail_errno(err, rc, "cannot use the pinned map %s",
						 loader_map_name(i));
	}
	return 0;
}

static int load(struct loader_run *run, const char *path, const struct loader_maps *maps, char *err)
{
	struct bpf_program *prog;
	int rc = use_maps(run->object, path, maps, err);

	if (!rc)
		rc = loader_object_load(run->object, path, NULL, &prog, err);
	if (rc)
		return rc;
	run->prog_fd = bpf_program__fd(prog);
	run->counters_fd =
		bpf_object__find_map_fd_by_name(run->object, loader_map_name(LOADER_COUNTERS));
	run->trace_fd = bpf_object__find_map_fd_by_name(run->object, "sl_trace");
	run->n_cpus = libbpf_num_possible_cpus();
	if (run->n_cpus > 0)
		run->cpus = calloc((size_t)run->n_cpus, sizeof(*run->cpus));
	return run->cpus ? 0 : loader_fail(err, -ENOMEM, "out of memory");
}

/* The object is open and not loaded. See trace_frags of bpf/sixlane.trace.bpf.c. */
static int set_trace_frags(struct bpf_object *object, const char *path, char *err)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.frags");
	struct bpf_program *prog = bpf_object__next_program(object, NULL);
	const uint32_t yes = 1;

	if (!map || !prog || bpf_map__set_initial_value(map, &yes, sizeof(yes)))
		return loader_fail(err, -EPROTO,
				   "%s is not sixlane's trace flavour: install it again", path);
	return bpf_program__set_flags(prog, bpf_program__flags(prog) | BPF_F_XDP_HAS_FRAGS);
}

static int open_and_load(const char *path, bool trace_frags, const struct loader_maps *maps,
			 struct loader_run **out, char *err)
{
	struct loader_run *run = calloc(1, sizeof(*run));
	int rc;

	if (!run)
		return loader_fail(err, -ENOMEM, "out of memory");
	rc = loader_object_open(path, &run->object, err);
	if (!rc && trace_frags)
		rc = set_trace_frags(run->object, path, err);
	if (!rc)
		rc = load(run, path, maps, err);
	if (rc) {
		loader_run_close(run);
		return rc;
	}
	*out = run;
	return 0;
}

int loader_run_open(const char *object, bool frags, const struct loader_maps *maps,
		    struct loader_run **out, char *err)
{
	char path[PATH_MAX], frags_path[PATH_MAX];

	object = loader_object_for(object, maps, path);
	if (frags && loader_flavour_path(object, "frags", frags_path))
		object = frags_path;
	return open_and_load(object, false, maps, out, err);
}

int loader_run_open_trace(const char *object, bool frags, const struct loader_maps *maps,
			  struct loader_run **out, char *err)
{
	char path[PATH_MAX];

	if (!loader_flavour_path(object, "trace", path))
		return loader_fail(
			err, -EINVAL,
			"\"%s\" does not end with .bpf.o, so sixlane.trace.bpf.o beside it is not found",
			object);
	return open_and_load(path, frags, maps, out, err);
}

void loader_run_close(struct loader_run *run)
{
	if (!run)
		return;
	bpf_object__close(run->object);
	free(run->cpus);
	free(run);
}

/* Returns the verdict that was counted in a slot, -ENOENT or -errno. Resets its counters. */
static int read_verdict(struct loader_run *run, uint32_t slot)
{
	int found = -ENOENT;

	if (bpf_map_lookup_elem(run->counters_fd, &slot, run->cpus))
		return -errno;
	for (int cpu = 0; cpu < run->n_cpus; cpu++) {
		for (int v = 0; v < SIXLANE_N_VERDICTS; v++) {
			if (run->cpus[cpu].verdicts[v].packets)
				found = v;
		}
	}
	if (found < 0)
		return found;
	memset(run->cpus, 0, (size_t)run->n_cpus * sizeof(*run->cpus));
	return bpf_map_update_elem(run->counters_fd, &slot, run->cpus, BPF_ANY) ? -errno : found;
}

static int find_verdict(struct loader_run *run, struct loader_run_result *out, char *err)
{
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++) {
		int verdict = read_verdict(run, slot);

		if (verdict == -ENOENT)
			continue;
		if (verdict < 0)
			return loader_fail_errno(err, verdict, "cannot read the counters");
		out->slot = slot;
		out->verdict = (uint32_t)verdict;
		return 0;
	}
	return loader_fail(err, -EPROTO, "the program counted no verdict: rebuild it");
}

static int run_frame(const struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, char *err)
{
	struct xdp_md ctx = { .data_end = (uint32_t)len, .ingress_ifindex = ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc;

	opts.data_in = frame;
	opts.data_size_in = (uint32_t)len;
	opts.data_out = out->frame;
	opts.data_size_out = sizeof(out->frame);
	opts.ctx_in = &ctx;
	opts.ctx_size_in = sizeof(ctx);
	opts.repeat = 1;
	libbpf_log_reset();
	rc = bpf_prog_test_run_opts(run->prog_fd, &opts);
	if (rc)
		return loader_fail_errno(
			err, rc,
			"cannot run a frame of %zu bytes through the program, which needs Linux 5.15; "
			"on a newer one try fewer bytes",
			len);
	out->action = opts.retval;
	out->len = opts.data_size_out;
	return 0;
}

int loader_run_frame(struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, char *err)
{
	int rc = run_frame(run, ifindex, frame, len, out, err);

	return rc ? rc : find_verdict(run, out, err);
}

int loader_run_trace(struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, struct sixlane_trace *trace, char *err)
{
	const struct sixlane_trace_record *end;
	uint32_t zero = 0;
	int rc = run_frame(run, ifindex, frame, len, out, err);

	if (rc)
		return rc;
	if (bpf_map_lookup_elem(run->trace_fd, &zero, trace))
		return loader_fail_errno(err, -errno, "cannot read what the program recorded");
	end = trace->n && trace->n <= SIXLANE_TRACE_RECORDS ? &trace->records[trace->n - 1] : NULL;
	if (!end || trace->dropped || end->step != SIXLANE_TRACE_END)
		return loader_fail(
			err, -EPROTO,
			"sixlane.trace.bpf.o recorded %u steps and lost %u: install sixlane again, it is of another version",
			trace->n, trace->dropped);
	out->verdict = end->verdict;
	out->slot = end->facts.end.slot;
	return 0;
}

bool loader_run_compiler(const struct loader_run *run, char out[LOADER_COMPILER_LEN])
{
	return loader_btf_compiler(bpf_object__btf(run->object), out);
}

#define HEADROOM 256 /* XDP_PACKET_HEADROOM */
#define TAILROOM 320 /* struct skb_shared_info, in whole cache lines */

size_t loader_run_linear_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE) - HEADROOM - TAILROOM;
}

static int read_tag(int prog_fd, uint8_t tag[BPF_TAG_SIZE])
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (prog_fd < 0 || bpf_obj_get_info_by_fd(prog_fd, &info, &size))
		return -errno;
	memcpy(tag, info.tag, BPF_TAG_SIZE);
	return 0;
}

bool loader_run_is_same(const struct loader_run *run, uint32_t prog_id)
{
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	uint8_t mine[BPF_TAG_SIZE], theirs[BPF_TAG_SIZE];

	if (read_tag(run->prog_fd, mine) || read_tag(fd, theirs))
		return true;
	return !memcmp(mine, theirs, sizeof(mine));
}
