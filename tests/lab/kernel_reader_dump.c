// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel_reader_dump [-p] [-b BUDGET] [-x all|ADDRESS] [-n PASSES] [TABLE [PREFIX...]]
 *
 * What the kernel reader reads in this network namespace: the ids of all tables, a line each; all
 * of a table, or some of its destinations; of table 0 the next-hop objects. A line of JSON a
 * record, one a call with how it ended, and one of the whole.
 *
 * -p: by probe reads, as before Linux 6.2. -b: records a call. -x: with exceptions, of all
 * destinations or of one. -n: so often, without the lines of records and calls.
 */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <time.h>

#include "../../user/daemon/kernel_reader.h"
#include "../../user/loader/loader.h"
#include "../../user/rib/radix.h"

struct options {
	enum kernel_reader_kind kind;
	uint32_t budget, table;
	uint32_t passes; /* 0: one, with the lines of records and calls */
	struct kernel_choice choice;
};

static void check(const char *what, int r)
{
	if (!r)
		return;
	fprintf(stderr, "kernel_reader_dump: %s: %s\n", what, strerror(-r));
	exit(2);
}

/* --- lines --- */

static void print_address(const char *name, const uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];

	printf("\"%s\": \"%s\", ", name, inet_ntop(AF_INET6, address, text, sizeof(text)));
}

static void print_record(const struct kernel_record *record)
{
	static const char *const kinds[] = { "route", "exception", "object" };

	printf("{\"kind\": \"%s\", ", kinds[record->kind]);
	print_address("dst", record->dst);
	print_address("src", record->src);
	print_address("gateway", record->gateway);
	printf("\"dst_len\": %u, \"src_len\": %u, \"flags\": %u, \"metric\": %u, ", record->dst_len,
	       record->src_len, record->flags, record->metric);
	printf("\"id\": %u, \"ifindex\": %u, \"mtu\": %u, \"hop_limit\": %u, \"features\": %u, ",
	       record->next_hop_id, record->ifindex, record->mtu, record->hop_limit,
	       record->features);
	printf("\"siblings\": %u, \"weight\": %u, \"type\": %u, \"protocol\": %u, ",
	       record->n_siblings, record->weight, record->type, record->protocol);
	printf("\"preference\": %u, \"mtu_locked\": %u, \"encap\": %u, \"prefsrc\": %u, ",
	       record->preference, record->mtu_locked, record->encap, record->prefsrc);
	printf("\"expires\": %llu}\n", (unsigned long long)record->expires);
}

static void print_view(const struct kernel_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		print_record(&view->records[i]);
	printf("{\"kind\": \"call\", \"n\": %zu, \"jiffies\": %llu, \"end\": %u, \"cut\": %u, \"cut_routes\": %u}\n",
	       view->n, (unsigned long long)view->jiffies, view->end, view->cut, view->cut_routes);
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* --- readings --- */

/* The next call of a walk, again while the kernel is amid a change there. */
static int read_next(struct kernel_reader *reader, const struct options *options,
		     struct kernel_cursor *cursor, struct kernel_view *view)
{
	int r;

	do
		r = options->table ? kernel_reader_walk(reader, options->table, options->budget,
							&options->choice, cursor, view)
				   : kernel_reader_objects(reader, options->budget,
							   &options->choice, cursor, view);
	while (r == -EAGAIN);
	return r;
}

static void do_walk(struct kernel_reader *reader, const struct options *options)
{
	const bool probe = kernel_reader_kind(reader) == KERNEL_READER_PROBE;
	const double begin = cpu_ms();
	struct kernel_cursor cursor = { 0 };
	struct kernel_view view;
	double call, longest = 0;
	size_t n = 0;

	do {
		call = cpu_ms();
		check("walk", read_next(reader, options, &cursor, &view));
		call = cpu_ms() - call;
		longest = call > longest ? call : longest;
		n += view.n;
		if (!options->passes)
			print_view(&view);
	} while (!view.end);
	printf("{\"kind\": \"pass\", \"by\": \"%s\", \"n\": %zu, \"cpu_ms\": %.2f, \"longest_ms\": %.3f}\n",
	       probe ? "probe" : "cast", n, cpu_ms() - begin, longest);
}

static void do_find(struct kernel_reader *reader, const struct options *options, const char *text)
{
	struct kernel_view view;
	struct prefix dst;

	check(text, prefix_parse(text, &dst));
	check("find", kernel_reader_find(reader, options->table, &dst, &options->choice, &view));
	print_view(&view);
}

static void do_tables(struct kernel_reader *reader)
{
	uint32_t ids[KERNEL_READER_TABLES];
	size_t n;

	check("tables", kernel_reader_tables(reader, ids, ARRAY_SIZE(ids), &n));
	for (size_t i = 0; i < n; i++)
		printf("%u\n", ids[i]);
}

static void run(struct kernel_reader *reader, struct options *options, char *const *argv)
{
	if (!*argv) {
		do_tables(reader);
		return;
	}
	options->table = (uint32_t)strtoul(*argv++, NULL, 0);
	for (uint32_t i = 0; !*argv && i < (options->passes ?: 1); i++)
		do_walk(reader, options);
	for (; *argv; argv++)
		do_find(reader, options, *argv);
}

/* --- the command line --- */

static int parse_choice(const char *text, struct kernel_choice *choice)
{
	if (!strcmp(text, "all")) {
		choice->exceptions = KERNEL_EXCEPTIONS_ALL;
		return 0;
	}
	choice->exceptions = KERNEL_EXCEPTIONS_ONE;
	return inet_pton(AF_INET6, text, choice->dst.bytes) == 1 ? 0 : -EINVAL;
}

static int parse_option(int option, struct options *options)
{
	switch (option) {
	case 'p':
		options->kind = KERNEL_READER_PROBE;
		return 0;
	case 'b':
		options->budget = (uint32_t)strtoul(optarg, NULL, 0);
		return 0;
	case 'x':
		return parse_choice(optarg, &options->choice);
	case 'n':
		options->passes = (uint32_t)strtoul(optarg, NULL, 0);
		return 0;
	}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct options options = { .kind = KERNEL_READER_CAST, .budget = 1024 };
	struct kernel_reader *reader;
	char err[LOADER_ERR];
	int option;

	while ((option = getopt(argc, argv, "pb:x:n:")) != -1)
		check("option", parse_option(option, &options));
	libbpf_set_print(NULL);
	if (kernel_reader_open(&reader, options.kind, err)) {
		fprintf(stderr, "kernel_reader_dump: %s\n", err);
		return 1;
	}
	run(reader, &options, argv + optind);
	kernel_reader_close(reader);
	return 0;
}
