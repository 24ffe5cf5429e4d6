// SPDX-License-Identifier: GPL-2.0-only
/*
 * main() of the unit tests. Runs the files that are named, as in `build/unit/fib
 * test_fib`, or all of the program; --list prints their names. Where there are several, each has a
 * process of its own, so that the others run on after a crash.
 */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct unit_file *files;

/* The list is in the order of the paths. */
void unit_add(struct unit_file *file)
{
	struct unit_file **at = &files;

	while (*at && strcmp((*at)->path, file->path) < 0)
		at = &(*at)->next;
	file->next = *at;
	*at = file;
}

/* Whether it is of that file; to be called by the path without its folder and ".c". */
static bool is_called(const struct unit_file *file, const char *name)
{
	const char *base = strrchr(file->path, '/') + 1;
	size_t length = strlen(base) - strlen(".c");

	return strlen(name) == length && !strncmp(base, name, length);
}

static bool is_wanted(const struct unit_file *file, char *const names[])
{
	for (; *names; names++) {
		if (is_called(file, *names))
			return true;
	}
	return false;
}

static int list(void)
{
	for (const struct unit_file *file = files; file; file = file->next) {
		const char *base = strrchr(file->path, '/') + 1;

		printf("%.*s\n", (int)(strlen(base) - strlen(".c")), base);
	}
	return 0;
}

static bool passes_in_a_child(const struct unit_file *file)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		exit(file->run());
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("unit");
		return false;
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: %s\n", file->path, strsignal(WTERMSIG(status)));
	return !status;
}

int main(int argc, char **argv)
{
	unsigned int found = 0, failed = 0;

	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	for (const struct unit_file *file = files; file; file = file->next) {
		if (argc > 1 && !is_wanted(file, argv + 1))
			continue;
		found++;
		if (argc == 2) /* in this process, for a debugger */
			failed += file->run() != 0;
		else
			failed += !passes_in_a_child(file);
	}
	if (argc > 1 && found != (unsigned int)argc - 1) {
		fprintf(stderr, "unit: not all of them are here, see %s --list\n", argv[0]);
		return 2;
	}
	return failed ? 1 : 0;
}
