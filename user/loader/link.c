// SPDX-License-Identifier: GPL-2.0-only
/* See link.h. */
#include "link.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <string.h>

#include "../lib/util.h"
#include "libbpf_log.h"
#include "query.h"

/*
 * Replaces no program by no program, which changes nothing: if there is a link, the kernel refuses
 * that first. UPDATE_IF_NOEXIST would detach a program where the new one is none.
 */
static bool is_held(int ifindex, enum xdp_mode mode)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	uint32_t flags = mode == XDP_MODE_GENERIC   ? XDP_FLAGS_SKB_MODE
			 : mode == XDP_MODE_OFFLOAD ? XDP_FLAGS_HW_MODE
						    : XDP_FLAGS_DRV_MODE;

	libbpf_log_reset();
	opts.old_prog_fd = -1;
	return bpf_xdp_attach(ifindex, -1, flags | XDP_FLAGS_REPLACE, &opts) &&
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
	if (prog->owner == LOADER_NO_PROG || prog->dispatcher || !is_held((int)ifindex, prog->mode))
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
