// SPDX-License-Identifier: GPL-2.0-only
/* The router with one table, its engines, and the sources of its packets: see forward.h. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "../../lib/log.h"
#include "../kernel_net.h"
#include "forward.h"
#include "forward_side.h"
#include "forward_socket.h"

const struct forward_engine forward_engines[] = {
	{ .name = "compiled",
	  .is_sixlane = true,
	  .choice = SIXLANE_ENGINE_COMPILED,
	  .looks_up = true,
	  .by_default = true },
	{ .name = "trie",
	  .is_sixlane = true,
	  .choice = SIXLANE_ENGINE_TRIE,
	  .looks_up = true,
	  .by_default = true },
	{ .name = "kernel", .looks_up = true, .by_default = true },
	{ .name = "fib", .looks_up = true, .counts_passed = true, .by_default = true },
	{ .name = "floor", .by_default = true },
	{ .name = "bare", .looks_up = true, .counts_passed = true },
	{ .name = "load", .needs_load = true },
	{ .name = "least", .needs_load = true },
	{ .name = "rules",
	  .is_sixlane = true,
	  .choice = SIXLANE_ENGINE_COMPILED,
	  .rules = FORWARD_ACCEPTING,
	  .looks_up = true },
	{ .name = "flowtable",
	  .is_sixlane = true,
	  .choice = SIXLANE_ENGINE_COMPILED,
	  .rules = FORWARD_FLOWTABLE },
};
const size_t forward_n_engines = ARRAY_SIZE(forward_engines);

const struct forward_engine *forward_engine_named(const char *name)
{
	for (size_t i = 0; i < forward_n_engines; i++)
		if (!strcmp(forward_engines[i].name, name))
			return &forward_engines[i];
	return NULL;
}

/* --- the router ----------------------------------------------------------------------------- */

static int open_sink(struct forward_router *router)
{
	int back, left, ret = bench_net_enter(router->net.b, &back);

	ret = ret ?: sink_open(router->net.b_h0, router->large, &router->sink);
	left = bench_net_leave(&back);
	return ret ?: left;
}

static int open_sides(struct forward_router *router)
{
	const struct maps *maps = &router->daemon.maps;
	struct forward_config config = { .egress = router->net.p1,
					 .table = htonl(SIXLANE_TABLE_MAIN),
					 .large = router->large };
	uint64_t used = maps->meta->fib_used_bytes;

	memcpy(config.dst_mac, router->net.b_mac, 6);
	memcpy(config.src_mac, router->net.p1_mac, 6);
	router->has_load = used <= sizeof(struct forward_memory);
	if (router->has_load)
		config.load_bytes = (uint32_t)used;
	return forward_sides_open(&config, maps->fd[LOADER_ROUTES], &router->sides);
}

/* What only newer kernels can is looked for where sixlane itself does. */
static int check_ports(struct forward_router *router)
{
	const struct maps *maps = &router->daemon.maps;
	uint32_t egress = maps_port_slot(maps, router->net.p1);

	router->slot = maps_port_slot(maps, router->net.p0);
	if (!router->slot || !egress)
		return bench_bad(-ENODEV, "sixlaned does not serve the ports");
	if (router->large && !(maps->ports[egress].flags & SIXLANE_PORT_XMIT_FRAGS))
		return bench_bad(-EOPNOTSUPP,
				 "frames of more than %u bytes: this kernel does not redirect "
				 "frames of several buffers (Linux 6.3)",
				 FORWARD_SIZE_LIVE);
	router->sixlane_fd = forward_open_attached(router->net.p0);
	return router->sixlane_fd < 0 ? router->sixlane_fd : 0;
}

int forward_router_open(const struct bench_table *table, bool large, bool attached,
			struct forward_router *out)
{
	struct forward_router router = {
		.table = table, .large = large, .attached = attached, .sixlane_fd = -1
	};
	const struct bench_daemon_want want = {
		.ports = { "p0", "p1" },
		.assume_xmit = true,
		.routes = table->n,
	};
	int ret = bench_daemon_check_memory(table)
			  ?: forward_net_open(large ? FORWARD_MTU_LARGE : FORWARD_MTU, &router.net);

	if (ret)
		return ret;
	ret = open_sink(&router) ?: forward_net_fill(&router.net, table)
				    ?: bench_daemon_start(&want, &router.daemon)
				    ?: check_ports(&router)
				    ?: open_sides(&router);
	/* The programs that take turns on the port are none of its business. */
	if (!ret && large)
		bench_daemon_stop(&router.daemon);
	if (ret)
		forward_router_close(&router);
	else
		*out = router;
	return ret;
}

void forward_router_close(struct forward_router *router)
{
	util_close(&router->sixlane_fd);
	bpf_object__close(router->sides);
	bench_daemon_end(&router->daemon);
	/* in which there is no such device any more, or another one */
	router->sink.ifindex = 0;
	sink_close(&router->sink);
	forward_net_close(&router->net);
}

int forward_router_choose(struct forward_router *router, const struct forward_engine *engine)
{
	int ret = 0;

	if (router->rules != engine->rules)
		ret = forward_rules_load(engine->rules, &router->daemon.maps, router->slot);
	if (ret)
		return ret;
	router->rules = engine->rules;
	if (!engine->is_sixlane)
		return forward_sides_prog(router->sides, engine->name);
	ret = bench_daemon_choose(&router->daemon, engine->choice);
	return ret ?: router->sixlane_fd;
}

/* --- sources -------------------------------------------------------------------------------- */

int forward_source_open(const struct forward_router *router, uint32_t size, uint32_t threads,
			struct forward_source *out)
{
	const struct forward_net *net = &router->net;
	struct gen_options options = { .cpus = threads, .targets = GEN_TARGETS };
	struct forward_source source = { .size = size, .threads = threads };
	int ret = frame_make(size - FORWARD_FCS_BYTES, net->p0_mac, net->a_mac, &net->a_addr,
			     &options.frame);

	if (ret)
		return bench_fail(ret, "frames of %u bytes", size);
	ret = router->large || router->attached
		      ? forward_sockets_open(net, &options.frame, threads, &source.sockets)
		      : gen_new(&options, &source.gen);
	if (!ret)
		*out = source;
	return ret;
}

void forward_source_close(struct forward_source *source)
{
	gen_free(source->gen);
	forward_sockets_close(source->sockets);
	*source = (struct forward_source){ .size = 0 };
}

union sixlane_addr *forward_draw(const struct forward_pattern *pattern,
				 const struct bench_table *table, uint32_t threads, uint64_t seed)
{
	size_t lists = pattern->kind == FORWARD_FLOW ? threads : 1;
	size_t n = (size_t)threads * GEN_TARGETS / lists;
	union sixlane_addr *out = calloc(lists * n, sizeof(*out));
	int ret = out ? 0 : bench_fail(-ENOMEM, "destinations");

	for (size_t i = 0; i < lists && !ret; i++)
		ret = forward_pattern_draw(pattern, table, seed + i, n, &out[i * n]);
	if (!ret)
		return out;
	free(out);
	return NULL;
}
