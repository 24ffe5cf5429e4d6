// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads the program of kernel_reader.bpf.c, which is embedded here, and runs it for each call.
 * Question, answer and records are its global data, which this process has mapped.
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

#define NS_PER_S 1000000000ull
#define RECORD_BYTES (KERNEL_READER_RECORDS * sizeof(struct kernel_record))
/* A millisecond. What is waited for takes nanoseconds, unless its virtual CPU is taken away. */
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

static struct bpf_object *open_object(enum kernel_reader_kind kind)
{
	if (kind == KERNEL_READER_CAST)
		return bpf_object__open_mem(kernel_reader_cast, kernel_reader_cast_bytes, NULL);
	return bpf_object__open_mem(kernel_reader_probe, kernel_reader_probe_bytes, NULL);
}

/* The map whose name ends like that. NULL, and errno: it cannot be mapped. */
static void *map_open(const struct bpf_object *object, const char *suffix, size_t bytes)
{
	const struct bpf_map *map;
	void *mapped;

	bpf_object__for_each_map(map, object) if (strstr(bpf_map__name(map), suffix)) break;
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map ? bpf_map__fd(map) : -1,
		      0);
	return mapped == MAP_FAILED ? NULL : mapped;
}

/* 0 or -errno; also on failure the caller closes it. */
static int reader_load(struct kernel_reader *reader)
{
	int r;

	reader->object = open_object(reader->kind);
	if (!reader->object)
		return -errno;
	r = bpf_object__load(reader->object);
	if (r)
		return r;
	reader->fd = bpf_program__fd(bpf_object__find_program_by_name(reader->object, "kr_read"));
	reader->call = map_open(reader->object, ".bss", sizeof(*reader->call));
	if (!reader->call)
		return -errno;
	reader->records = map_open(reader->object, KERNEL_READER_RECORD_MAP, RECORD_BYTES);
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

/* 0 or -errno. */
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

/* Again while it has read nothing, since the kernel is just linking a node. */
static int run(struct kernel_reader *reader, const struct kernel_reader_question *question)
{
	const struct kernel_reader_answer *answer = &reader->call->answer;

	reader->call->question = *question;
	for (int i = 0; i < MAX_TRIES; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts);
		int r = bpf_prog_test_run_opts(reader->fd, &opts);

		if (r || answer->n || answer->end || answer->object != question->object)
			return r;
	}
	return -EAGAIN;
}

static int read_view(struct kernel_reader *reader, struct kernel_reader_question *question,
		     const struct kernel_choice *choice, struct kernel_view *view)
{
	const struct kernel_reader_answer *answer = &reader->call->answer;
	int r;

	if (choice) {
		question->exceptions = choice->exceptions;
		memcpy(question->exception, choice->dst.bytes, sizeof(question->exception));
	}
	r = run(reader, question);
	if (r)
		return r;
	*view = (struct kernel_view){
		.records = reader->records,
		.n = answer->n,
		.now_ns = answer->now_ns,
		.jiffies = answer->jiffies,
		.end = answer->end,
		.cut = answer->cut,
		.cut_routes = answer->cut_routes,
	};
	return 0;
}

static void set_prefix(struct kernel_reader_question *question, const struct prefix *prefix)
{
	memcpy(question->dst, prefix->addr.bytes, sizeof(question->dst));
	question->dst_len = prefix->len;
}

int kernel_reader_walk(struct kernel_reader *reader, uint32_t table, uint32_t budget,
		       const struct kernel_choice *choice, struct kernel_cursor *cursor,
		       struct kernel_view *view)
{
	struct kernel_reader_question question = {
		.reading = cursor->started ? KERNEL_READ_BEHIND : KERNEL_READ_TABLE,
		.table = table,
		.budget = budget ?: 1,
	};
	const struct kernel_record *last;
	int r;

	set_prefix(&question, &cursor->last);
	r = read_view(reader, &question, choice, view);
	if (r || !view->n)
		return r;
	last = &view->records[reader->call->answer.last];
	memcpy(cursor->last.addr.bytes, last->dst, sizeof(last->dst));
	cursor->last.len = last->dst_len;
	cursor->started = true;
	return 0;
}

int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view)
{
	struct kernel_reader_question question = {
		.reading = KERNEL_READ_AT,
		.table = table,
		.budget = KERNEL_READER_RECORDS,
	};

	set_prefix(&question, dst);
	return read_view(reader, &question, choice, view);
}

int kernel_reader_objects(struct kernel_reader *reader, uint32_t budget,
			  const struct kernel_choice *choice, struct kernel_cursor *cursor,
			  struct kernel_view *view)
{
	struct kernel_reader_question question = {
		.reading = KERNEL_READ_OBJECTS,
		.object = cursor->object,
		.budget = budget ?: 1,
	};
	int r = read_view(reader, &question, choice, view);

	if (!r)
		cursor->object = reader->call->answer.object;
	return r;
}

int kernel_reader_tables(struct kernel_reader *reader, uint32_t *ids, size_t max, size_t *n)
{
	const struct kernel_reader_question question = { .reading = KERNEL_READ_TABLES };
	const struct kernel_reader_answer *answer = &reader->call->answer;
	int r = run(reader, &question);

	if (r)
		return r;
	if (answer->n_tables > max || answer->n_tables > KERNEL_READER_TABLES)
		return -E2BIG;
	*n = answer->n_tables;
	memcpy(ids, reader->call->tables, *n * sizeof(*ids));
	return 0;
}

/* --- time --- */

/* TICK_NSEC, which is how often the coarse clock moves. */
static uint64_t jiffy_ns(void)
{
	struct timespec length;

	clock_getres(CLOCK_MONOTONIC_COARSE, &length);
	return (uint64_t)length.tv_sec * NS_PER_S + (uint64_t)length.tv_nsec;
}

uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record)
{
	const int64_t left = (int64_t)(record->expires - view->jiffies);
	uint64_t jiffy, past;

	if (!(record->flags & RTF_EXPIRES))
		return 0;
	jiffy = jiffy_ns();
	if (left >= 0)
		return view->now_ns + (uint64_t)left * jiffy;
	past = (uint64_t)-left * jiffy;
	return past < view->now_ns ? view->now_ns - past : 1;
}
