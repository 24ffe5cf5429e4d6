// SPDX-License-Identifier: GPL-2.0-only
/* See nic_setup.h. */
#include "nic_setup.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../../cli/ports.h"
#include "../../lib/log.h"
#include "../../lib/util.h"
#include "../bench.h"
#include "../progress.h"
#include "nic_check.h"
#include "nic_netns.h"
#include "nic_undo.h"

#define POLL_NS 20000000 /* of links that are to come up */

struct nic_setup {
	struct nic_undo *undo;
	char **notes;
	size_t n_notes;
	struct nic_plan plan; /* too large for the stack */
	struct nic_irq irqs[NIC_MAX_IRQS];
};

int nic_setup_begin(struct nic_setup **out)
{
	struct nic_setup *setup = calloc(1, sizeof(*setup));
	int ret;

	if (!setup)
		return bench_fail(-ENOMEM, "changes of devices");
	ret = nic_undo_begin(&nic_backend_kernel, &setup->undo);
	if (ret)
		free(setup);
	else
		*out = setup;
	return ret;
}

int nic_setup_end(struct nic_setup *setup)
{
	int ret, left;

	if (!setup)
		return 0;
	ret = nic_undo_end(setup->undo);
	left = nic_netns_leave();
	if (left)
		ret = bench_fail(left, "cannot go back into the network namespace of before");
	for (size_t i = 0; i < setup->n_notes; i++)
		free(setup->notes[i]);
	free(setup->notes);
	free(setup);
	return ret;
}

size_t nic_setup_notes(const struct nic_setup *setup, const char *const **notes)
{
	*notes = (const char *const *)setup->notes;
	return setup->n_notes;
}

static bool is_noted(const struct nic_setup *setup, const char *text)
{
	for (size_t i = 0; i < setup->n_notes; i++)
		if (!strcmp(setup->notes[i], text))
			return true;
	return false;
}

/* Said as a warning and kept for the report, once. */
static int note(struct nic_setup *setup, const char *fmt, ...) _printf_(2, 3);
static int note(struct nic_setup *setup, const char *fmt, ...)
{
	char **grown = reallocarray(setup->notes, setup->n_notes + 1, sizeof(*grown));
	char *text = NULL;
	va_list ap;
	int n;

	if (!grown)
		return bench_fail(-ENOMEM, "notes");
	setup->notes = grown;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return bench_fail(-ENOMEM, "notes");
	if (is_noted(setup, text)) {
		free(text);
		return 0;
	}
	log_warning("%s", text);
	setup->notes[setup->n_notes++] = text;
	return 0;
}

/* --- changes -------------------------------------------------------------------------------- */

/* What else than its figures depends on. */
static bool is_needed(const struct nic_change *change)
{
	switch (change->what) {
	case NIC_RINGS:
	case NIC_COALESCE:
	case NIC_FEATURE:
	case NIC_FILE:
		return false;
	default:
		return true;
	}
}

static int make(struct nic_setup *setup, const struct nic_change *change)
{
	char command[NIC_COMMAND_LEN];
	int ret;

	if (bench_interrupted())
		return -EINTR;
	ret = nic_undo_set(setup->undo, change);
	if (!ret)
		return 0;
	if (ret == -EOWNERDEAD)
		return bench_bad(ret, "the process that is to restore the devices has ended: "
				      "no device is changed without it");
	nic_change_command(change, command);
	if (is_needed(change))
		return bench_fail(ret, "%s", command);
	return note(setup, "%s%snot set (%s); by hand: %s", change->dev, *change->dev ? ": " : "",
		    strerror(-ret), command);
}

/* As it is now it is to be again. */
static int keep(struct nic_setup *setup, const struct nic_change *change)
{
	struct nic_change now;
	int ret = nic_backend_kernel.read(change, &now);

	return ret ?: nic_undo_keep(setup->undo, &now);
}

/* What cannot be read was not set by anybody. */
static int keep_if_readable(struct nic_setup *setup, const struct nic_change *change)
{
	int ret = keep(setup, change);

	return ret == -EOWNERDEAD || ret == -ENOMEM ? ret : 0;
}

static int make_all(struct nic_setup *setup)
{
	int ret = 0;

	for (size_t i = 0; i < setup->plan.n && !ret; i++)
		ret = make(setup, &setup->plan.at[i]);
	return ret;
}

static int read_state(const char *dev, struct nic_state *state)
{
	int ret = nic_state_read(dev, state);

	return ret ? bench_fail(ret, "cannot read the state of %s", dev) : 0;
}

/*
 * With other numbers of queues the kernel forgets where those go that are left out, and drivers ask
 * for their interrupts anew: as all of that is before, it comes back after the queues have.
 */
static int keep_affinity(struct nic_setup *setup, const struct nic_state *state,
			 const struct nic_want *want)
{
	struct nic_want all = *want;
	size_t n = 0;
	int ret = 0;

	all.queues = 0;
	setup->plan.n = 0;
	if (!nic_irq_read(state->dev, setup->irqs, &n))
		nic_plan_affinity(state, &all, setup->irqs, n, &setup->plan);
	for (size_t i = 0; i < setup->plan.n && !ret; i++)
		ret = keep_if_readable(setup, &setup->plan.at[i]);
	return ret ? bench_fail(ret, "keeping where the queues of %s go", state->dev) : 0;
}

int nic_setup_device(struct nic_setup *setup, const char *dev, const struct nic_want *want)
{
	struct nic_state state;
	int ret = read_state(dev, &state);

	ret = ret ?: keep_affinity(setup, &state, want);
	if (ret)
		return ret;
	if (want->queues && !state.has_channels && want->queues != nic_state_max_queues(&state))
		ret = note(setup, "%s: its driver has no number of queues to set; it has %u", dev,
			   nic_state_max_queues(&state));
	setup->plan.n = 0;
	nic_plan_device(&state, want, &setup->plan);
	ret = ret ?: make_all(setup);
	return ret ?: nic_try_xdp(dev, true);
}

int nic_setup_affinity(struct nic_setup *setup, const char *dev, const struct nic_want *want)
{
	struct nic_state state;
	size_t n = 0;
	int ret = read_state(dev, &state);

	if (ret || !want->n_cpus)
		return ret;
	if (!state.in_sysfs)
		return note(setup,
			    "%s: its interrupts and queues stay where they are, since /sys is "
			    "that of another network namespace ('ip netns exec' has the right "
			    "one)",
			    dev);
	ret = nic_irq_read(dev, setup->irqs, &n);
	if (ret)
		return bench_fail(ret, "cannot read which interrupts %s has", dev);
	if (n && nic_irq_is_balanced())
		ret = note(setup, "irqbalance moves interrupts while measuring: 'systemctl stop "
				  "irqbalance' first");
	setup->plan.n = 0;
	nic_plan_affinity(&state, want, setup->irqs, n, &setup->plan);
	return ret ?: make_all(setup);
}

/* --- devices that are taken down ------------------------------------------------------------ */

static struct nic_change change_of(const char *dev, enum nic_what what)
{
	struct nic_change change;

	memset(&change, 0, sizeof(change));
	change.what = what;
	change.ifindex = if_nametoindex(dev);
	snprintf(change.dev, sizeof(change.dev), "%s", dev);
	return change;
}

/* Those of its device. */
static int keep_addresses(struct nic_setup *setup, struct nic_change change)
{
	_cleanup_free_ struct nic_address *list = NULL;
	size_t n = 0;
	int ret = nic_link_addresses(if_nametoindex(change.dev), &list, &n);

	change.present = true;
	/* they come back in the reverse order, in which the kernel then has them as before */
	for (size_t i = n; i-- && !ret;) {
		change.address = list[i];
		ret = nic_undo_keep(setup->undo, &change);
	}
	return ret ? bench_fail(ret, "cannot read the addresses of %s", change.dev) : 0;
}

/* --- a network namespace of its own --------------------------------------------------------- */

/* Of a device that may come back with another number. */
static struct nic_change named(const char *dev, enum nic_what what)
{
	struct nic_change change = change_of(dev, what);

	change.ifindex = 0;
	return change;
}

/* Those of one directory of a device. */
static int keep_files(struct nic_setup *setup, const char *dev, const char *path)
{
	struct nic_change change = named(dev, NIC_FILE);
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int ret = 0;

	while (dir && !ret && (entry = readdir(dir))) {
		size_t n = (size_t)snprintf(change.file.path, sizeof(change.file.path), "%s/%s",
					    path, entry->d_name);

		if (entry->d_name[0] != '.' && n < sizeof(change.file.path))
			ret = keep_if_readable(setup, &change);
	}
	if (dir)
		closedir(dir);
	return ret;
}

static int keep_sysctls(struct nic_setup *setup, const char *dev)
{
	static const char *const places[] = { "ipv4/conf", "ipv4/neigh", "ipv6/conf",
					      "ipv6/neigh" };
	char path[96];
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !ret; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/%s/%s", places[i], dev);
		ret = keep_files(setup, dev, path);
	}
	return ret;
}

/*
 * What comes back last is first: a driver may ask for interrupts and queues anew when its device
 * goes up, addresses are for a device that is up, and how it gets those of its own the kernel has
 * to know before.
 */
static int keep_outside(struct nic_setup *setup, const char *dev)
{
	static const unsigned int any_cpu;
	const struct nic_want want = { .usecs = -1, .cpus = &any_cpu, .n_cpus = 1 };
	const struct nic_change up = named(dev, NIC_UP);
	struct nic_state state;
	int ret = read_state(dev, &state) ?: keep_affinity(setup, &state, &want);

	ret = ret ?: keep_addresses(setup, named(dev, NIC_ADDRESS));
	if (ret)
		return ret;
	ret = keep(setup, &up) ?: keep_sysctls(setup, dev);
	return ret ? bench_fail(ret, "cannot read the settings of %s", dev) : 0;
}

static int go_inside(struct nic_setup *setup)
{
	struct nic_change change;
	int ret = nic_netns_make();

	if (ret)
		return ret;
	memset(&change, 0, sizeof(change));
	change.what = NIC_INSIDE;
	change.netns.pid = getpid();
	ret = nic_undo_keep(setup->undo, &change);
	return ret ? bench_fail(ret, "network namespace of the process that restores the devices")
		   : 0;
}

static int move_inside(struct nic_setup *setup, const char *dev)
{
	struct nic_change change = named(dev, NIC_NETNS);
	int ret;

	change.netns.inside = true;
	if (bench_interrupted())
		return -EINTR;
	ret = nic_undo_set(setup->undo, &change);
	if (ret == -EINVAL)
		return bench_bad(ret,
				 "%s cannot be moved into another network namespace, which no bond "
				 "can: name its slaves, and --bond makes another one of them",
				 dev);
	return ret ? bench_fail(ret, "cannot move %s into a network namespace", dev) : 0;
}

int nic_setup_isolate(struct nic_setup *setup, const char *const *devs, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = keep_outside(setup, devs[i]);
	ret = ret ?: go_inside(setup);
	for (size_t i = 0; i < n && !ret; i++)
		ret = move_inside(setup, devs[i]);
	if (ret)
		return ret;
	/* by which the kernel's routes of its own addresses go */
	ret = nic_link_set_up(if_nametoindex("lo"), true);
	return ret ? bench_fail(ret, "cannot bring up lo in a network namespace") : 0;
}

/* --- bonds ---------------------------------------------------------------------------------- */

/* The addresses first, so that they come back last, when it is up; its MAC while it is down. */
static int prepare_slave(struct nic_setup *setup, const char *dev)
{
	const struct nic_change down = change_of(dev, NIC_UP), mtu = change_of(dev, NIC_MTU),
				mac = change_of(dev, NIC_MAC);
	int ret = keep_addresses(setup, change_of(dev, NIC_ADDRESS)) ?: make(setup, &down);

	if (ret)
		return ret;
	ret = keep(setup, &mtu) ?: keep(setup, &mac);
	return ret ? bench_fail(ret, "cannot read the state of %s", dev) : 0;
}

static int make_bond(struct nic_setup *setup, const struct nic_bond_want *want)
{
	struct nic_change change = change_of(want->name, NIC_BOND);
	int ret;

	if (change.ifindex)
		return bench_bad(-EEXIST,
				 "there is a device %s already: name the bond otherwise, "
				 "or 'ip link delete %s'",
				 want->name, want->name);
	change.present = true;
	change.bond = want->bond;
	if (bench_interrupted())
		return -EINTR;
	ret = nic_undo_set(setup->undo, &change);
	if (ret == -EOPNOTSUPP)
		return bench_bad(ret,
				 "this kernel has no bonds (CONFIG_BONDING; 'modprobe bonding' "
				 "may say why)");
	return ret ? bench_fail(ret, "cannot make a bond %s", want->name) : 0;
}

static int add_slave(struct nic_setup *setup, const char *dev, uint32_t bond)
{
	struct nic_change change = change_of(dev, NIC_MASTER);

	change.master = bond;
	return make(setup, &change);
}

static int set_bond_up(struct nic_setup *setup, const char *bond, unsigned int bytes)
{
	struct nic_change up = change_of(bond, NIC_UP);
	struct nic_change mtu = change_of(bond, NIC_MTU);
	int ret = 0;

	up.up = true;
	mtu.mtu = bytes;
	if (bytes)
		ret = make(setup, &mtu);
	return ret ?: make(setup, &up);
}

int nic_setup_bond(struct nic_setup *setup, const struct nic_bond_want *want, unsigned int mtu)
{
	uint32_t ifindex;
	int ret;

	if (want->bond.mode >= nic_bond_n_modes || !nic_bond_modes[want->bond.mode] ||
	    want->bond.policy >= nic_bond_n_policies || !nic_bond_policies[want->bond.policy])
		return bench_bad(-EINVAL, "%s: not a mode in which bonds have native XDP",
				 want->name);
	/* before a device is touched: not every kernel has bonds */
	ret = make_bond(setup, want);
	ifindex = if_nametoindex(want->name);
	for (size_t i = 0; i < want->n_slaves && !ret; i++)
		ret = prepare_slave(setup, want->slaves[i])
			      ?: add_slave(setup, want->slaves[i], ifindex);
	return ret ?: set_bond_up(setup, want->name, mtu);
}

int nic_setup_program(struct nic_setup *setup, const char *dev)
{
	struct nic_change none = change_of(dev, NIC_XDP);
	int ret = nic_undo_keep(setup->undo, &none);

	return ret ? bench_fail(ret, "keeping that %s has no program", dev) : 0;
}

/* --- links ---------------------------------------------------------------------------------- */

/* The names of those without. 0 or -errno. */
static int list_without_link(const char *const *devs, size_t n, char *out, size_t size)
{
	struct ports ports;
	int ret = ports_read(&ports);
	size_t used = 0;

	if (ret)
		return ret;
	*out = '\0';
	for (size_t i = 0; i < n && used < size; i++) {
		const struct link *link = ports_find(&ports, if_nametoindex(devs[i]));

		if (!link || !link->carrier)
			used += (size_t)snprintf(out + used, size - used, " %s", devs[i]);
	}
	ports_free(&ports);
	return 0;
}

int nic_setup_wait(const char *const *devs, size_t n, unsigned int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t end_ns = util_now_ns() + (uint64_t)timeout_ms * 1000000u;
	char without[256];
	int ret;

	for (;;) {
		ret = list_without_link(devs, n, without, sizeof(without));
		if (ret)
			return bench_fail(ret, "cannot read which devices have a link");
		if (!*without)
			return 0;
		if (bench_interrupted())
			return -EINTR;
		if (util_now_ns() >= end_ns)
			return bench_bad(-ETIMEDOUT,
					 "no link after %u ms:%s; see to the cables, "
					 "and to the other end",
					 timeout_ms, without);
		nanosleep(&pause, NULL);
	}
}
