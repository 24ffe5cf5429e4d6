// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench-packets makes frames, sends them through programs, and counts arrivals. This file has all
 * steps but "run": BPF objects, their programs and maps, and programs of devices. An object lives
 * until the program ends or one of the same name replaces it.
 */
#include "packets_user.h"

#include <bpf/btf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/mman.h>

#define MOST_LINKS 2

struct object {
	struct object *next;
	char *name;
	struct bpf_object *object;	    /* NULL: a program of a device */
	struct bpf_link *links[MOST_LINKS]; /* of programs that trace the kernel */
	int prog;
};

static struct object *objects;

static struct object *find(const char *name, size_t n)
{
	struct object *object = objects;

	while (object && (strlen(object->name) != n || strncmp(object->name, name, n) != 0))
		object = object->next;
	return object;
}

/* A new entry, or the one of this name with its object closed. */
static struct object *add(const char *name)
{
	struct object *object = find(name, strlen(name));

	if (!object) {
		object = plan_alloc(1, sizeof(*object));
		object->name = strdup(name);
		object->next = objects;
		objects = object;
	}
	for (int i = 0; i < MOST_LINKS; i++) {
		bpf_link__destroy(object->links[i]);
		object->links[i] = NULL;
	}
	bpf_object__close(object->object);
	object->object = NULL;
	return object;
}

int packets_program(const char *name)
{
	size_t n = strcspn(name, ".");
	const struct object *object = find(name, n);
	const struct bpf_program *prog = NULL;

	if (object && !object->object)
		return object->prog;
	if (object && name[n])
		prog = bpf_object__find_program_by_name(object->object, name + n + 1);
	if (!prog)
		plan_die("no program %s is loaded", name);
	return bpf_program__fd(prog);
}

struct bpf_map *packets_map(const char *name, size_t n, const char *map_name)
{
	const struct object *object = find(name, n);
	struct bpf_map *map = NULL;

	if (object && object->object)
		map = bpf_object__find_map_by_name(object->object, map_name);
	if (!map)
		plan_die("no map %s of %.*s is loaded", map_name, (int)n, name);
	return map;
}

unsigned int packets_ifindex(const char *device)
{
	unsigned int ifindex = if_nametoindex(device);

	plan_check(ifindex ? 0 : errno, "device %s", device);
	return ifindex;
}

/* --- loading -------------------------------------------------------------------------------- */

static void parse_hex(const char *text, uint8_t *bytes, size_t size)
{
	size_t n = strlen(text) / 2;

	if (n > size || strspn(text, "0123456789abcdef") != 2 * n || text[2 * n])
		plan_die("\"%s\" is not at most %zu bytes in hexadecimal digits", text, size);
	for (size_t i = 0; i < n; i++)
		sscanf(text + 2 * i, "%2hhx", &bytes[i]);
}

static bool is_wanted(json_t *programs, const char *name)
{
	bool is_any = !programs;

	for (size_t i = 0; i < json_array_size(programs) && !is_any; i++)
		is_any = !strcmp(json_string_value(json_array_get(programs, i)) ?: "", name);
	return is_any;
}

static void set_entries(struct bpf_object *object, json_t *entries)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		json_int_t most = json_integer_value(json_object_get(entries, bpf_map__name(map)));

		if (most)
			bpf_map__set_max_entries(map, (uint32_t)most);
	}
}

/* Bytes in hexadecimal digits by names of constant variables: of arrays the first elements. */
static void set_constants(const struct bpf_object *object, json_t *constants)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	const struct btf *btf = bpf_object__btf(object);
	int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *section = btf__type_by_id(btf, id > 0 ? (uint32_t)id : 0);
	size_t size;
	uint8_t *values = map ? (void *)(uintptr_t)bpf_map__initial_value(map, &size) : NULL;
	const char *name;
	json_t *value;

	json_object_foreach(constants, name, value)
	{
		const struct btf_var_secinfo *at = btf_var_secinfos(section);
		const struct btf_var_secinfo *end = at + btf_vlen(section);

		while (at < end &&
		       strcmp(name,
			      btf__name_by_offset(btf, btf__type_by_id(btf, at->type)->name_off)))
			at++;
		if (!values || at == end)
			plan_die("%s has no constant %s", bpf_object__name(object), name);
		parse_hex(json_string_value(value) ?: "", values + at->offset, at->size);
	}
}

/* Load the programs, and attach those that trace the kernel. 0 or -errno. */
static int load(struct object *object, json_t *programs, bool frags)
{
	struct bpf_program *prog;
	int ret, n = 0;

	bpf_object__for_each_program(prog, object->object)
	{
		bpf_program__set_autoload(prog, is_wanted(programs, bpf_program__name(prog)));
		if (frags && bpf_program__type(prog) == BPF_PROG_TYPE_XDP)
			bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	}
	ret = bpf_object__load(object->object);
	prog = NULL;
	while (!ret && n < MOST_LINKS && (prog = bpf_object__next_program(object->object, prog)))
		if (bpf_program__autoload(prog) &&
		    bpf_program__type(prog) == BPF_PROG_TYPE_TRACING &&
		    !(object->links[n++] = bpf_program__attach(prog)))
			ret = -errno;
	return ret;
}

/*
 * {"name", "object": PATH, "programs": [NAME, …], "entries": {MAP: N}, "constants":
 * {NAME: HEX}, "frags": BOOL} -> {}: load these programs of an object file, or all of them. Later
 * steps call one "OBJECT.PROGRAM".
 * {"name", "device"} -> {}: take the program that a device runs. Later steps call it by the name
 * alone.
 */
json_t *packets_load_step(json_t *arguments)
{
	const char *name, *path = "", *device = NULL;
	json_t *programs = NULL, *entries = NULL, *constants = NULL;
	struct object *object;
	int frags = 0, ret;
	uint32_t id = 0;

	plan_take(arguments, "{s:s, s?s, s?s, s?o, s?o, s?o, s?b}", "name", &name, "object", &path,
		  "device", &device, "programs", &programs, "entries", &entries, "constants",
		  &constants, "frags", &frags);
	object = add(name);
	if (device) {
		ret = bpf_xdp_query_id((int)packets_ifindex(device), 0, &id);
		object->prog = ret ?: bpf_prog_get_fd_by_id(id);
		plan_check(object->prog < 0 ? object->prog : 0, "the program on %s", device);
		return json_object();
	}
	object->object = bpf_object__open_file(path, NULL);
	plan_check(object->object ? 0 : errno, "%s", path);
	set_entries(object->object, entries);
	set_constants(object->object, constants);
	ret = load(object, programs, frags);
	return ret ? plan_error("loading %s: %s", path, strerror(-ret)) : json_object();
}

/*
 * {"device", "program", "generic": BOOL} -> {"busy": BOOL}: attach a program to a device for as
 * long as this process lives, unless the device has one already.
 */
json_t *packets_attach_step(json_t *arguments)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);
	int generic = 0, ifindex, prog, ret;
	const char *name, *device;

	plan_take(arguments, "{s:s, s:s, s?b}", "program", &name, "device", &device, "generic",
		  &generic);
	ifindex = (int)packets_ifindex(device);
	prog = packets_program(name);
	options.flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	ret = bpf_link_create(prog, ifindex, BPF_XDP, &options);
	if (ret >= 0 || errno == EBUSY || errno == EEXIST)
		return json_pack("{s:b}", "busy", ret < 0);
	return plan_error("attaching %s to %s: %s", name, device, strerror(errno));
}

/* --- maps ----------------------------------------------------------------------------------- */

void *packets_values(const struct bpf_map *map, size_t *bytes)
{
	void *values;

	*bytes = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	values = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	plan_check(values == MAP_FAILED ? errno : 0, "map %s", bpf_map__name(map));
	return values;
}

/* Returns 0 or an errno. */
static int fill(const struct bpf_map *map, const uint8_t *at, size_t bytes)
{
	size_t key = bpf_map__key_size(map), each = key + bpf_map__value_size(map);
	size_t most;
	void *to;

	if (!(bpf_map__map_flags(map) & BPF_F_MMAPABLE)) {
		for (const uint8_t *end = at + bytes; at + each <= end; at += each)
			if (bpf_map_update_elem(bpf_map__fd(map), at, at + key, BPF_ANY))
				return errno;
		return 0;
	}
	to = packets_values(map, &most);
	memcpy(to, at, bytes < most ? bytes : most);
	munmap(to, most);
	return bytes > most ? E2BIG : 0;
}

/*
 * {"object", "map", "file": PATH} -> {}: write elements, key and value of each, to a map; to an
 * mmapable array its values from the first on. "program" instead of "file": write that program to
 * index 0.
 */
json_t *packets_fill_step(json_t *arguments)
{
	const char *name, *map_name, *file = "", *program = NULL;
	uint32_t element[2] = { 0 };
	const void *at = element;
	size_t n = sizeof(element);
	struct bpf_map *map;

	plan_take(arguments, "{s:s, s:s, s?s, s?s}", "object", &name, "map", &map_name, "file",
		  &file, "program", &program);
	map = packets_map(name, strlen(name), map_name);
	if (program)
		element[1] = (uint32_t)packets_program(program);
	else
		at = plan_map(file, 1, &n);
	plan_check(fill(map, at, n), "filling the map %s", map_name);
	if (!program)
		munmap((void *)(uintptr_t)at, n);
	return json_object();
}

/*
 * {"object", "map"} -> {"sums": [[KEY, N, …], …]}: the 64-bit numbers of a per-CPU array's
 * elements, each summed over all CPUs. Elements of zeros are left out.
 */
json_t *packets_sums_step(json_t *arguments)
{
	size_t n_cpus = (size_t)libbpf_num_possible_cpus(), words;
	_cleanup_free_ uint64_t *each = NULL;
	const char *name, *map_name;
	json_t *sums = json_array();
	const struct bpf_map *map;

	plan_take(arguments, "{s:s, s:s}", "object", &name, "map", &map_name);
	map = packets_map(name, strlen(name), map_name);
	words = (bpf_map__value_size(map) + 7) / sizeof(*each);
	each = plan_alloc(n_cpus * words, sizeof(*each));
	for (uint32_t key = 0; key < bpf_map__max_entries(map); key++) {
		json_t *element = json_pack("[i]", key);
		uint64_t any = 0;

		plan_check(bpf_map_lookup_elem(bpf_map__fd(map), &key, each), "map %s", map_name);
		for (size_t word = 0; word < words; word++) {
			uint64_t sum = 0;

			for (size_t cpu = 0; cpu < n_cpus; cpu++)
				sum += each[cpu * words + word];
			any |= sum;
			json_array_append_new(element, json_integer((json_int_t)sum));
		}
		if (any)
			json_array_append(sums, element);
		json_decref(element);
	}
	return json_pack("{s:o}", "sums", sums);
}
