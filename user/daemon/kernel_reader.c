// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads the program of kernel_reader.bpf.c, which is embedded here, and runs it for each call.
 * Request, result and records are its global data, which this process maps.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ipv6_route.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../loader/loader.h"
#include "kernel_reader.h"

#define NS_PER_S 1000000000ll
#define RECORD_BYTES (KERNEL_READER_RECORDS * sizeof(struct kernel_record))
/* A millisecond. The kernel needs nanoseconds, unless its virtual CPU is not running. */
#define MAX_TRIES 1000

#define EMBED(name, path)                                                                   \
	__asm__(".pushsection .rodata\n"                                                    \
		".balign 8\n" name ": .incbin \"" path "\"\n" name "_end: .balign 8\n" name \
		"_bytes: .quad " name "_end - " name "\n"                                   \
		".popsection\n")
EMBED("kernel_reader_cast", SIXLANE_KERNEL_READER_OBJECT);
EMBED("kernel_reader_probe", SIXLANE_KERNEL_READER_PROBE_OBJECT);
extern const char kernel_reader_cast[], kernel_reader_probe[];
extern const uint64_t kernel_reader_cast_bytes, kernel_reader_probe_bytes;

struct kernel_reader {
	enum kernel_reader_kind kind;
	struct bpf_object *object;
	int fd;
	struct kernel_reader_call *call;
	struct kernel_record *records;
};

/* --- opening --- */

void kernel_reader_close(struct kernel_reader *reader)
{
	if (!reader)
		return;
	if (reader->call)
		munmap(reader->call, sizeof(*reader->call));
	if (reader->records)
		munmap(reader->records, RECORD_BYTES);
	bpf_object__close(reader->object);
	free(reader);
}

/* NULL and errno on failure. */
static void *map_open(const struct bpf_object *object, const char *name, size_t bytes)
{
	const int fd = bpf_object__find_map_fd_by_name(object, name);
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* 0 or -errno; the caller closes it in any case. */
static int reader_load(struct kernel_reader *reader)
{
	const bool cast = reader->kind == KERNEL_READER_CAST;
	int r;

	reader->object = bpf_object__open_mem(
		cast ? kernel_reader_cast : kernel_reader_probe,
		cast ? kernel_reader_cast_bytes : kernel_reader_probe_bytes, NULL);
	if (!reader->object)
		return -errno;
	r = bpf_object__load(reader->object);
	if (r)
		return r;
	reader->fd = bpf_program__fd(bpf_object__find_program_by_name(reader->object, "kr_read"));
	reader->call = map_open(reader->object, ".bss", sizeof(*reader->call));
	if (!reader->call)
		return -errno;
	reader->records = map_open(reader->object, "kr_records", RECORD_BYTES);
	return reader->records ? 0 : -errno;
}

static int explain(int r, char *err)
{
	char caps[128];

	loader_missing_caps(caps, sizeof(caps));
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		snprintf(err, LOADER_ERR, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	else if (*caps)
		snprintf(err, LOADER_ERR, "run as root, this process lacks %s", caps);
	else
		snprintf(
			err, LOADER_ERR,
			"this kernel does not load the kernel reader: %s; log-level debug shows why",
			strerror(-r));
	return r;
}

static int open_kind(struct kernel_reader **out, enum kernel_reader_kind kind)
{
	struct kernel_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->kind = kind;
	r = reader_load(reader);
	if (r)
		kernel_reader_close(reader);
	else
		*out = reader;
	return r;
}

int kernel_reader_open(struct kernel_reader **out, enum kernel_reader_kind first, char *err)
{
	int r = open_kind(out, first);

	if (r && first == KERNEL_READER_CAST)
		r = open_kind(out, KERNEL_READER_PROBE);
	return r ? explain(r, err) : 0;
}

enum kernel_reader_kind kernel_reader_kind(const struct kernel_reader *reader)
{
	return reader->kind;
}

/* --- calls --- */

/* Repeated while it reads nothing, since the kernel is linking a node. */
static int ask(struct kernel_reader *reader, const struct kernel_reader_question *question,
	       struct kernel_view *view)
{
	const struct kernel_view *answer = &reader->call->view;

	reader->call->question = *question;
	for (int i = 0; i < MAX_TRIES; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts);
		int r = bpf_prog_test_run_opts(reader->fd, &opts);

		if (r)
			return r;
		if (answer->n || answer->end) {
			*view = *answer;
			view->records = reader->records;
			return 0;
		}
	}
	return -EAGAIN;
}

int kernel_reader_walk(struct kernel_reader *reader, uint32_t table, uint32_t budget,
		       const struct kernel_choice *choice, struct kernel_cursor *cursor,
		       struct kernel_view *view)
{
	const struct kernel_reader_question question = {
		.choice = choice ? *choice : (struct kernel_choice){ 0 },
		.dst = cursor->last.addr,
		.dst_len = cursor->last.len,
		.reading = cursor->started ? KERNEL_READ_BEHIND : KERNEL_READ_TABLE,
		.table = table,
		.budget = budget ?: 1,
	};
	const struct kernel_record *last;
	int r = ask(reader, &question, view);

	if (r || !view->n)
		return r;
	for (last = &view->records[view->n - 1]; last->kind == KERNEL_RECORD_EXCEPTION; last--)
		;
	memcpy(cursor->last.addr.bytes, last->dst, sizeof(last->dst));
	cursor->last.len = last->dst_len;
	cursor->started = true;
	return 0;
}

int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view)
{
	const struct kernel_reader_question question = {
		.choice = choice ? *choice : (struct kernel_choice){ 0 },
		.dst = dst->addr,
		.dst_len = dst->len,
		.reading = KERNEL_READ_AT,
		.table = table,
		.budget = KERNEL_READER_RECORDS,
	};

	return ask(reader, &question, view);
}

/* --- time --- */

/* TICK_NSEC: the resolution of the coarse clock. */
static int64_t jiffy_ns(void)
{
	struct timespec length;

	clock_getres(CLOCK_MONOTONIC_COARSE, &length);
	return length.tv_sec * NS_PER_S + length.tv_nsec;
}

/* Nothing overflows: the kernel bounds lifetimes to 31 bits. */
uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record)
{
	const int64_t left = (int64_t)(record->expires - view->jiffies);
	int64_t at_ns;

	if (!(record->flags & RTF_EXPIRES))
		return 0;
	at_ns = (int64_t)view->now_ns + left * jiffy_ns();
	return at_ns > 0 ? (uint64_t)at_ns : 1;
}
