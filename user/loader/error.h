/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Error messages of the loader. Every function that can fail for a reason that a person must fix
 * writes that reason, with what to do, to err (LOADER_ERR bytes, or NULL) and returns -errno.
 *
 * Also what libbpf and libxdp print, which goes to the debug log instead of stderr. The two pieces
 * that people need are kept, globally as the libraries' print functions are: the kernel's own error
 * message, and the verifier's log.
 */
#ifndef USER_LOADER_ERROR_H
#define USER_LOADER_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include "../lib/util.h"

#define LOADER_ERR 1024

/* Writes the message and returns rc. */
int loader_fail(char *err, int rc, const char *fmt, ...) _printf_(3, 4);

/* The same for an errno of the kernel, libbpf or libxdp. Appends the errno's text, the kernel's
 * error message if there is one, and for EPERM and EACCES the missing capabilities. */
int loader_fail_errno(char *err, int rc, const char *fmt, ...) _printf_(3, 4);

/* Whether this process has the capability cap (CAP_*). True also if that cannot be found out. */
bool loader_has_cap(unsigned int cap);

/* Names of the capabilities that loading and attaching need and that this process lacks. */
void loader_missing_caps(char *buf, size_t size);

/* From now on libbpf prints to the debug log only. */
void libbpf_log_init(void);

/* libbpf_log_init(), and forget both pieces. Call before whatever may fail and be reported. */
void libbpf_log_reset(void);

/* Keep and log a warning of a library; it has one or more lines. */
void libbpf_log_vadd(const char *library, const char *fmt, va_list ap);

/* The kernel's error message (extack) since the last reset; "" if there is none. */
const char *libbpf_log_kernel_message(void);

/* The verifier's log of the last sixlane program that it refused since the reset, or NULL. */
const char *libbpf_log_verifier(void);

#endif
