// SPDX-License-Identifier: GPL-2.0-only
/* See flows.h. */
#include "flows.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf_object.h"
#include "error.h"
#include "paths.h"

#define FUNCTION "flowtable_forwards"
#define MISSING \
	"this kernel has no bpf_xdp_flow_lookup() (Linux 6.11, CONFIG_NF_FLOW_TABLE, CONFIG_DEBUG_INFO_BTF_MODULES)"

struct extended {
	uint32_t prog_id;
	struct bpf_link *link;
};

struct loader_flows {
	struct bpf_object *object; /* the loaded extension, or NULL */
	bool missing; /* the kernel has no bpf_xdp_flow_lookup(); until no id is given */
	struct extended *at;
	size_t n;
};

struct loader_flows *loader_flows_new(void)
{
	return calloc(1, sizeof(struct loader_flows));
}

void loader_flows_free(struct loader_flows *flows)
{
	if (!flows)
		return;
	for (size_t i = 0; i < flows->n; i++)
		bpf_link__destroy(flows->at[i].link);
	bpf_object__close(flows->object);
	free(flows->at);
	free(flows);
}

static bool has(const uint32_t *prog_ids, size_t n, uint32_t prog_id)
{
	for (size_t i = 0; i < n; i++)
		if (prog_ids[i] == prog_id)
			return true;
	return false;
}

bool loader_flows_has(const struct loader_flows *flows, uint32_t prog_id)
{
	for (size_t i = 0; i < flows->n; i++)
		if (flows->at[i].prog_id == prog_id)
			return true;
	return false;
}

/* The object keeps the module nf_flow_table and the program it was loaded for in memory. */
static void unload(struct loader_flows *flows)
{
	bpf_object__close(flows->object);
	flows->object = NULL;
}

/* Ends the extension of all other programs: a link keeps its program and maps in memory. */
static void remove_others(struct loader_flows *flows, const uint32_t *prog_ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < flows->n; i++) {
		if (has(prog_ids, n, flows->at[i].prog_id))
			flows->at[kept++] = flows->at[i];
		else
			bpf_link__destroy(flows->at[i].link);
	}
	flows->n = kept;
}

/* The extension is loaded for one program and fits all whose function has the same prototype. */
static int load(struct loader_flows *flows, const char *path, int prog_fd, char *err)
{
	struct bpf_object *object;
	int rc = loader_object_open(path, &object, err);

	if (rc)
		return rc;
	rc = bpf_program__set_attach_target(bpf_object__next_program(object, NULL), prog_fd,
					    FUNCTION);
	if (rc) {
		bpf_object__close(object);
		return loader_fail_errno(err, rc, "the program has no function " FUNCTION "()");
	}
	rc = bpf_object__load(object);
	if (!rc) {
		flows->object = object;
		return 0;
	}
	bpf_object__close(object);
	/* libbpf's errors if the kernel lacks the function that the program calls */
	flows->missing = !libbpf_log_verifier() && (rc == -EINVAL || rc == -ESRCH);
	return flows->missing
		       ? loader_fail(err, -EOPNOTSUPP, MISSING)
		       : loader_fail_errno(err, rc, "the kernel refused the program of %s", path);
}

static int extend(struct loader_flows *flows, const char *path, uint32_t prog_id, char *err)
{
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_link *link;
	int rc;

	if (fd < 0)
		return loader_fail_errno(err, -errno, "cannot open program %u", prog_id);
	if (!flows->object) {
		rc = load(flows, path, fd, err);
		if (rc)
			return rc;
	}
	link = bpf_program__attach_freplace(bpf_object__next_program(flows->object, NULL), fd,
					    FUNCTION);
	if (!link)
		return loader_fail_errno(err, -errno, "cannot extend program %u%s", prog_id,
					 errno == EBUSY ? ", which another program calls or extends"
							: "");
	flows->at[flows->n++] = (struct extended){ .prog_id = prog_id, .link = link };
	return 0;
}

int loader_flows_extend(struct loader_flows *flows, const char *object, const uint32_t *prog_ids,
			size_t n, char *err)
{
	struct extended *grown;
	char path[PATH_MAX];
	bool any = false;
	int result = 0;

	for (size_t i = 0; i < n; i++)
		any |= prog_ids[i];
	remove_others(flows, prog_ids, n);
	if (!any) {
		unload(flows);
		flows->missing = false;
		return 0;
	}
	if (flows->missing)
		return loader_fail(err, -EOPNOTSUPP, MISSING);
	if (!loader_flavour_path(object, "flows", path))
		return loader_fail(err, -EINVAL, "%s has no usual name, so that none is beside it",
				   object);
	grown = reallocarray(flows->at, n, sizeof(*grown));
	if (!grown)
		return loader_fail_errno(err, -ENOMEM, "cannot extend programs");
	flows->at = grown;
	for (size_t i = 0; i < n; i++) {
		int rc;

		/* ports share programs: try each only once */
		if (!prog_ids[i] || loader_flows_has(flows, prog_ids[i]) ||
		    has(prog_ids, i, prog_ids[i]))
			continue;
		rc = extend(flows, path, prog_ids[i], result ? NULL : err);
		result = result ?: rc;
	}
	if (!flows->n)
		unload(flows);
	return result;
}
