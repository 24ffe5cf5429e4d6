// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages to stderr. A message is one line and one write, so that lines of several processes
 * never mix; what is in it came from outside in part (names of devices, the kernel's words), so
 * control characters are taken out. errno survives.
 */
#include "log.h"

#include <errno.h>
#include <stdarg.h>

#define LINE_MAX_BYTES 1024
#define LIMIT_BURST 10
#define LIMIT_INTERVAL_NS (10ull * 1000000000)

static const char *log_program = "sixlane";
static enum log_level log_threshold = LOG_INFO;

const char *const log_level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

void log_init(const char *program, enum log_level level)
{
	log_program = program;
	log_threshold = level;
}

/* What snprintf says it would have written, cut to what fits. */
static size_t fitting(int wanted, size_t room)
{
	if (wanted < 0)
		return 0;
	return (size_t)wanted < room ? (size_t)wanted : room - 1;
}

struct line {
	char text[LINE_MAX_BYTES];
	size_t room; /* in text, but for the newline */
	size_t length;
	int saved_errno;
};

static void line_begin(struct line *line, enum log_level level)
{
	line->saved_errno = errno;
	line->room = sizeof(line->text) - 1;
	line->length = fitting(
		snprintf(line->text, line->room, "%s: %s: ", log_program, log_level_names[level]),
		line->room);
	errno = line->saved_errno; /* for %m */
}

static void line_end(struct line *line)
{
	ssize_t written;

	for (size_t i = 0; i < line->length; i++) {
		if ((unsigned char)line->text[i] < ' ' || line->text[i] == 0x7f)
			line->text[i] = ' ';
	}
	line->text[line->length++] = '\n';
	do
		written = write(STDERR_FILENO, line->text, line->length);
	while (written < 0 && errno == EINTR);
	errno = line->saved_errno;
}

/* What is left of the line, for snprintf; used up by line_grow with what that returned. */
#define LINE_REST(line) (line)->text + (line)->length, (line)->room - (line)->length

static void line_grow(struct line *line, int wanted)
{
	line->length += fitting(wanted, line->room - line->length);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	struct line line;
	va_list args;

	if (level > log_threshold)
		return;
	line_begin(&line, level);
	va_start(args, fmt);
	line_grow(&line, vsnprintf(LINE_REST(&line), fmt, args));
	va_end(args);
	line_end(&line);
}

void log_limited(struct log_ratelimit *state, enum log_level level, const char *fmt, ...)
{
	uint64_t now = util_now_ns();
	struct line line;
	va_list args;

	if (level > log_threshold)
		return;
	if (state->window_start_ns == 0 || now - state->window_start_ns >= LIMIT_INTERVAL_NS) {
		state->window_start_ns = now;
		state->sent = 0;
	}
	if (state->sent >= LIMIT_BURST) {
		state->suppressed++;
		return;
	}
	state->sent++;
	line_begin(&line, level);
	va_start(args, fmt);
	line_grow(&line, vsnprintf(LINE_REST(&line), fmt, args));
	va_end(args);
	if (state->suppressed > 0)
		line_grow(&line, snprintf(LINE_REST(&line), " (%u similar messages suppressed)",
					  state->suppressed));
	state->suppressed = 0;
	line_end(&line);
}
