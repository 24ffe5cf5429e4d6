// SPDX-License-Identifier: GPL-2.0-only
/*
 * See dispatch.h. Where the kernel refuses its dispatcher, libxdp silently attaches a single
 * program without one. That is detected here and undone: whoever asks for the dispatcher means to
 * add more programs.
 */
#include "dispatch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <xdp/libxdp.h>

#include "bpf_object.h"
#include "error.h"

static int print(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	if (level != LIBXDP_DEBUG)
		libbpf_log_vadd("libxdp", fmt, ap);
	return 0;
}

static void log_reset(void)
{
	libbpf_log_reset();
	libxdp_set_print(print);
}

static void close_multiprog(struct xdp_multiprog **mp)
{
	if (!libxdp_get_error(*mp))
		xdp_multiprog__close(*mp);
}

static void close_program(struct xdp_program **prog)
{
	if (!libxdp_get_error(*prog))
		xdp_program__close(*prog);
}

int dispatch_progs(int ifindex, uint32_t ids[DISPATCH_MAX_PROGS])
{
	_cleanup_(close_multiprog) struct xdp_multiprog *mp = NULL;
	struct xdp_program *prog = NULL;
	int n = 0;

	log_reset();
	mp = xdp_multiprog__get_from_ifindex(ifindex);
	if (libxdp_get_error(mp))
		return (int)libxdp_get_error(mp);
	while (n < DISPATCH_MAX_PROGS && (prog = xdp_multiprog__next_prog(prog, mp)))
		ids[n++] = xdp_program__id(prog);
	return n;
}

/* libxdp attached the program without a dispatcher. */
static bool fell_back(int ifindex)
{
	_cleanup_(close_multiprog) struct xdp_multiprog *mp =
		xdp_multiprog__get_from_ifindex(ifindex);

	return !libxdp_get_error(mp) && xdp_multiprog__is_legacy(mp);
}

static void detach_fallback(int ifindex, int prog_fd)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);

	opts.old_prog_fd = prog_fd;
	bpf_xdp_detach(ifindex, XDP_FLAGS_DRV_MODE | XDP_FLAGS_REPLACE, &opts);
}

static int attach_prog(struct xdp_program *prog, const char *object, int ifindex, const char *port,
		       char *err)
{
	int rc = xdp_program__attach(prog, ifindex, XDP_MODE_NATIVE, 0);

	if (rc && libbpf_log_verifier())
		return loader_fail_refused(err, rc, object, port);
	if (rc)
		return loader_fail_errno(
			err, rc,
			"libxdp cannot attach to %s (this libxdp may be too old for the kernel; 'sixlane attach %s' attaches sixlane alone)",
			port, port);
	if (!fell_back(ifindex))
		return 0;
	detach_fallback(ifindex, xdp_program__fd(prog));
	if (getenv("LIBXDP_SKIP_DISPATCHER"))
		return loader_fail(err, -EOPNOTSUPP,
				   "LIBXDP_SKIP_DISPATCHER is set: libxdp uses no dispatcher on %s",
				   port);
	return loader_fail(
		err, -EOPNOTSUPP,
		"the kernel refused libxdp's dispatcher on %s (no freplace programs, or not "
		"permitted): 'sixlane attach %s' attaches sixlane alone",
		port, port);
}

int dispatch_attach(const char *object, const char *pin_dir, int ifindex, const char *port,
		    char *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	_cleanup_(close_program) struct xdp_program *prog = NULL;
	int rc;

	log_reset();
	opts.pin_root_path = pin_dir;
	prog = xdp_program__open_file(object, "xdp", &opts);
	rc = (int)libxdp_get_error(prog);
	if (rc)
		return loader_fail_errno(err, rc, "libxdp rejects %s", object);
	return attach_prog(prog, object, ifindex, port, err);
}

int dispatch_detach(int ifindex, uint32_t prog_id, const char *port, char *err)
{
	_cleanup_(close_multiprog) struct xdp_multiprog *mp = NULL;
	struct xdp_program *prog = NULL;
	int rc;

	log_reset();
	mp = xdp_multiprog__get_from_ifindex(ifindex);
	rc = (int)libxdp_get_error(mp);
	if (rc)
		return loader_fail_errno(err, rc, "libxdp cannot read the dispatcher of %s", port);
	while ((prog = xdp_multiprog__next_prog(prog, mp))) {
		if (xdp_program__id(prog) != prog_id)
			continue;
		rc = xdp_program__detach(prog, ifindex, xdp_multiprog__attach_mode(mp), 0);
		if (rc)
			return loader_fail_errno(err, rc, "libxdp cannot detach from %s", port);
		return 0;
	}
	return loader_fail(err, -ENOENT, "sixlane is no longer in the dispatcher of %s", port);
}
