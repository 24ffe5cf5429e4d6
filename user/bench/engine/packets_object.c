// SPDX-License-Identifier: GPL-2.0-only
/* Object files of BPF, their programs and maps; and programs of devices. */
#include "packets_user.h"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/mman.h>

#define MOST 512

static struct object {
	char name[32];
	struct bpf_object *object; /* NULL: a program of a device */
	int prog;
} objects[MOST];
static size_t n_objects;

static struct object *find(const char *name, size_t n)
{
	for (size_t i = 0; i < n_objects; i++)
		if (strlen(objects[i].name) == n && !strncmp(objects[i].name, name, n))
			return &objects[i];
	return NULL;
}

/* A new entry, or the one of this name with its object closed. */
static struct object *add(const char *name)
{
	struct object *object = find(name, strlen(name));

	if (!object && (n_objects == MOST || strlen(name) >= sizeof(object->name))) {
		plan_bad(-E2BIG, "%s: too many objects, or too long a name", name);
		return NULL;
	}
	object = object ?: &objects[n_objects++];
	bpf_object__close(object->object);
	*object = (struct object){ .prog = -1 };
	snprintf(object->name, sizeof(object->name), "%s", name);
	return object;
}

int object_program(const char *name)
{
	size_t n = strcspn(name, ".");
	const struct object *object = find(name, n);
	const struct bpf_program *prog = NULL;

	if (object && !object->object)
		return object->prog;
	if (object && name[n])
		prog = bpf_object__find_program_by_name(object->object, name + n + 1);
	return prog ? bpf_program__fd(prog) : plan_bad(-ENOENT, "no program %s is loaded", name);
}

struct bpf_map *object_map(const char *name, size_t n, const char *map_name)
{
	const struct object *object = find(name, n);
	struct bpf_map *map = NULL;

	if (object && object->object)
		map = bpf_object__find_map_by_name(object->object, map_name);
	if (!map)
		plan_bad(-ENOENT, "no map %s of %.*s is loaded", map_name, (int)n, name);
	return map;
}

int object_ifindex(const char *device)
{
	unsigned int ifindex = if_nametoindex(device);

	return ifindex ? (int)ifindex : plan_fail(-errno, "device %s", device);
}

int object_hex(const char *text, void *out, size_t size)
{
	size_t n = strlen(text) / 2;
	uint8_t *bytes = out;

	if (n > size || strspn(text, "0123456789abcdef") != 2 * n || text[2 * n])
		return plan_bad(-EINVAL, "\"%s\" is not at most %zu bytes in hexadecimal digits",
				text, size);
	for (size_t i = 0; i < n; i++)
		sscanf(text + 2 * i, "%2hhx", &bytes[i]);
	return (int)n;
}

/* --- loading -------------------------------------------------------------------------------- */

static bool is_wanted(json_t *programs, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(programs, i,
			   item) if (!strcmp(json_string_value(item) ?: "", name)) return true;
	return !programs;
}

static int configure(struct bpf_object *object, json_t *entries, const char *rodata)
{
	uint8_t bytes[4096];
	struct bpf_map *map;
	int n = object_hex(rodata, bytes, sizeof(bytes)), ret = n < 0 ? n : 0;

	bpf_object__for_each_map(map, object)
	{
		json_int_t most = json_integer_value(json_object_get(entries, bpf_map__name(map)));

		if (!ret && most)
			ret = bpf_map__set_max_entries(map, (uint32_t)most);
		if (!ret && n && strstr(bpf_map__name(map), ".rodata"))
			ret = bpf_map__set_initial_value(map, bytes, (size_t)n);
	}
	return ret;
}

/* Load the programs, and attach those that trace the kernel. */
static int load(struct bpf_object *object, json_t *programs, bool frags)
{
	struct bpf_program *prog;
	int ret = 0;

	bpf_object__for_each_program(prog, object)
	{
		bpf_program__set_autoload(prog, is_wanted(programs, bpf_program__name(prog)));
		if (!ret && frags && bpf_program__type(prog) == BPF_PROG_TYPE_XDP)
			ret = bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	}
	ret = ret ?: bpf_object__load(object);
	bpf_object__for_each_program(prog,
				     object) if (!ret && bpf_program__autoload(prog) &&
						 bpf_program__type(prog) == BPF_PROG_TYPE_TRACING &&
						 !bpf_program__attach(prog)) ret = -errno;
	return ret;
}

/* The descriptor of the program that a device runs, or -errno. */
static int find_attached(const char *device)
{
	int ifindex = object_ifindex(device), ret;
	uint32_t id = 0;

	if (ifindex < 0)
		return ifindex;
	ret = bpf_xdp_query_id(ifindex, 0, &id) ?: bpf_prog_get_fd_by_id(id);
	return ret < 0 ? plan_fail(ret, "the program on %s", device) : ret;
}

int object_load(void *ctx, json_t *arguments, json_t *answer)
{
	const char *name, *path = "", *device = NULL, *rodata = "";
	json_t *programs = NULL, *entries = NULL;
	struct object *object;
	int frags = 0, ret;

	(void)ctx, (void)answer;
	ret = plan_take(arguments, "{s:s, s?s, s?s, s?o, s?o, s?s, s?b}", "name", &name, "object",
			&path, "device", &device, "programs", &programs, "entries", &entries,
			"rodata", &rodata, "frags", &frags);
	object = ret ? NULL : add(name);
	if (!object)
		return ret ?: -E2BIG;
	if (device) {
		object->prog = find_attached(device);
		return object->prog < 0 ? object->prog : 0;
	}
	object->object = bpf_object__open_file(path, NULL);
	ret = object->object ? configure(object->object, entries, rodata) : -errno;
	ret = ret ?: load(object->object, programs, frags);
	return ret ? plan_fail(ret, "loading %s", path) : 0;
}

int object_attach(void *ctx, json_t *arguments, json_t *answer)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);
	int generic = 0, replace = 0, ifindex, prog, ret;
	const char *name, *device;
	bool busy = false;

	(void)ctx;
	ret = plan_take(arguments, "{s:s, s:s, s?b, s?b}", "program", &name, "device", &device,
			"generic", &generic, "replace", &replace);
	ifindex = ret ?: object_ifindex(device);
	prog = ifindex < 0 ? ifindex : object_program(name);
	if (prog < 0)
		return prog;
	options.flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	if (replace)
		ret = bpf_xdp_attach(ifindex, prog, options.flags, NULL);
	else
		ret = bpf_link_create(prog, ifindex, BPF_XDP, &options);
	busy = ret < 0 && (errno == EBUSY || errno == EEXIST);
	json_object_set_new(answer, "busy", json_boolean(busy));
	return ret < 0 && !busy ? plan_fail(-errno, "attaching %s to %s", name, device) : 0;
}

/* --- maps ----------------------------------------------------------------------------------- */

static int fill(const struct bpf_map *map, const uint8_t *at, size_t bytes)
{
	size_t key = bpf_map__key_size(map), each = key + bpf_map__value_size(map);
	void *to;
	int ret = 0;

	if (!(bpf_map__map_flags(map) & BPF_F_MMAPABLE)) {
		for (size_t i = 0; i < bytes / each && !ret; i++)
			ret = bpf_map_update_elem(bpf_map__fd(map), at + i * each,
						  at + i * each + key, BPF_ANY);
		return ret;
	}
	if (bytes > (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map))
		return -E2BIG;
	to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (to == MAP_FAILED)
		return -errno;
	memcpy(to, at, bytes);
	munmap(to, bytes);
	return 0;
}

int object_fill(void *ctx, json_t *arguments, json_t *answer)
{
	const char *name, *map_name, *file = NULL, *data = "", *program = NULL;
	uint8_t bytes[4096] = { 0 };
	const void *at = bytes;
	struct bpf_map *map;
	size_t n;
	int ret;

	(void)ctx, (void)answer;
	ret = plan_take(arguments, "{s:s, s:s, s?s, s?s, s?s}", "object", &name, "map", &map_name,
			"file", &file, "data", &data, "program", &program);
	map = ret ? NULL : object_map(name, strlen(name), map_name);
	if (!map)
		return ret ?: -ENOENT;
	ret = program ? object_program(program) : object_hex(data, bytes, sizeof(bytes));
	n = program ? 2 * sizeof(ret) : (size_t)ret;
	if (program)
		memcpy(bytes + sizeof(ret), &ret, sizeof(ret));
	if (file)
		at = plan_map(file, 1, &n);
	if (ret < 0 || !at)
		return ret < 0 ? ret : -ENOENT;
	ret = fill(map, at, n);
	if (file)
		munmap((void *)(uintptr_t)at, n);
	return ret ? plan_fail(ret, "filling the map %s", map_name) : 0;
}

/* Append the sums of an element, unless all of them are 0. */
static void add_sums(json_t *list, uint32_t key, const uint64_t *each, size_t words, size_t n_cpus)
{
	json_t *sums = json_pack("[I]", (json_int_t)key);
	bool any = false;

	for (size_t word = 0; word < words; word++) {
		uint64_t sum = 0;

		for (size_t cpu = 0; cpu < n_cpus; cpu++)
			sum += each[cpu * words + word];
		any |= sum > 0;
		json_array_append_new(sums, json_integer((json_int_t)sum));
	}
	if (any)
		json_array_append(list, sums);
	json_decref(sums);
}

static int sum_map(const struct bpf_map *map, json_t *sums)
{
	size_t n_cpus = (size_t)libbpf_num_possible_cpus();
	size_t words = (bpf_map__value_size(map) + 7) / sizeof(uint64_t);
	uint64_t *each = calloc(n_cpus * words, sizeof(*each));
	int ret = each ? 0 : -ENOMEM;

	for (uint32_t key = 0; key < bpf_map__max_entries(map) && !ret; key++) {
		ret = bpf_map_lookup_elem(bpf_map__fd(map), &key, each);
		if (!ret)
			add_sums(sums, key, each, words, n_cpus);
	}
	free(each);
	return ret ? plan_fail(ret, "reading the map %s", bpf_map__name(map)) : 0;
}

int object_sums(void *ctx, json_t *arguments, json_t *answer)
{
	const char *name, *map_name;
	json_t *sums = json_array();
	struct bpf_map *map;
	int ret;

	(void)ctx;
	json_object_set_new(answer, "sums", sums);
	ret = plan_take(arguments, "{s:s, s:s}", "object", &name, "map", &map_name);
	map = ret ? NULL : object_map(name, strlen(name), map_name);
	return map ? sum_map(map, sums) : ret ?: -ENOENT;
}
