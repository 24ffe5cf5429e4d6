// SPDX-License-Identifier: GPL-2.0-only
/* See bpf_object.h. */
#include "bpf_object.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "error.h"
#include "libbpf_log.h"
#include "paths.h"
#include "refusal.h"

int loader_object_open(const char *path, struct bpf_object **out, char *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *object;

	libbpf_log_reset();
	opts.pin_root_path = loader_pin_dir();
	object = bpf_object__open_file(path, &opts);
	if (!object)
		return loader_fail_errno(err, -errno, "cannot open the XDP object %s", path);
	*out = object;
	return 0;
}

static struct bpf_program *find_prog(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
	{
		const char *section = bpf_program__section_name(prog);

		if (!strcmp(section, "xdp") || !strcmp(section, "xdp.frags"))
			return prog;
	}
	return NULL;
}

int loader_object_load(struct bpf_object *object, const char *path, const char *port,
		       struct bpf_program **prog, char *err)
{
	struct bpf_program *found = find_prog(object);
	int rc;

	if (!found)
		return loader_fail(err, -EINVAL, "%s has no program in a section 'xdp'", path);
	rc = bpf_object__load(object);
	if (rc && libbpf_log_verifier())
		return loader_fail_refused(err, rc, path, port);
	if (rc)
		return loader_fail_errno(err, rc, "the kernel refused the XDP program of %s", path);
	*prog = found;
	return 0;
}
