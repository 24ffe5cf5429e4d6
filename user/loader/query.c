// SPDX-License-Identifier: GPL-2.0-only
/* See query.h. */
#include "query.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>

#include "dispatch.h"
#include "error.h"

#define MAX_PROG_MAPS 64

const char *loader_xdp_mode_name(enum xdp_mode mode)
{
	static const char *const names[] = {
		[XDP_MODE_NONE] = "none",	[XDP_MODE_NATIVE] = "native",
		[XDP_MODE_GENERIC] = "generic", [XDP_MODE_OFFLOAD] = "offload",
		[XDP_MODE_MULTI] = "multi",	[XDP_MODE_UNKNOWN] = "unknown",
	};

	return names[mode];
}

uint32_t loader_xdp_flags(enum xdp_mode mode)
{
	if (mode == XDP_MODE_GENERIC)
		return XDP_FLAGS_SKB_MODE;
	return mode == XDP_MODE_OFFLOAD ? XDP_FLAGS_HW_MODE : XDP_FLAGS_DRV_MODE;
}

/* Adds the map to out if it has one of sixlane's names. */
static int add_map(uint32_t map_id, struct loader_maps *out)
{
	_cleanup_close_ int fd = bpf_map_get_fd_by_id(map_id);
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	for (int i = 0; i < LOADER_N_MAPS; i++) {
		if (out->fd[i] >= 0 || strcmp(info.name, loader_map_name(i)) != 0)
			continue;
		out->fd[i] = util_take_fd(&fd);
		out->id[i] = map_id;
		break;
	}
	return 0;
}

/* Returns the number of map ids or -errno. name may be NULL. */
static int prog_info(uint32_t prog_id, char name[16], uint32_t map_ids[MAX_PROG_MAPS])
{
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (fd < 0)
		return -errno;
	info.nr_map_ids = MAX_PROG_MAPS;
	info.map_ids = (uintptr_t)map_ids;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	if (name)
		snprintf(name, 16, "%s", info.name);
	return info.nr_map_ids < MAX_PROG_MAPS ? (int)info.nr_map_ids : MAX_PROG_MAPS;
}

int loader_open_prog_maps(uint32_t prog_id, char name[16], struct loader_maps *out)
{
	uint32_t map_ids[MAX_PROG_MAPS] = { 0 };
	int n = prog_info(prog_id, name, map_ids), rc = n < 0 ? n : 0;

	loader_reset_maps(out);
	for (int i = 0; i < n && !rc; i++) {
		rc = add_map(map_ids[i], out);
		if (rc == -ENOENT) /* removed meanwhile */
			rc = 0;
	}
	if (rc)
		loader_close_maps(out);
	return rc;
}

/* Finds out whose program it is. Sets all of out but its mode and dispatcher. */
static int identify(uint32_t prog_id, const struct loader_maps *maps, struct loader_prog *out)
{
	char name[sizeof(out->name)];
	struct loader_maps of;
	int rc = loader_open_prog_maps(prog_id, name, &of);

	if (rc)
		return rc;
	out->id = prog_id;
	memcpy(out->name, name, sizeof(name));
	out->frags = !strcmp(name, LOADER_FRAGS_PROG);
	if (of.fd[LOADER_META] < 0 || of.fd[LOADER_ROUTES] < 0) {
		out->owner = LOADER_OTHER_PROG;
	} else {
		/* with one map of another set it would forward by contents that nobody serves */
		out->owner = maps ? LOADER_OURS : LOADER_OTHER_MAPS;
		for (int i = 0; maps && i < LOADER_N_MAPS; i++) {
			if (of.fd[i] >= 0 && of.id[i] != maps->id[i])
				out->owner = LOADER_OTHER_MAPS;
		}
		out->no_arena =
			out->owner == LOADER_OURS && maps->arena && of.fd[LOADER_FIB_ARENA] < 0;
	}
	loader_close_maps(&of);
	return 0;
}

/* Reports sixlane if it runs under the dispatcher, else the dispatcher itself. */
static int identify_dispatched(uint32_t ifindex, const struct loader_maps *maps,
			       struct loader_prog *out)
{
	struct loader_prog one = *out;
	uint32_t ids[DISPATCH_MAX_PROGS];
	int n = dispatch_progs((int)ifindex, ids);

	out->dispatcher = true;
	for (int i = 0; i < n; i++) {
		one.dispatcher = true;
		if (!identify(ids[i], maps, &one) && one.owner != LOADER_OTHER_PROG) {
			*out = one;
			break;
		}
	}
	return 0;
}

/* The program that gets received packets first, and its mode. */
static uint32_t running_prog(const struct bpf_xdp_query_opts *query, enum xdp_mode *mode)
{
	static const enum xdp_mode modes[] = {
		[XDP_ATTACHED_NONE] = XDP_MODE_NONE,   [XDP_ATTACHED_DRV] = XDP_MODE_NATIVE,
		[XDP_ATTACHED_SKB] = XDP_MODE_GENERIC, [XDP_ATTACHED_HW] = XDP_MODE_OFFLOAD,
		[XDP_ATTACHED_MULTI] = XDP_MODE_MULTI,
	};

	*mode = query->attach_mode < ARRAY_SIZE(modes) ? modes[query->attach_mode] : XDP_MODE_NONE;
	if (*mode == XDP_MODE_MULTI)
		return query->drv_prog_id ?: query->skb_prog_id;
	return *mode == XDP_MODE_NONE ? 0 : query->prog_id;
}

int loader_query(uint32_t ifindex, const struct loader_maps *maps, struct loader_prog *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct loader_prog prog = { .owner = LOADER_NO_PROG };
	uint32_t id;
	int rc;

	libbpf_log_reset();
	rc = bpf_xdp_query((int)ifindex, 0, &query);
	if (rc)
		return rc;
	id = running_prog(&query, &prog.mode);
	if (id) {
		rc = identify(id, maps, &prog);
		if (!rc && !strcmp(prog.name, DISPATCH_PROG_NAME))
			rc = identify_dispatched(ifindex, maps, &prog);
		if (rc && rc != -ENOENT)
			return rc;
		if (rc) /* it was detached meanwhile */
			prog = (struct loader_prog){ .owner = LOADER_NO_PROG };
	}
	*out = prog;
	return 0;
}

static bool is_among(uint32_t id, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* `sixlane explain` loads programs with counters of their own: those do not count. */
static bool has_maps_of(uint32_t prog_id, const struct loader_maps *maps)
{
	uint32_t map_ids[MAX_PROG_MAPS] = { 0 };
	int n = prog_info(prog_id, NULL, map_ids);

	return n > 0 && is_among(maps->id[LOADER_META], map_ids, (size_t)n) &&
	       is_among(maps->id[LOADER_COUNTERS], map_ids, (size_t)n);
}

uint32_t loader_find_other_prog(const struct loader_maps *maps, const uint32_t *ids, size_t n)
{
	uint32_t id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		if (!is_among(id, ids, n) && has_maps_of(id, maps))
			return id;
	return 0;
}

/* --- links -------------------------------------------------------------------------------- */

/* Replaces no program by none, which changes nothing. */
static int replace_none(int ifindex, uint32_t flags)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);

	libbpf_log_reset();
	opts.old_prog_fd = -1;
	/* UPDATE_IF_NOEXIST would detach a program where the new one is none */
	return bpf_xdp_attach(ifindex, -1, flags | XDP_FLAGS_REPLACE, &opts);
}

int loader_announce_device(int ifindex)
{
	return replace_none(ifindex, XDP_FLAGS_SKB_MODE);
}

/* If there is a link, the kernel refuses that first. */
static bool is_held(uint32_t ifindex, enum xdp_mode mode)
{
	return replace_none((int)ifindex, loader_xdp_flags(mode)) &&
	       strstr(libbpf_log_kernel_message(), "BPF XDP link");
}

static bool is_of(uint32_t id, uint32_t ifindex, uint32_t prog_id)
{
	_cleanup_close_ int fd = bpf_link_get_fd_by_id(id);
	struct bpf_link_info info = { 0 };
	uint32_t size = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
	       info.type == BPF_LINK_TYPE_XDP && info.xdp.ifindex == ifindex &&
	       info.prog_id == prog_id;
}

/* Another network namespace may have a device of the same number: then the link is unknown. */
static uint32_t find(uint32_t ifindex, uint32_t prog_id)
{
	uint32_t id = 0, found = 0;

	while (!bpf_link_get_next_id(id, &id)) {
		if (!is_of(id, ifindex, prog_id))
			continue;
		if (found)
			return LOADER_LINK_UNKNOWN;
		found = id;
	}
	return found ?: LOADER_LINK_UNKNOWN;
}

uint32_t loader_query_link(uint32_t ifindex, const struct loader_prog *prog)
{
	if (prog->owner == LOADER_NO_PROG || prog->dispatcher || !is_held(ifindex, prog->mode))
		return 0;
	return find(ifindex, prog->id);
}

const char *loader_link_advice(uint32_t link_id, char buf[LOADER_LINK_ADVICE])
{
	if (link_id == LOADER_LINK_UNKNOWN)
		snprintf(
			buf, LOADER_LINK_ADVICE,
			"a BPF link holds it: find it with 'bpftool link', then run 'bpftool link detach id ID'");
	else
		snprintf(buf, LOADER_LINK_ADVICE,
			 "BPF link %u holds it: run 'bpftool link detach id %u'", link_id, link_id);
	return buf;
}
