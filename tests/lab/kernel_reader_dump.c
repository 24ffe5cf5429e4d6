// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel_reader_dump [-p] [-b BUDGET] [-x all|ADDRESS] [-t PASSES] COMMAND: what the kernel reader
 * reads in this network namespace. A line of JSON a record, and one a call with how it ended.
 *
 *	walk TABLE		all of a table
 *	find TABLE PREFIX	one destination
 *	objects			the next-hop objects
 *	tables			their ids, a line each
 *	kind			cast or probe: how it reads
 *
 * -p: by probe reads, as before Linux 6.2. -b: records a call. -x: with exceptions, of all
 * destinations or of one. -t: instead of records how many there are, CPU milliseconds a pass and
 * the longest call, of so many passes.
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
	bool probe;
	uint32_t budget;
	struct kernel_choice choice;
	unsigned long passes; /* to be timed; 0: one is printed */
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

static void print_record(const struct kernel_view *view, const struct kernel_record *record)
{
	static const char *const kinds[] = { "route", "exception", "object" };

	printf("{\"kind\": \"%s\", ", kinds[record->kind]);
	print_address("dst", record->dst);
	print_address("src", record->src);
	print_address("gateway", record->gateway);
	printf("\"dst_len\": %u, \"src_len\": %u, \"flags\": %u, \"metric\": %u, ", record->dst_len,
	       record->src_len, record->flags, record->metric);
	printf("\"id\": %u, \"ifindex\": %u, \"mtu\": %u, \"hop_limit\": %u, ", record->next_hop_id,
	       record->ifindex, record->mtu, record->hop_limit);
	printf("\"siblings\": %u, \"weight\": %u, \"type\": %u, \"protocol\": %u, ",
	       record->n_siblings, record->weight, record->type, record->protocol);
	printf("\"preference\": %u, \"mtu_locked\": %u, \"encap\": %u, \"prefsrc\": %u, ",
	       record->preference, record->mtu_locked, record->encap, record->prefsrc);
	printf("\"expires_ns\": %llu}\n",
	       (unsigned long long)kernel_reader_expires_ns(view, record));
}

static void print_view(const struct kernel_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		print_record(view, &view->records[i]);
	printf("{\"kind\": \"call\", \"n\": %zu, \"now_ns\": %llu, \"end\": %u, \"cut\": %u, \"cut_routes\": %u}\n",
	       view->n, (unsigned long long)view->now_ns, view->end, view->cut, view->cut_routes);
}

/* --- commands --- */

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* table NULL: the next-hop objects. */
static void pass(struct kernel_reader *reader, const struct options *options, const char *table)
{
	const uint32_t id = table ? (uint32_t)strtoul(table, NULL, 0) : 0;
	const double begin = cpu_ms();
	struct kernel_cursor cursor = { 0 };
	struct kernel_view view;
	double longest = 0, call;
	size_t n = 0, calls = 0;

	do {
		call = cpu_ms();
		check("walk", table ? kernel_reader_walk(reader, id, options->budget,
							 &options->choice, &cursor, &view)
				    : kernel_reader_objects(reader, options->budget,
							    &options->choice, &cursor, &view));
		call = cpu_ms() - call;
		longest = call > longest ? call : longest;
		n += view.n;
		calls++;
		if (!options->passes)
			print_view(&view);
	} while (!view.end);
	if (options->passes)
		printf("{\"records\": %zu, \"calls\": %zu, \"cpu_ms\": %.2f, \"longest_ms\": %.3f}\n",
		       n, calls, cpu_ms() - begin, longest);
}

static void find(struct kernel_reader *reader, const struct options *options, const char *table,
		 const char *text)
{
	struct kernel_view view;
	struct prefix dst;

	check(text, prefix_parse(text, &dst));
	check("find", kernel_reader_find(reader, (uint32_t)strtoul(table, NULL, 0), &dst,
					 &options->choice, &view));
	print_view(&view);
}

static void list_tables(struct kernel_reader *reader)
{
	uint32_t ids[KERNEL_READER_TABLES];
	size_t n;

	check("tables", kernel_reader_tables(reader, ids, ARRAY_SIZE(ids), &n));
	for (size_t i = 0; i < n; i++)
		printf("%u\n", ids[i]);
}

static int run(struct kernel_reader *reader, const struct options *options, int argc, char **argv)
{
	const char *command = argc ? argv[0] : "";
	const bool walk = argc == 2 && !strcmp(command, "walk");

	if (walk || (argc == 1 && !strcmp(command, "objects")))
		for (unsigned long i = 0; i == 0 || i < options->passes; i++)
			pass(reader, options, walk ? argv[1] : NULL);
	else if (argc == 3 && !strcmp(command, "find"))
		find(reader, options, argv[1], argv[2]);
	else if (argc == 1 && !strcmp(command, "tables"))
		list_tables(reader);
	else if (argc == 1 && !strcmp(command, "kind"))
		puts(kernel_reader_kind(reader) == KERNEL_READER_CAST ? "cast" : "probe");
	else
		return -EINVAL;
	return 0;
}

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
		options->probe = true;
		return 0;
	case 'b':
		options->budget = (uint32_t)strtoul(optarg, NULL, 0);
		return 0;
	case 't':
		options->passes = strtoul(optarg, NULL, 0);
		return 0;
	case 'x':
		return parse_choice(optarg, &options->choice);
	}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct options options = { .budget = 1024 };
	struct kernel_reader *reader;
	char err[LOADER_ERR];
	int option, r;

	while ((option = getopt(argc, argv, "pb:t:x:")) != -1)
		check("option", parse_option(option, &options));
	libbpf_set_print(NULL);
	r = options.probe ? kernel_reader_open_kind(&reader, KERNEL_READER_PROBE, err)
			  : kernel_reader_open(&reader, err);
	if (r) {
		fprintf(stderr, "kernel_reader_dump: %s\n", err);
		return 1;
	}
	check("command line", run(reader, &options, argc - optind, argv + optind));
	kernel_reader_close(reader);
	return 0;
}
