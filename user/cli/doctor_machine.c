// SPDX-License-Identifier: GPL-2.0-only
/* Checks of the machine: what XDP, the maps and the daemon need, whatever the ports. */
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "../lib/kernel.h"
#include "../loader/arena.h"
#include "doctor.h"

#define BTF "/sys/kernel/btf/vmlinux"

static void check_absent(struct checkup *checkup)
{
	for (size_t i = 0; i < checkup->filter.n_absent; i++)
		check_error(checkup, checkup->filter.absent[i], "no device is named \"%s\"",
			    checkup->filter.absent[i]);
}

static void check_kernel(struct checkup *checkup)
{
	if (kernel_before(5, 15))
		check_error(checkup, NULL, "this kernel is older than Linux 5.15");
}

static void check_rights(struct checkup *checkup)
{
	char caps[96];

	loader_missing_caps(caps, sizeof(caps));
	if (*caps)
		check_error(
			checkup, NULL,
			"this process lacks %s: it cannot read all maps, programs, policies and rules, so this report may be incomplete",
			caps);
}

static void check_bpffs(struct checkup *checkup)
{
	char err[LOADER_ERR];

	if (loader_check_bpffs(err))
		check_error(checkup, NULL, "%s", err);
}

/* From Linux 5.11 on maps are charged to the cgroup instead. */
static void check_memlock(struct checkup *checkup)
{
	struct rlimit limit;

	if (kernel_before(5, 11) && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY)
		check_error(checkup, NULL,
			    "the limit of locked memory is %llu bytes, too small for the maps",
			    (unsigned long long)limit.rlim_cur);
}

/* Only the first network namespace has this setting. */
static void check_jit(struct checkup *checkup)
{
	if (!kernel_sysctl("net/core/bpf_jit_enable", 1))
		check_error(checkup, NULL,
			    "the kernel interprets BPF programs, which makes them slow");
}

static void check_btf(struct checkup *checkup)
{
	if (access(BTF, R_OK))
		check_warn(checkup, NULL,
			   "this kernel has no BTF (" BTF
			   "): multipath routes that were read from a dump pass to the kernel");
}

static void check_arena(struct checkup *checkup)
{
	if (!checkup->has_maps || !checkup->daemon || checkup->view->fds.arena)
		return;
	if (loader_arena_usable() != 1) {
		check_note(
			checkup, NULL,
			"the compiled FIB lies in array maps: this kernel has no arenas, which make lookups somewhat faster");
		return;
	}
	check_warn(
		checkup, NULL,
		"the compiled FIB lies in array maps, although this kernel has arenas, which make lookups faster");
	check_advise(checkup, "restart sixlaned with sixlane.arena.bpf.o beside its object");
}

static void check_membarrier(struct checkup *checkup)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL))
		check_warn(
			checkup, NULL,
			"the kernel refuses membarrier(), as with nohz_full=: there is no compiled FIB, and lookups use the slower LPM trie");
}

static bool any_forces(const struct checkup *checkup)
{
	char name[64 + IFNAMSIZ];

	for (size_t i = 0; i < checkup->ports.n; i++) {
		const struct link *link = checkup->ports.at[i].link;

		snprintf(name, sizeof(name), "net/ipv6/conf/%s/force_forwarding", link->name);
		if (port_filter_has(&checkup->filter, link->ifindex) && kernel_sysctl(name, 0))
			return true;
	}
	return false;
}

static void check_forwarding(struct checkup *checkup)
{
	if (!kernel_sysctl("net/ipv6/conf/all/forwarding", 1) && !any_forces(checkup))
		check_error(
			checkup, NULL,
			"forwarding is off (net.ipv6.conf.all.forwarding): neither the kernel nor sixlane forwards");
}

static void check_maps(struct checkup *checkup)
{
	struct loader_maps maps;
	char err[LOADER_ERR];

	if (checkup->has_maps || loader_check_bpffs(err))
		return;
	if (loader_open_maps(&maps, true, err)) {
		check_error(checkup, NULL, "%s", err);
		return;
	}
	loader_close_maps(&maps);
	check_error(checkup, NULL, "the maps in %s cannot be read", loader_pin_dir());
}

/* The maps name ports by ifindex, which is another device in another namespace. */
static void check_other_namespaces(struct checkup *checkup)
{
	uint32_t *ids = calloc(checkup->ports.n + 1, sizeof(*ids)), other = 0;
	bool known = ids;

	for (size_t i = 0; ids && i < checkup->ports.n; i++) {
		ids[i] = checkup->ports.at[i].prog.id;
		known &= !checkup->ports.at[i].error;
	}
	if (known)
		other = loader_find_other_prog(&checkup->view->fds, ids, checkup->ports.n);
	free(ids);
	if (other)
		check_error(
			checkup, NULL,
			"a sixlane program with the maps in %s (id %u) runs in another network namespace, where it may misroute packets",
			loader_pin_dir(), other);
}

static void check_namespace(struct checkup *checkup)
{
	pid_t pid = loader_daemon_elsewhere();

	if (pid)
		check_error(
			checkup, NULL,
			"the sixlaned that serves the maps in %s (process %d) is in another network namespace, and serves no port of this one",
			loader_pin_dir(), pid);
	else if (checkup->has_maps)
		check_other_namespaces(checkup);
}

static void check_ports(struct checkup *checkup)
{
	if (!checkup->filter.all)
		return;
	for (size_t i = 0; i < checkup->ports.n; i++)
		if (loader_is_sixlane(&checkup->ports.at[i].prog) || checkup->ports.at[i].error)
			return;
	check_error(checkup, NULL, "no port of this network namespace runs sixlane");
}

const struct check doctor_machine[] = {
	{ "arguments", check_absent, .usual = "'ip link' lists the devices" },
	{ "kernel", check_kernel, .usual = "boot a newer kernel" },
	{ "capabilities", check_rights, .usual = "run as root" },
	{ "bpffs", check_bpffs, .usual = NULL },
	{ "memlock", check_memlock, .usual = "run 'ulimit -l unlimited'" },
	{ "jit", check_jit, .usual = "sysctl -w net.core.bpf_jit_enable=1" },
	{ "btf", check_btf, .usual = "boot a kernel with CONFIG_DEBUG_INFO_BTF" },
	{ "arena", check_arena, .usual = "none on this kernel: Linux 6.9 and newer have arenas" },
	{ "membarrier", check_membarrier,
	  .usual = "boot without nohz_full= if lookups must be fastest" },
	{ "forwarding", check_forwarding, .usual = "sysctl -w net.ipv6.conf.all.forwarding=1" },
	{ "maps", check_maps, .usual = NULL },
	{ "namespace", check_namespace,
	  .usual =
		  "give each namespace its own bpffs: 'unshare -m', 'mount -t bpf bpf /sys/fs/bpf', then start sixlaned" },
	{ "ports", check_ports, .usual = "run 'sixlane attach PORT...', or 'sixlaned PORT...'" },
	{ .name = NULL },
};
