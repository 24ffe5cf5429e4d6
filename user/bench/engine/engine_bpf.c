// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines whose lookup is a BPF program, run by BPF_PROG_TEST_RUN. The time of a run is the
 * kernel's own figure: a clock around the system call would count its preparations, which wait for
 * RCU.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/rtnetlink.h>
#include <pthread.h>

#include "lookup.h"

/* An empty run's time, in whole nanoseconds, needs many lookups to be exact. */
#define DRY_LOOKUPS (1u << 20)

/* --- loading -------------------------------------------------------------------------------- */

void bpf_open(struct lookup_side *side, const char *file)
{
	const char *own = program_invocation_name;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s%s", (int)(program_invocation_short_name - own), own,
		 file);
	side->bpf.object = bpf_object__open_file(path, NULL);
	plan_check(side->bpf.object ? 0 : errno, "%s", path);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(side->bpf.object, "addresses"),
				 side->threads);
}

static int program(const struct lookup_side *side, const char *engine, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", engine, what);
	return bpf_program__fd(bpf_object__find_program_by_name(side->bpf.object, name));
}

void bpf_load(struct lookup_side *side, const char *engine)
{
	static const char *const forms[] = { "independent", "dependent", "answers" };
	struct bpf_program *prog;

	/* Only the programs of this engine, and the dry ones. */
	bpf_object__for_each_program(prog, side->bpf.object)
	{
		const char *name = bpf_program__name(prog);
		size_t n = strcspn(name, "_");

		bpf_program__set_autoload(prog, !strncmp(name, "dry", n) ||
							(!strncmp(name, engine, n) && !engine[n]));
	}
	plan_check(bpf_object__load(side->bpf.object), "%s: cannot load its programs", engine);
	for (uint32_t i = 0; i < side->threads; i++)
		if (bpf_map_update_elem(bpf_map_of(side, "addresses"), &i, &side->lists[i],
					BPF_ANY))
			plan_check(errno, "addresses");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		side->bpf.run[i] = program(side, engine, forms[i]);
		side->bpf.dry[i] = program(side, "dry", forms[i]);
	}
}

int bpf_map_of(const struct lookup_side *side, const char *name)
{
	return bpf_object__find_map_fd_by_name(side->bpf.object, name);
}

/* The number after a word that begins a line of a kernel's file; 0: there is none. */
static uint64_t figure(const char *path, const char *word)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			return strtoull(line + strlen(word), NULL, 10);
	return 0;
}

/* --- runs ----------------------------------------------------------------------------------- */

struct runner {
	pthread_t thread;
	pthread_barrier_t *begin;
	struct walk_packet packet;
	int prog;
	uint32_t repeat;
	double ns;
};

static void *run(void *ctx)
{
	struct runner *runner = ctx;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	opts.data_in = &runner->packet;
	opts.data_size_in = sizeof(runner->packet);
	opts.repeat = (int)runner->repeat;
	plan_pin(runner->packet.list);
	pthread_barrier_wait(runner->begin);
	plan_check(bpf_prog_test_run_opts(runner->prog, &opts), "cannot run the measured program");
	if (opts.retval != XDP_DROP)
		plan_die("the measured program failed");
	runner->ns = opts.duration;
	return NULL;
}

/* Returns the mean of all threads' times. */
static double run_all(const struct lookup_side *side, int prog, unsigned int threads,
		      uint64_t lookups)
{
	_cleanup_free_ struct runner *runners = plan_alloc(threads, sizeof(*runners));
	pthread_barrier_t begin;
	double sum = 0;

	pthread_barrier_init(&begin, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		runners[i] = (struct runner){ .begin = &begin,
					      .packet = side->bpf.packet,
					      .prog = prog,
					      .repeat = (uint32_t)(lookups / WALK_BATCH) ?: 1 };
		runners[i].packet.list = i;
		plan_check(pthread_create(&runners[i].thread, NULL, run, &runners[i]), "threads");
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(runners[i].thread, NULL);
		sum += runners[i].ns;
	}
	pthread_barrier_destroy(&begin);
	return sum / threads;
}

json_t *bpf_measure(struct lookup_side *side, bool dependent, unsigned int threads,
		    uint64_t lookups)
{
	double dry, gross;

	dry = run_all(side, side->bpf.dry[dependent], threads, DRY_LOOKUPS);
	/* Another engine has used the caches: look up all addresses once, untimed. */
	run_all(side, side->bpf.run[dependent], threads, WALK_ADDRESSES);
	gross = run_all(side, side->bpf.run[dependent], threads, lookups);
	/* The next measurement begins where this one ended. */
	side->bpf.packet.cursor += (uint32_t)lookups;
	return json_pack("{s:f, s:f}", "gross_ns", gross / WALK_BATCH, "dry_ns", dry / WALK_BATCH);
}

void bpf_answers(struct lookup_side *side, uint32_t *out)
{
	uint32_t cursor = side->bpf.packet.cursor, key = 0;

	side->bpf.packet.cursor = 0;
	/* One answer a run. */
	run_all(side, side->bpf.run[2], 1, (uint64_t)WALK_ADDRESSES * WALK_BATCH);
	side->bpf.packet.cursor = cursor;
	plan_check(bpf_map_lookup_elem(bpf_map_of(side, "answers"), &key, out), "answers");
}

/* --- sixlane's LPM trie, without its compiled FIB -------------------------------------------- */

void trie_put(struct lookup_side *side, size_t i, bool back)
{
	const struct prefix prefix = lookup_prefix(side, i);
	const struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS + prefix.len,
					       .table = htonl(SIXLANE_TABLE_MAIN),
					       .addr = prefix.addr };
	uint32_t value = (uint32_t)i + 1;
	int fd = (int)(intptr_t)side->state;

	if (back ? bpf_map_update_elem(fd, &key, &value, BPF_ANY) : bpf_map_delete_elem(fd, &key))
		plan_check(errno, "trie: route %zu of %zu", i + 1, side->n);
}

void trie_open(struct lookup_side *side)
{
	uint64_t start;
	char path[64];
	int fd;

	bpf_open(side, "bench-kernel.bpf.o");
	bpf_map__set_max_entries(bpf_object__find_map_by_name(side->bpf.object, "trie"),
				 (uint32_t)side->n);
	bpf_load(side, "trie");
	fd = bpf_map_of(side, "trie");
	side->state = (void *)(intptr_t)fd;
	start = util_now_ns();
	for (size_t i = 0; i < side->n; i++)
		trie_put(side, i, true);
	side->insert_ns = util_now_ns() - start;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	side->bytes = figure(path, "memlock:");
}

/* Nodes on the longest path of a path-compressed binary trie of the routes. */
uint32_t trie_deepest(struct lookup_side *side)
{
	static const struct prefix all = { .len = 0 };
	uint32_t deepest = 0;

	for (const struct radix_node *leaf = radix_first_under(&side->radix, &all); leaf;
	     leaf = radix_next_under(leaf, &all)) {
		uint32_t depth = 0;

		for (const struct radix_node *node = leaf; node; node = node->parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* --- the kernel's own tables ---------------------------------------------------------------- */

/*
 * The caller has made the namespace and the device that routes end in. A route's metric is its
 * value, since a next hop does not tell which route led to it. IPv4 would be slow with different
 * metrics, so there all of them are 1.
 */

/* Of linux/bpf.h since Linux 6.3, without which this must build. */
#define FIB_LOOKUP_SKIP_NEIGH (1u << 2)
/* Messages of one send(): the kernel takes them one after the other, so more save nothing. */
#define BATCH_BYTES 32768u
#define MESSAGE_BYTES 512u

/* Gateways on the link (RTNH_F_ONLINK): no host has these addresses. */
static const uint8_t gateway6[16] = { 0xfe, 0x80, [15] = 2 }, gateway4[4] = { 169, 254, 0, 2 };

struct routes {
	struct mnl_socket *socket;
	uint32_t sequence;
	size_t used; /* of buffer */
	char buffer[BATCH_BYTES + MESSAGE_BYTES];
};

/* Send all messages so far and wait for the answer to the last one, which asks for it. */
static void send_all(struct routes *routes)
{
	char answer[8192];
	ssize_t n = mnl_socket_sendto(routes->socket, routes->buffer, routes->used);

	routes->used = 0;
	while (n >= 0) {
		n = mnl_socket_recvfrom(routes->socket, answer, sizeof(answer));
		if (n >= 0 && mnl_cb_run(answer, (size_t)n, 0, 0, NULL, NULL) < 0)
			n = -1;
		else if (n >= 0 && ((struct nlmsghdr *)answer)->nlmsg_seq == routes->sequence)
			return;
	}
	plan_check(errno, "routes of the kernel");
}

/* last: send this message and all before it, and return when the kernel has applied them. */
static void put_route(struct lookup_side *side, size_t i, bool back, bool last)
{
	const struct bench_prefix *prefix = &side->prefixes[i];
	const bool is_ipv4 = side->is_ipv4;
	struct routes *routes = side->state;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(routes->buffer + routes->used);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

	nlh->nlmsg_type = back ? RTM_NEWROUTE : RTM_DELROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | (back ? NLM_F_CREATE | NLM_F_EXCL : 0);
	nlh->nlmsg_seq = ++routes->sequence;
	*rtm = (struct rtmsg){
		.rtm_family = is_ipv4 ? AF_INET : AF_INET6,
		.rtm_dst_len = (unsigned char)prefix->len,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_type = RTN_UNICAST,
		.rtm_flags = RTNH_F_ONLINK,
	};
	mnl_attr_put(nlh, RTA_DST, is_ipv4 ? 4 : 16, prefix->addr);
	mnl_attr_put_u32(nlh, RTA_PRIORITY, is_ipv4 ? 1 : (uint32_t)i + 1);
	mnl_attr_put_u32(nlh, RTA_OIF, side->bpf.packet.ifindex);
	mnl_attr_put(nlh, RTA_GATEWAY, is_ipv4 ? 4 : 16, is_ipv4 ? gateway4 : gateway6);
	routes->used += NLMSG_ALIGN(nlh->nlmsg_len);
	if (!last && routes->used < BATCH_BYTES)
		return;
	nlh->nlmsg_flags |= NLM_F_ACK;
	send_all(routes);
}

void kernel_put(struct lookup_side *side, size_t i, bool back)
{
	put_route(side, i, back, true);
}

/* The gateway has no neighbour entry. Skip the search for one if the kernel can (Linux 6.3). */
static void choose_flags(struct lookup_side *side)
{
	struct walk_packet packet = side->bpf.packet;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	packet.fib_flags = FIB_LOOKUP_SKIP_NEIGH;
	opts.data_in = opts.data_out = &packet;
	opts.data_size_in = opts.data_size_out = sizeof(packet);
	plan_check(bpf_prog_test_run_opts(side->bpf.run[0], &opts), "bpf_fib_lookup()");
	side->bpf.packet.fib_flags = packet.sum ? FIB_LOOKUP_SKIP_NEIGH : 0;
}

/*
 * Memory of all kernel structures and per-CPU data: the kernel keeps no account of a single routing
 * table. Whatever else the machine does changes it, too.
 */
static int64_t kernel_bytes(void)
{
	return 1024 *
	       (int64_t)(figure("/proc/meminfo", "Slab:") + figure("/proc/meminfo", "Percpu:"));
}

void kernel_open(struct lookup_side *side)
{
	struct routes *routes = side->state = plan_alloc(1, sizeof(*routes));
	uint64_t start;
	int64_t bytes;

	bpf_open(side, "bench-kernel.bpf.o");
	bpf_load(side, side->name);
	routes->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!routes->socket || mnl_socket_bind(routes->socket, 0, MNL_SOCKET_AUTOPID))
		plan_check(errno, "netlink");
	bytes = kernel_bytes();
	start = util_now_ns();
	for (size_t i = 0; i < side->n; i++)
		put_route(side, i, true, i + 1 == side->n);
	side->insert_ns = util_now_ns() - start;
	bytes = kernel_bytes() - bytes;
	side->bytes = bytes > 0 ? (uint64_t)bytes : 0;
	choose_flags(side);
}

/* fib6 is a path-compressed trie as well, but always has a root node. */
uint32_t kernel6_deepest(struct lookup_side *side)
{
	return trie_deepest(side) + (side->prefixes[0].len > 0);
}
