// SPDX-License-Identifier: GPL-2.0-only
/* See compiler.h. */
#include "compiler.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../bpf/abi/sixlane.h"
#include "../lib/util.h"
#include "libbpf_log.h"

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

bool loader_btf_compiler(const struct btf *btf, char out[LOADER_COMPILER_LEN])
{
	const size_t prefix = strlen(SIXLANE_COMPILER_TAG);

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *text = btf__name_by_offset(btf, type->name_off);

		if (!btf_is_decl_tag(type) || !text || strncmp(text, SIXLANE_COMPILER_TAG, prefix))
			continue;
		snprintf(out, LOADER_COMPILER_LEN, "%s", text + prefix);
		return true;
	}
	return false;
}

bool loader_object_compiler(const char *path, char out[LOADER_COMPILER_LEN])
{
	_cleanup_(free_btf) struct btf *btf = NULL;

	libbpf_log_init();
	btf = btf__parse(path, NULL);
	return loader_btf_compiler(btf, out);
}

bool loader_prog_compiler(uint32_t prog_id, char out[LOADER_COMPILER_LEN])
{
	_cleanup_(free_btf) struct btf *btf = NULL;
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	libbpf_log_init();
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) || !info.btf_id)
		return false;
	btf = btf__load_from_kernel_by_id(info.btf_id);
	return loader_btf_compiler(btf, out);
}

const char *loader_version(const char *object)
{
	static char text[PATH_MAX + LOADER_COMPILER_LEN + 64];
	char compiler[LOADER_COMPILER_LEN];

	if (access(object, R_OK))
		snprintf(text, sizeof(text), "no XDP object at %s", object);
	else
		snprintf(text, sizeof(text), "%s built by %s", object,
			 loader_object_compiler(object, compiler) ? compiler
								  : LOADER_COMPILER_UNKNOWN);
	return text;
}
