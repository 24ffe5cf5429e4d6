// SPDX-License-Identifier: GPL-2.0-only
/* Loading agree.bpf.c, routes in both engines, and running it. */
#include "agree_run.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "setup.h"
#include "tests.h"

#define PACKET_BYTES 64
#define UPDATE_ROUTES 65536u

static const char *object_path = "build/agree.bpf.o";

void agree_set_path(const char *path)
{
	object_path = path;
}

size_t agree_limit(size_t otherwise)
{
	size_t limit = fuzz_env_number("SIXLANE_ROUTES", otherwise);

	return limit < otherwise ? limit : otherwise;
}

/* Create only the maps that lookups read. The others of maps.h are large, and not used here. */
static void choose_maps(struct bpf_object *object)
{
	static const char *const wanted[] = { "sl_fib",	   "sl_fib_first", "sl_fib_arena",
					      "sl_routes", "agree_probes", "agree_states" };
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		bool is_wanted = false;

		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			is_wanted |= !strcmp(bpf_map__name(map), wanted[i]);
		setup_must(bpf_map__set_pin_path(map, NULL), bpf_map__name(map));
		setup_must(bpf_map__set_autocreate(map, is_wanted), bpf_map__name(map));
		/* elsewhere than the harness's */
		if (!strcmp(bpf_map__name(map), "sl_fib_arena"))
			setup_must(setup_arena(map, 1ull << 32 | SIXLANE_FIB_ARENA),
				   bpf_map__name(map));
	}
}

static int map_fd(const struct agree *agree, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(agree->object, name);

	setup_must(fd < 0 ? fd : 0, name);
	return fd;
}

static void *map_array(const struct agree *agree, const char *name, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(agree, name), 0);

	setup_must(at == MAP_FAILED ? -errno : 0, name);
	return at;
}

void agree_open(struct agree *agree)
{
	static const char *const names[] = { "agree", "follow", "linger" };
	struct tables_fds fds;

	memset(agree, 0, sizeof(*agree));
	agree->object = bpf_object__open_file(object_path, NULL);
	setup_must(agree->object ? 0 : -errno, object_path);
	choose_maps(agree->object);
	setup_must(bpf_object__load(agree->object), object_path);
	for (int i = 0; i < N_AGREE_PROGS; i++)
		agree->prog_fd[i] =
			bpf_program__fd(bpf_object__find_program_by_name(agree->object, names[i]));
	agree->routes_fd = map_fd(agree, "sl_routes");
	agree->probes = map_array(agree, "agree_probes", AGREE_PROBES * sizeof(*agree->probes));
	agree->state = map_array(agree, "agree_states", sizeof(*agree->state));
	fds.fib = map_fd(agree, "sl_fib");
	fds.first = map_fd(agree, "sl_fib_first");
	fds.arena = bpf_object__find_map_fd_by_name(agree->object, "sl_fib_arena");
	tables_open(&agree->tables, &fds);
}

void agree_close(struct agree *agree)
{
	tables_close(&agree->tables);
	munmap(agree->probes, AGREE_PROBES * sizeof(*agree->probes));
	munmap(agree->state, sizeof(*agree->state));
	bpf_object__close(agree->object);
}

static struct sixlane_route_key key_of(uint32_t table, const struct prefix *prefix)
{
	return (struct sixlane_route_key){
		.prefix_len = SIXLANE_TABLE_BITS + prefix->len,
		.table = htonl(table),
		.addr = prefix->addr,
	};
}

void agree_put(struct agree *agree, uint32_t table, const struct prefix *prefix, uint32_t value)
{
	struct sixlane_route_key key = key_of(table, prefix);
	int err = value ? bpf_map_update_elem(agree->routes_fd, &key, &value, BPF_ANY)
			: bpf_map_delete_elem(agree->routes_fd, &key);

	setup_must(err, "sl_routes");
}

/* Entries on their way to sl_routes. */
struct batch {
	int fd;
	uint32_t n;
	struct sixlane_route_key keys[UPDATE_ROUTES];
	uint32_t values[UPDATE_ROUTES];
};

static void flush(struct batch *batch)
{
	uint32_t n = batch->n;

	if (n)
		setup_must(bpf_map_update_batch(batch->fd, batch->keys, batch->values, &n, NULL),
			   "sl_routes");
	batch->n = 0;
}

static void fill_routes(struct agree *agree)
{
	static const struct prefix everything;
	static struct batch batch;
	const struct tables *tables = &agree->tables;

	batch.fd = agree->routes_fd;
	for (size_t i = 0; i < tables->n; i++) {
		const struct radix *routes = &tables->tables[i].routes;
		const struct radix_node *node;

		for (node = radix_first_under(routes, &everything); node;
		     node = radix_next_under(node, &everything)) {
			batch.keys[batch.n] = key_of(tables->tables[i].id, &node->prefix);
			batch.values[batch.n++] = tables_value(node);
			if (batch.n == UPDATE_ROUTES)
				flush(&batch);
		}
	}
	flush(&batch);
}

void agree_install(struct agree *agree)
{
	fill_routes(agree);
	tables_build(&agree->tables);
}

void agree_run(struct agree *agree, enum agree_prog prog, uint32_t repeat)
{
	static const uint8_t packet[PACKET_BYTES];
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = packet,
		.data_size_in = sizeof(packet),
		.repeat = (int)repeat,
	};

	setup_must(bpf_prog_test_run_opts(agree->prog_fd[prog], &opts), "BPF_PROG_TEST_RUN");
}

void agree_sweep(struct agree *agree, enum agree_prog prog)
{
	agree->state->next = 0;
	agree_run(agree, prog, AGREE_PROBES / AGREE_BATCH);
}
