/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What libbpf and libxdp print: goes to the debug log instead of stderr, and the two pieces that
 * people need are kept: the kernel's own error message and the verifier's log. Global, as the
 * libraries' print functions are.
 */
#ifndef USER_LOADER_LIBBPF_LOG_H
#define USER_LOADER_LIBBPF_LOG_H

#include <stdarg.h>

/* From now on libbpf prints to the debug log only. */
void libbpf_log_init(void);

/* The same, and both pieces are forgotten: before a call whose failure will be reported. */
void libbpf_log_reset(void);

/* One warning of a library, of one or more lines. */
void libbpf_log_vadd(const char *library, const char *fmt, va_list ap);

/* The kernel's error message (extack) since the last reset; "" if there is none. */
const char *libbpf_log_kernel_message(void);

/* The verifier's log of the last sixlane program that it refused since the reset, or NULL. */
const char *libbpf_log_verifier(void);

#endif
