// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices and maps for the tests of the datapath. Everything goes with the process: the network
 * namespace has no name and nothing is pinned.
 */
#include "setup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../user/loader/arena.h"

_Static_assert(WORLD_IFINDEX(N_DEVICES) <= WORLD_PORTS, "devices have a slot to be at home in");

struct harness_maps harness_maps;

#define UNMAPPED_ENTRY(number, name) { name, NULL, 0 },
#define MAPPED_ENTRY(number, name, field, n) \
	{ name, &harness_maps.field, (n) * sizeof(*harness_maps.field) },

static const struct {
	const char *name;
	void *pointer; /* where to write its address; NULL: not mapped */
	size_t bytes;
} maps[N_MAPS] = { SETUP_MAPS(UNMAPPED_ENTRY, MAPPED_ENTRY) };

static int fail(int err, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return err;
}

/* What the devices would send by themselves would only disturb. */
static int disable_ipv6(void)
{
	FILE *file = fopen("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w");

	if (!file)
		return fail(-errno, "disable_ipv6");
	fputs("1", file);
	return fclose(file) ? fail(-errno, "disable_ipv6") : 0;
}

/* veth pairs DEV0 … and PEER0 …, up. */
static int make_devices(void)
{
	FILE *sh = popen("sh -e", "w");

	if (!sh)
		return fail(-errno, "sh");
	fputs("ip -batch - <<END\n", sh);
	for (int i = 0; i < N_REAL_DEVICES; i++) {
		const uint8_t *mac = world_device_mac[i];

		fprintf(sh,
			"link add dev%d index %d address %02x:%02x:%02x:%02x:%02x:%02x "
			"type veth peer name peer%d\nlink set dev%d up\nlink set peer%d up\n",
			i, (int)WORLD_IFINDEX(i), mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], i,
			i, i);
	}
	fputs("END\n", sh);
	return pclose(sh) ? fail(-EIO, "devices for the tests") : 0;
}

/* A network namespace of this process alone, which has N_REAL_DEVICES of the devices. */
static int make_namespace(void)
{
	if (unshare(CLONE_NEWNET))
		return fail(-errno, "a new network namespace (needs root)");
	return disable_ipv6() ?: make_devices();
}

/* Put one instruction in the place of the only call of a helper. 0 or -ENOENT. */
static int replace_call(struct bpf_program *prog, int helper, struct bpf_insn by)
{
	size_t n = bpf_program__insn_cnt(prog), found = 0;
	struct bpf_insn *insns = calloc(n, sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++) {
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm == helper) {
			insns[i] = by;
			found++;
		}
	}
	err = found == 1 ? bpf_program__set_insns(prog, insns, n) : -ENOENT;
	free(insns);
	return err;
}

static int alter(struct bpf_program *prog, enum harness_prog variant)
{
	const struct bpf_insn r0_is_r1 = { BPF_ALU | BPF_MOV | BPF_X, .src_reg = BPF_REG_1 };
	const struct bpf_insn r0_is_einval = { BPF_ALU64 | BPF_MOV | BPF_K, .imm = -EINVAL };

	if (variant == PROG_SHOWS_EGRESS || variant == PROG_FRAGS_SHOWS_EGRESS)
		return replace_call(prog, BPF_FUNC_redirect, r0_is_r1);
	return variant == PROG_CANNOT_TRIM
		       ? replace_call(prog, BPF_FUNC_xdp_adjust_tail, r0_is_einval)
		       : 0;
}

int setup_arena(struct bpf_map *map, uint64_t at)
{
	int fd = loader_arena_new(at);
	int err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);

	if (fd >= 0)
		close(fd);
	return err;
}

/* Private maps: unpinned, and those of the first object for all. */
static int share_maps(const struct setup *setup, struct bpf_object *object)
{
	for (int i = 0; i < N_MAPS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, maps[i].name);
		int err;

		if (!map && i == MAP_FIB_ARENA)
			continue;
		if (!map)
			return fail(-ENOENT, maps[i].name);
		err = bpf_map__set_pin_path(map, NULL);
		if (!err && object != setup->objects[PROG_AS_IS])
			err = bpf_map__reuse_fd(map, setup->map_fd[i]);
		else if (!err && i == MAP_FIB_ARENA)
			err = setup_arena(map, SIXLANE_FIB_ARENA);
		if (err)
			return fail(err, maps[i].name);
	}
	return 0;
}

static const char *path_of(const struct setup *setup, enum harness_prog variant)
{
	if (variant == PROG_TRACE)
		return setup->trace_path;
	return variant >= PROG_FRAGS ? setup->frags_path : setup->path;
}

static int load(struct setup *setup, enum harness_prog variant)
{
	const char *path = path_of(setup, variant);
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *prog;
	int err;

	setup->objects[variant] = object;
	prog = object ? bpf_object__next_program(object, NULL) : NULL;
	if (!prog)
		return fail(-ENOENT, path);
	err = share_maps(setup, object);
	if (err)
		return err;
	err = alter(prog, variant);
	if (err)
		return fail(err, "the one call of a helper, to replace it");
	err = bpf_object__load(object);
	if (err)
		return fail(err, path);
	setup->prog_fd[variant] = bpf_program__fd(prog);
	return 0;
}

static int find_maps(struct setup *setup)
{
	for (int i = 0; i < N_MAPS; i++) {
		const int fd =
			bpf_object__find_map_fd_by_name(setup->objects[PROG_AS_IS], maps[i].name);
		void *memory;

		setup->map_fd[i] = fd;
		if (!maps[i].bytes)
			continue;
		memory = mmap(NULL, maps[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory == MAP_FAILED)
			return fail(-errno, maps[i].name);
		memcpy(maps[i].pointer, &memory, sizeof(memory));
	}
	setup->n_cpus = libbpf_num_possible_cpus();
	return setup->n_cpus < 0 ? setup->n_cpus : 0;
}

int setup_open(struct setup *setup, const char *object, const char *frags_object,
	       const char *trace_object)
{
	int err;

	memset(setup, 0, sizeof(*setup));
	setup->path = object;
	setup->frags_path = frags_object;
	setup->trace_path = trace_object;
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	err = make_namespace();
	if (!err)
		err = load(setup, PROG_AS_IS);
	if (!err)
		err = find_maps(setup);
	for (int variant = PROG_AS_IS + 1; !err && variant < N_PROGS; variant++)
		if (path_of(setup, (enum harness_prog)variant))
			err = load(setup, (enum harness_prog)variant);
	return err;
}

void setup_must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	abort();
}

void setup_close(struct setup *setup)
{
	for (int i = 0; i < N_PROGS; i++)
		bpf_object__close(setup->objects[i]);
}
