/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log messages on stderr: "sixlaned: warning: text". Only the layer that handles an error logs it,
 * once, with what to do.
 *
 * A message is one line and one write(), so that lines of several processes never mix. Control
 * characters become spaces: device names and kernel messages come from outside. errno is kept.
 */
#ifndef USER_LIB_LOG_H
#define USER_LIB_LOG_H

#include "util.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
extern const char *const log_level_names[LOG_DEBUG + 1];

/* program: the name before each line, not copied. Messages above level are dropped. */
void log_init(const char *program, enum log_level level);

void log_msg(enum log_level level, const char *fmt, ...) _printf_(2, 3);

/* For messages that netlink or packets can cause: at most 10 in 10 seconds for each state. The
 * next message after that reports how many were suppressed. state: static, zero at first. */
struct log_ratelimit {
	uint64_t window_start_ns;
	unsigned int sent, suppressed;
};
void log_limited(struct log_ratelimit *state, enum log_level level, const char *fmt, ...)
	_printf_(3, 4);

#define log_error(...) log_msg(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_msg(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_msg(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_DEBUG, __VA_ARGS__)

/* The same, with one state for each place in the code. */
#define log_limited_here(level, ...)                          \
	({                                                    \
		static struct log_ratelimit log_state_;       \
		log_limited(&log_state_, level, __VA_ARGS__); \
	})
#define log_warning_limited(...) log_limited_here(LOG_WARNING, __VA_ARGS__)
#define log_info_limited(...) log_limited_here(LOG_INFO, __VA_ARGS__)

#endif
