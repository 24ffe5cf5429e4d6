// SPDX-License-Identifier: GPL-2.0-only
/* sixlane bench: executes the harness (user/bench), which is in Python. */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "cmd.h"

#define PYTHON "/usr/bin/python3"
#define MAX_WORDS 256

/* Beside the program when built, or where it is installed. Sets own to this program's path. False:
 * neither. */
static bool find_harness(char own[PATH_MAX], char path[PATH_MAX])
{
	static const char *const places[] = { "harness", "../lib/sixlane/harness" };
	const ssize_t n = readlink("/proc/self/exe", own, PATH_MAX - 1);

	if (n < 0)
		return false;
	own[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, PATH_MAX, "%.*s/%s", (int)(strrchr(own, '/') - own), own, places[i]);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	char *words[MAX_WORDS + 5] = { PYTHON }, path[PATH_MAX], own[PATH_MAX];
	int n = 2;

	if (!find_harness(own, path)) {
		log_error(
			"the harness is neither beside this command nor in ../lib/sixlane: run make, or make install");
		return CMD_FAILED;
	}
	if (argc > MAX_WORDS)
		return cmd_usage(&cmd_bench, "more than %d words", MAX_WORDS);
	words[1] = path;
	if (options->json)
		words[n++] = "--json";
	if (options->pretty)
		words[n++] = "--pretty";
	memcpy(&words[n], argv, (size_t)argc * sizeof(*argv));
	/* the harness finds all programs by this path */
	setenv("SIXLANE", own, 1);
	execv(PYTHON, words);
	log_error(PYTHON ": %s: install python3", strerror(errno));
	return CMD_FAILED;
}

const struct cmd cmd_bench = {
	.name = "bench",
	.args = "COMMAND [OPTION]...",
	.help = "measure lookups, forwarding, NICs and churn of sixlane and others; see sixlane-bench(8)",
	.run = run,
};
