// SPDX-License-Identifier: GPL-2.0-only
/* See captures.h. A line of either file begins with a name and a tab, or is a comment. */
#include "captures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CAPTURES 128
#define FOLDER "tests/unit/netlink/"

#define TEXT(symbol, file)                                                        \
	__asm__(".pushsection .rodata\n" symbol ": .incbin \"" FOLDER file "\"\n" \
		".byte 0\n.popsection\n")
TEXT("captures_text", "captures.txt");
TEXT("captures_parsed_text", "captures_parsed.txt");
extern const char captures_text[], captures_parsed_text[];

static uint8_t *decode(const char *hex, size_t size)
{
	uint8_t *bytes = malloc(size);
	unsigned int value;

	for (size_t i = 0; bytes && i < size; i++) {
		if (sscanf(hex + 2 * i, "%2x", &value) != 1)
			abort();
		bytes[i] = (uint8_t)value;
	}
	return bytes;
}

/* The rest of the line of captures_parsed.txt that has the capture's name. */
static void find_parsed(struct capture *capture)
{
	size_t length = strlen(capture->name);

	for (const char *line = captures_parsed_text; *line; line = strchr(line, '\n') + 1)
		if (!strncmp(line, capture->name, length) && line[length] == '\t')
			snprintf(capture->parsed, sizeof(capture->parsed), "%.*s",
				 (int)strcspn(line + length + 1, "\n"), line + length + 1);
}

/* A line: name, command and message in hexadecimal, with tabs between them. */
static void load(const char *line, struct capture *out)
{
	const char *command = strchr(line, '\t') + 1, *hex = strchr(command, '\t') + 1;

	snprintf(out->name, sizeof(out->name), "%.*s", (int)(command - line - 1), line);
	out->size = strcspn(hex, "\n") / 2;
	out->bytes = decode(hex, out->size);
	find_parsed(out);
}

const struct capture *captures(size_t *n)
{
	static struct capture all[MAX_CAPTURES];
	static size_t loaded;

	if (!loaded)
		for (const char *line = captures_text; *line; line = strchr(line, '\n') + 1)
			if (*line != '#' && loaded < MAX_CAPTURES)
				load(line, &all[loaded++]);
	*n = loaded;
	return all;
}
