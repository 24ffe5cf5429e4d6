// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a port takes an XDP program in native mode, found out by one that passes everything and
 * is gone again at once.
 */
#include <net/if.h> /* first: linux/if.h gives way to it */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>

#include "../netlink/socket_link.h"
#include "driver.h"
#include "loader.h"
#include "loader_internal.h"

#define XDP_HAS_FRAGS (1u << 5) /* BPF_F_XDP_HAS_FRAGS, of Linux 5.18 */

static int load_pass(uint32_t flags)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int fd;

	opts.prog_flags = flags;
	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "sixlane_try", "GPL", insns, ARRAY_SIZE(insns),
			   &opts);
	return fd < 0 ? -errno : fd;
}

/* A link, unlike a program that is attached by netlink, does not outlive its process. */
static int try_link(int ifindex, int prog)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	_cleanup_close_ int link = -1;

	opts.flags = XDP_FLAGS_DRV_MODE;
	link = bpf_link_create(prog, ifindex, BPF_XDP, &opts);
	return link < 0 ? -errno : 0;
}

/* The kernel says why only by netlink, where what has just failed fails again. */
static void ask_why(int ifindex, int prog)
{
	loader_quiet();
	if (!bpf_xdp_attach(ifindex, prog, XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL))
		bpf_xdp_detach(ifindex, XDP_FLAGS_DRV_MODE, NULL);
}

/* What does not fit in one buffer may still do in several, as loader_attach() finds out, too. */
static int try_native(int ifindex)
{
	_cleanup_close_ int prog = load_pass(0), frags = load_pass(XDP_HAS_FRAGS);
	int rc = prog < 0 ? prog : try_link(ifindex, prog);

	if (!rc || (frags >= 0 && !try_link(ifindex, frags)))
		return 0;
	if (prog >= 0 && rc != -EBUSY && rc != -EEXIST)
		ask_why(ifindex, prog);
	return rc;
}

int loader_try_native(const char *port, char *err)
{
	uint32_t ifindex = nl_link_find(port, NULL);
	int rc;

	if (!ifindex)
		return loader_fail(err, -ENODEV, "cannot find device \"%s\"", port);
	loader_quiet();
	rc = try_native((int)ifindex);
	if (!rc)
		return 0;
	rc = loader_driver_error(rc, loader_kernel_said());
	if (rc == -EOPNOTSUPP)
		return loader_fail(err, rc, "%s has no native XDP (%s)", port,
				   *loader_kernel_said() ? loader_kernel_said() : strerror(-rc));
	return loader_fail_errno(err, rc, "%s accepts no XDP program in native mode", port);
}
