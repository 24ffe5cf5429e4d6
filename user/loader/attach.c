// SPDX-License-Identifier: GPL-2.0-only
/* See attach.h. */

#include <net/if.h> /* before linux/if.h, which then defines less */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_bonding.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../netlink/socket_query.h"
#include "arena.h"
#include "attach.h"
#include "dispatch.h"
#include "driver.h"
#include "error.h"
#include "paths.h"
#include "query.h"
#include "run.h"

/* Headers in the buffer before a packet: Ethernet with two tags, and virtio_net's own. */
#define HEADERS (ETH_HLEN + 2 * 4 + 20)

/* port: a name of any kind; name becomes the device's own. Returns the ifindex or -ENODEV. */
static int port_ifindex(const char *port, char name[IF_NAMESIZE], char *err)
{
	uint32_t ifindex = nl_link_find(port, name);

	if (!ifindex)
		return loader_fail(err, -ENODEV, "cannot find device \"%s\"", port);
	return (int)ifindex;
}

static int query_port(int ifindex, const char *port, const struct loader_maps *maps,
		      struct loader_prog *out, char *err)
{
	int rc = loader_query((uint32_t)ifindex, maps, out);

	if (rc)
		return loader_fail_errno(err, rc, "cannot query the XDP program of %s", port);
	return 0;
}

/* Loads the object's program with the pinned maps. Returns its descriptor or -errno. */
static int load_prog(const char *path, const char *port, char *err)
{
	struct bpf_object *object;
	struct bpf_program *prog;
	int rc = loader_object_open(path, &object, err);

	if (rc)
		return rc;
	rc = loader_object_load(object, path, port, &prog, err);
	if (!rc) {
		rc = dup(bpf_program__fd(prog));
		if (rc < 0)
			rc = loader_fail_errno(err, -errno, "cannot keep the program of %s", path);
	}
	bpf_object__close(object);
	return rc;
}

static int attach_object(const char *object, int ifindex, const char *port, enum loader_mode mode,
			 char *err)
{
	uint32_t flags = mode == LOADER_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	_cleanup_close_ int fd = load_prog(object, port, err);
	int rc;

	if (fd < 0)
		return fd;
	libbpf_log_reset();
	rc = bpf_xdp_attach(ifindex, fd, flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (rc == -EBUSY)
		rc = -EEXIST;
	if (rc && mode == LOADER_NATIVE)
		return loader_fail_native(rc, port, err);
	return rc ? loader_fail_errno(err, rc, "cannot attach to %s", port) : 0;
}

const char *const loader_mode_names[] = {
	[LOADER_NATIVE] = "native",
	[LOADER_GENERIC] = "generic",
	[LOADER_DISPATCHER] = "dispatcher",
};

uint32_t loader_max_plain_mtu(void)
{
	return (uint32_t)loader_run_linear_bytes() - HEADERS;
}

bool loader_mtu_is_jumbo(uint32_t mtu)
{
	return mtu > loader_max_plain_mtu();
}

bool loader_prog_needs_frags(const struct loader_prog *prog, uint32_t mtu)
{
	return prog->mode == XDP_MODE_NATIVE && !prog->frags && loader_mtu_is_jumbo(mtu);
}

/* Replaces the program old_fd by fd; -1: no program. */
static int swap_prog(int ifindex, int fd, int old_fd, uint32_t mode)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);

	opts.old_prog_fd = old_fd;
	return bpf_xdp_attach(ifindex, fd, mode | XDP_FLAGS_REPLACE, &opts);
}

/* True also if that is unknown: what a bond needs is right for every driver. */
static bool is_of_bonding_driver(const char *port)
{
	struct ifbond bond;
	struct ifreq request = { .ifr_data = (void *)&bond };
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strncpy(request.ifr_name, port, IFNAMSIZ - 1);
	return fd < 0 || !ioctl(fd, SIOCBONDINFOQUERY, &request);
}

/* Attaches fd to a port without a program. If the driver refuses it, old_fd is attached again. */
static int attach_or_put_back(int ifindex, int fd, int old_fd, const char *port, char *err)
{
	const uint32_t flags = XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST;
	int rc = bpf_xdp_attach(ifindex, fd, flags, NULL);

	if (!rc)
		return 0;
	if (rc == -EBUSY || rc == -EEXIST)
		return loader_fail(
			err, -EEXIST,
			"%s received another program during the replacement: 'sixlane status' shows which",
			port);
	loader_fail_errno(err, rc, "cannot replace the program on %s", port);
	if (bpf_xdp_attach(ifindex, old_fd, flags, NULL))
		return loader_fail(
			err, rc,
			"%s lost its program, and its driver accepts no other (%s): run 'sixlane attach %s' to try again",
			port, strerror(-rc), port);
	return rc;
}

/* bond_xdp_set() (Linux 5.15 and newer) leaks a program that is replaced, with all its maps, until
 * the next boot; it frees one that is detached. So this takes two steps, and packets pass to the
 * kernel in between. Signals are blocked, so that none ends the process in between. */
static int swap_on_bond(int ifindex, int fd, int old_fd, const char *port, char *err)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	rc = swap_prog(ifindex, -1, old_fd, XDP_FLAGS_DRV_MODE);
	if (rc)
		rc = loader_fail_errno(err, rc, "cannot replace the program on %s", port);
	else
		rc = attach_or_put_back(ifindex, fd, old_fd, port, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static int fail_held_by_link(int ifindex, const char *port, const struct loader_prog *prog,
			     char *err)
{
	char advice[LOADER_LINK_ADVICE];

	return loader_fail(err, -EBUSY, "%s runs \"%s\" (id %u), which sixlane leaves in place: %s",
			   port, prog->name, prog->id,
			   loader_link_advice(loader_query_link((uint32_t)ifindex, prog), advice));
}

/* Replaces a program that is attached directly by this object's. object NULL: detaches it. */
static int swap_object(const char *object, int ifindex, const char *port,
		       const struct loader_prog *old, char *err)
{
	_cleanup_close_ int old_fd = bpf_prog_get_fd_by_id(old->id);
	_cleanup_close_ int fd = -1;
	int rc;

	if (old_fd < 0)
		return loader_fail_errno(err, -errno, "cannot open the program on %s", port);
	if (object) {
		fd = load_prog(object, port, err);
		if (fd < 0)
			return fd;
	}
	libbpf_log_reset();
	if (object && old->mode == XDP_MODE_NATIVE && is_of_bonding_driver(port))
		return swap_on_bond(ifindex, fd, old_fd, port, err);
	rc = swap_prog(ifindex, fd, old_fd, loader_xdp_flags(old->mode));
	if (!rc)
		return 0;
	/* before the query for a link, which replaces the kernel's message */
	loader_fail_errno(err, rc, "cannot %s the program on %s", object ? "replace" : "detach",
			  port);
	if (rc == -EBUSY && loader_query_link((uint32_t)ifindex, old))
		return fail_held_by_link(ifindex, port, old, err);
	return rc;
}

/* old: the program to replace, in its mode. NULL: attach in the given mode. */
static int install(const char *path, int ifindex, const char *port, const struct loader_prog *old,
		   enum loader_mode mode, char *err)
{
	return old ? swap_object(path, ifindex, port, old, err)
		   : attach_object(path, ifindex, port, mode, err);
}

/* Most drivers refuse a program that wants each frame in one buffer on a port whose MTU does not
 * fit in one, with as many errors as there are drivers. So both flavours are tried. If both are
 * refused, the error of the one for single buffers is reported. */
static int install_flavour(const char *object, int ifindex, const char *port,
			   const struct loader_prog *old, enum loader_mode mode, char *err)
{
	bool native = old ? old->mode == XDP_MODE_NATIVE : mode == LOADER_NATIVE;
	const char *first = object, *second = NULL;
	char frags[PATH_MAX];
	int rc;

	if (loader_flavour_path(object, "frags", frags)) {
		second = frags;
		if ((old && old->frags) ||
		    (native && loader_mtu_is_jumbo(loader_driver_mtu(port)))) {
			first = frags;
			second = object;
		}
	}
	rc = install(first, ifindex, port, old, mode, err);
	/* what the verifier refuses does not depend on the driver */
	if (!rc || rc == -EEXIST || libbpf_log_verifier() || !native || !second)
		return rc;
	if (second == object)
		return install(object, ifindex, port, old, mode, err);
	return install(second, ifindex, port, old, mode, NULL) ? rc : 0;
}

static bool same_mode(const struct loader_prog *prog, enum loader_mode mode)
{
	if (prog->dispatcher || mode == LOADER_DISPATCHER)
		return prog->dispatcher && mode == LOADER_DISPATCHER;
	return prog->mode == (mode == LOADER_GENERIC ? XDP_MODE_GENERIC : XDP_MODE_NATIVE);
}

/* Advice on how to detach what runs on a port. */
static void detach_advice(int ifindex, const char *port, const struct loader_prog *prog,
			  char buf[LOADER_LINK_ADVICE])
{
	uint32_t link_id = loader_query_link((uint32_t)ifindex, prog);

	if (link_id)
		loader_link_advice(link_id, buf);
	else if (prog->owner != LOADER_OTHER_PROG)
		snprintf(buf, LOADER_LINK_ADVICE, "run 'sixlane detach %s' first", port);
	else
		snprintf(buf, LOADER_LINK_ADVICE,
			 "detach that one first ('ip link set dev %s xdp%s off')", port,
			 prog->mode == XDP_MODE_GENERIC ? "generic" : "");
}

/* Reports the program that is there. Returns -EEXIST. */
static int fail_occupied(const struct loader_prog *prog, int ifindex, const char *port, char *err)
{
	const char *how = prog->dispatcher ? "dispatcher" : loader_xdp_mode_name(prog->mode);
	char advice[LOADER_LINK_ADVICE];

	detach_advice(ifindex, port, prog, advice);
	if (prog->owner != LOADER_OTHER_PROG)
		return loader_fail(err, -EEXIST, "%s already runs sixlane in %s mode (id %u): %s",
				   port, how, prog->id, advice);
	if (prog->dispatcher)
		return loader_fail(
			err, -EEXIST,
			"%s already runs other XDP programs under libxdp's dispatcher (id %u): run 'sixlane attach %s dispatcher' to join them",
			port, prog->id, port);
	return loader_fail(err, -EEXIST,
			   "%s already runs another XDP program, \"%s\" (id %u, %s): %s", port,
			   prog->name, prog->id, how, advice);
}

/* Replaces prog in its mode. 0 also if another process, usually the daemon, has replaced it
 * meanwhile. */
static int replace_or_lose_race(const char *object, int ifindex, const char *port,
				const struct loader_prog *prog, char *err)
{
	struct loader_prog now;
	int rc = install_flavour(object, ifindex, port, prog, LOADER_NATIVE, err);

	/* without maps to compare, every sixlane program is LOADER_OTHER_MAPS */
	if (rc == -EEXIST && !loader_query((uint32_t)ifindex, NULL, &now) &&
	    now.owner == LOADER_OTHER_MAPS && now.id != prog->id)
		return 0;
	return rc;
}

/* Replaces a program that does not read the arena, if the object's does. */
static int replace_by_arena_flavour(const char *object, int ifindex, const char *port,
				    const struct loader_prog *prog, char *err)
{
	int reads = loader_object_reads_arena(object, err);

	if (prog->dispatcher)
		return loader_fail(
			err, -EOPNOTSUPP,
			"lookups on %s use the LPM trie: its program does not read the compiled FIB's arena; run 'sixlane detach %s', then 'sixlane attach %s dispatcher'",
			port, port, port);
	if (reads < 0)
		return reads;
	if (!reads)
		return loader_fail(
			err, -ENOENT,
			"lookups on %s use the LPM trie: neither its program nor %s reads the compiled FIB's arena; install sixlane.arena.bpf.o and sixlane.arena.frags.bpf.o beside it",
			port, object);
	return replace_or_lose_race(object, ifindex, port, prog, err);
}

/* A program under a dispatcher is never replaced. */
static bool is_outgrown(const struct loader_prog *prog, const char *port)
{
	return !prog->dispatcher && loader_prog_needs_frags(prog, loader_driver_mtu(port));
}

/* Attaches where prog runs now. The maps are pinned. */
static int attach_over(const char *object, int ifindex, const char *port,
		       const struct loader_prog *prog, enum loader_mode mode, char *err)
{
	bool same = same_mode(prog, mode);

	switch (prog->owner) {
	case LOADER_OURS:
		if (same && prog->no_arena && !prog->dispatcher &&
		    loader_object_reads_arena(object, NULL) > 0)
			return replace_by_arena_flavour(object, ifindex, port, prog, err);
		if (same && is_outgrown(prog, port))
			return replace_or_lose_race(object, ifindex, port, prog, err);
		return same ? 0 : fail_occupied(prog, ifindex, port, err);
	case LOADER_OTHER_MAPS:
		if (same && !prog->dispatcher)
			return install_flavour(object, ifindex, port, prog, LOADER_NATIVE, err);
		return fail_occupied(prog, ifindex, port, err);
	case LOADER_OTHER_PROG:
		if (!prog->dispatcher || mode != LOADER_DISPATCHER)
			return fail_occupied(prog, ifindex, port, err);
		break;
	case LOADER_NO_PROG:
		break;
	}
	if (mode == LOADER_DISPATCHER)
		return dispatch_attach(object, loader_pin_dir(), ifindex, port, err);
	return install_flavour(object, ifindex, port, NULL, mode, err);
}

int loader_attach(const char *object, const char *port, enum loader_mode mode, char *err)
{
	struct loader_maps maps;
	struct loader_prog prog;
	bool had_pins = loader_have_pins();
	char name[IF_NAMESIZE], path[PATH_MAX];
	int ifindex, rc;

	ifindex = port_ifindex(port, name, err);
	if (ifindex < 0)
		return ifindex;
	port = name;
	rc = loader_make_maps(object, &maps, err);
	if (rc)
		return rc;
	object = loader_object_for(object, &maps, path);
	rc = query_port(ifindex, port, &maps, &prog, err);
	if (!rc)
		rc = attach_over(object, ifindex, port, &prog, mode, err);
	loader_close_maps(&maps);
	if (!rc)
		loader_refusal_forget(port);
	/* after a failure, remove the pins that were made here */
	if (rc && !had_pins && !loader_daemon_runs())
		loader_unpin(NULL);
	return rc;
}

int loader_detach(const char *port, char *err)
{
	struct loader_prog prog;
	char name[IF_NAMESIZE];
	int ifindex, rc;

	ifindex = port_ifindex(port, name, err);
	if (ifindex < 0)
		return ifindex;
	port = name;
	rc = query_port(ifindex, port, NULL, &prog, err);
	if (rc)
		return rc;
	if (prog.owner == LOADER_NO_PROG)
		return loader_fail(err, -ENOENT, "%s runs no XDP program", port);
	if (prog.owner == LOADER_OTHER_PROG)
		return loader_fail(err, -EBUSY,
				   "%s runs another XDP program, \"%s\" (id %u), not sixlane", port,
				   prog.name, prog.id);
	if (prog.dispatcher)
		return dispatch_detach(ifindex, prog.id, port, err);
	return swap_object(NULL, ifindex, port, &prog, err);
}

int loader_adopt_port(const char *object, uint32_t ifindex, char *err)
{
	struct loader_maps maps;
	struct loader_prog prog;
	char port[IF_NAMESIZE], path[PATH_MAX];
	int rc;

	if (!if_indextoname(ifindex, port))
		return loader_fail(err, -ENODEV, "device %u is gone", ifindex);
	rc = loader_make_maps(object, &maps, err);
	if (rc)
		return rc;
	object = loader_object_for(object, &maps, path);
	rc = query_port((int)ifindex, port, &maps, &prog, err);
	loader_close_maps(&maps);
	if (rc)
		return rc;
	if (prog.no_arena)
		return replace_by_arena_flavour(object, (int)ifindex, port, &prog, err);
	if (prog.owner == LOADER_OURS)
		return is_outgrown(&prog, port)
			       ? replace_or_lose_race(object, (int)ifindex, port, &prog, err)
			       : 0;
	if (prog.owner != LOADER_OTHER_MAPS)
		return loader_fail(err, -ENOENT, "%s does not run sixlane", port);
	if (prog.dispatcher)
		return loader_fail(
			err, -EOPNOTSUPP,
			"%s runs sixlane with other maps under libxdp's dispatcher: run 'sixlane detach %s', then 'sixlane attach %s dispatcher'",
			port, port, port);
	return install_flavour(object, (int)ifindex, port, &prog, LOADER_NATIVE, err);
}
