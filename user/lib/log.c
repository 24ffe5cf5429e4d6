// SPDX-License-Identifier: GPL-2.0-only
/* See log.h. */
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

/* The number of bytes that snprintf(), which returned length, wrote into room bytes. */
static size_t written_bytes(int length, size_t room)
{
	if (length < 0)
		return 0;
	return (size_t)length < room ? (size_t)length : room - 1;
}

struct line {
	char text[LINE_MAX_BYTES];
	size_t room; /* of text, without the newline */
	size_t length;
	int saved_errno;
};

static void line_begin(struct line *line, enum log_level level)
{
	line->saved_errno = errno;
	line->room = sizeof(line->text) - 1;
	line->length = written_bytes(
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

/* The rest of the line, for snprintf(), whose result goes to line_grow(). */
#define LINE_REST(line) (line)->text + (line)->length, (line)->room - (line)->length

static void line_grow(struct line *line, int length)
{
	line->length += written_bytes(length, line->room - line->length);
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
