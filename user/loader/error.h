/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Error messages of the loader. Every function that can fail for a reason that a person must fix
 * writes that reason, with what to do, to err (LOADER_ERR bytes, or NULL) and returns -errno.
 */
#ifndef USER_LOADER_ERROR_H
#define USER_LOADER_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "../lib/util.h"

#define LOADER_ERR 1024

/* Writes the message and returns rc. */
int loader_fail(char *err, int rc, const char *fmt, ...) _printf_(3, 4);

/*
 * The same for an errno of the kernel, libbpf or libxdp. Appends the errno's text, the kernel's
 * error message if there is one, and for EPERM and EACCES the missing capabilities.
 */
int loader_fail_errno(char *err, int rc, const char *fmt, ...) _printf_(3, 4);

/* True also if it cannot be found out. cap: CAP_*. */
bool loader_has_cap(unsigned int cap);

/* Names of the capabilities that loading and attaching need and that this process lacks. */
void loader_missing_caps(char *buf, size_t size);

#endif
