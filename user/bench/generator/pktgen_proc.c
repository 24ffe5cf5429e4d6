// SPDX-License-Identifier: GPL-2.0-only
/* See pktgen_proc.h. */
#include "pktgen_proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "../bench.h"

#define THREAD "kpktgend_"
#define POLL_NS 5000000
#define REMOVAL_NS 5000000000ull

/* --- files ---------------------------------------------------------------------------------- */

/* pktgen takes the last byte for a line's end, whatever it is. */
int pktgen_write(const char *file, const char *order)
{
	char path[80], line[128];
	int n = snprintf(line, sizeof(line), "%s\n", order);
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), PKTGEN_DIR "/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, line, (size_t)n) < 0 ? -errno : 0;
}

int pktgen_read(const char *file, char *buf, size_t size)
{
	char path[80];
	_cleanup_close_ int fd = -1;
	size_t used = 0;
	ssize_t n;

	snprintf(path, sizeof(path), PKTGEN_DIR "/%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + used, size - 1 - used)) > 0)
		used += (size_t)n;
	buf[used] = '\0';
	return n < 0 ? -errno : 0;
}

const char *pktgen_behind(const char *text, const char *word)
{
	const char *found = strstr(text, word);

	return found ? found + strlen(word) : "";
}

int pktgen_refused(int ret, const char *entry, const char *order)
{
	char text[4096];

	if (!pktgen_read(entry, text, sizeof(text)) && *pktgen_behind(text, "Result: "))
		return bench_bad(ret, "pktgen refuses \"%s\" for %s: %.*s", order, entry,
				 (int)strcspn(pktgen_behind(text, "Result: "), "\n"),
				 pktgen_behind(text, "Result: "));
	return bench_fail(ret, "pktgen refuses \"%s\" for %s", order, entry);
}

int pktgen_order(const char *entry, const char *fmt, ...)
{
	char text[100];
	va_list ap;
	int ret;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ret = pktgen_write(entry, text);
	return ret ? pktgen_refused(ret, entry, text) : 0;
}

/* A flag that it does not know is no error for pktgen, only a result. */
int pktgen_order_flag(const char *entry, const char *flag)
{
	char text[4096];
	int ret = pktgen_order(entry, "flag %s", flag) ?: pktgen_read(entry, text, sizeof(text));

	if (ret)
		return ret;
	return strstr(text, "Result: OK") ? 0 : pktgen_refused(-EOPNOTSUPP, entry, flag);
}

/* --- threads -------------------------------------------------------------------------------- */

void pktgen_thread_name(unsigned int n, char name[PKTGEN_NAME])
{
	snprintf(name, PKTGEN_NAME, THREAD "%d", bench_cpu(n));
}

/* The list of an empty one is followed by the next word. */
static bool find_entry_of(const char *thread, const char *word, char entry[PKTGEN_NAME])
{
	char text[16384];

	return !pktgen_read(thread, text, sizeof(text)) &&
	       sscanf(pktgen_behind(text, word), " %39s", entry) == 1 &&
	       entry[strlen(entry) - 1] != ':';
}

bool pktgen_find_entry(const char *word, char entry[PKTGEN_NAME])
{
	DIR *dir = opendir(PKTGEN_DIR);
	const struct dirent *file;
	bool found = false;

	while (dir && !found && (file = readdir(dir)))
		if (!strncmp(file->d_name, THREAD, strlen(THREAD)))
			found = find_entry_of(file->d_name, word, entry);
	if (dir)
		closedir(dir);
	return found;
}

int pktgen_check(void)
{
	char entry[PKTGEN_NAME];

	if (access(PKTGEN_DIR "/pgctrl", F_OK))
		return bench_bad(
			-ENOENT,
			"the kernel has no pktgen: `modprobe pktgen` (CONFIG_NET_PKTGEN; in "
			"containers, outside of them); `make bench-vm` shows it in an emulated "
			"machine, tests/vm/vm.py --nics 8 -- COMMAND runs others there");
	if (pktgen_find_entry("Running:", entry))
		return bench_bad(
			-EBUSY,
			"another process sends through %s with pktgen: wait for its end, or stop it by `echo stop >" PKTGEN_DIR
			"/pgctrl`",
			entry);
	if (pktgen_find_entry("Stopped:", entry))
		return bench_bad(
			-EBUSY,
			"pktgen is set up for %s by somebody else; if by nobody that still "
			"runs, clear it by `echo reset >" PKTGEN_DIR "/pgctrl`",
			entry);
	return 0;
}

/* Each does so when it comes to it; the kernel waits for that a little while only. */
void pktgen_remove_entries(void)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t begun = util_now_ns();
	char entry[PKTGEN_NAME];

	pktgen_write("pgctrl", "reset");
	while ((pktgen_find_entry("Stopped:", entry) || pktgen_find_entry("Running:", entry)) &&
	       util_now_ns() - begun < REMOVAL_NS)
		nanosleep(&pause, NULL);
}
