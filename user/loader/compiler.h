/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiler that built an object or a loaded program: "Debian Clang 14.0.6", from a tag in its
 * BTF. libbpf leaves the tag out on kernels that do not know tags (before Linux 5.16).
 */
#ifndef USER_LOADER_COMPILER_H
#define USER_LOADER_COMPILER_H

#include <stdbool.h>
#include <stdint.h>

#define LOADER_COMPILER_LEN 80
#define LOADER_COMPILER_UNKNOWN "an unknown compiler"

struct btf;

/* False, and out untouched: there is no tag. btf may be NULL. */
bool loader_btf_compiler(const struct btf *btf, char out[LOADER_COMPILER_LEN]);
bool loader_object_compiler(const char *path, char out[LOADER_COMPILER_LEN]);
bool loader_prog_compiler(uint32_t prog_id, char out[LOADER_COMPILER_LEN]);

/* "PATH built by COMPILER", for --version. Static storage. */
const char *loader_version(const char *object);

#endif
