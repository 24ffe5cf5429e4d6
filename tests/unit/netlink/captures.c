// SPDX-License-Identifier: GPL-2.0-only
/* See captures.h. */
#include "captures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CAPTURES 128

__asm__(".pushsection .rodata\n"
	"captures_text: .incbin \"tests/unit/netlink/captures.txt\"\n"
	".byte 0\n"
	".popsection\n");
extern const char captures_text[];

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

/* A line: name, command, text of what is parsed, and hexadecimal message, with tabs between them.
 */
static void load(const char *line, struct capture *out)
{
	const char *parsed = strchr(strchr(line, '\t') + 1, '\t') + 1;
	const char *hex = strchr(parsed, '\t') + 1;

	snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(line, "\t"), line);
	snprintf(out->parsed, sizeof(out->parsed), "%.*s", (int)(hex - parsed - 1), parsed);
	out->size = strcspn(hex, "\n") / 2;
	out->bytes = decode(hex, out->size);
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
