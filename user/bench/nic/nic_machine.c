// SPDX-License-Identifier: GPL-2.0-only
/* See nic_machine.h. */
#include "nic_machine.h"

#include <errno.h>
#include <linux/if.h> /* ALTIFNAMSIZ, behind net/if.h */
#include <string.h>

#include "../../cli/print.h"
#include "../../netlink/socket_link.h"
#include "../bench.h"
#include "nic_check.h"

/* What a NIC takes to agree with the other end on how fast they are. */
#define LINK_TIMEOUT_MS 10000

/* --- the command line's words --------------------------------------------------------------- */

int nic_machine_add(struct nic_machine *machine, const char *dev)
{
	char own[IFNAMSIZ];

	dev = nl_link_own_name(dev, own);
	if (!*dev || strlen(dev) >= IFNAMSIZ)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < machine->n_devs; i++)
		if (!strcmp(machine->devs[i], dev))
			return -EEXIST;
	if (machine->n_devs == NIC_MAX_DEVICES)
		return -E2BIG;
	snprintf(machine->devs[machine->n_devs++], IFNAMSIZ, "%s", dev);
	return 0;
}

static int add_slave(struct nic_machine *machine, struct nic_bond_want *bond, const char *dev)
{
	int ret;

	if (bond->n_slaves == NIC_MAX_SLAVES)
		return -E2BIG;
	ret = nic_machine_add(machine, dev);
	if (!ret)
		memcpy(bond->slaves[bond->n_slaves++], machine->devs[machine->n_devs - 1],
		       IFNAMSIZ);
	return ret;
}

int nic_machine_add_bond(struct nic_machine *machine, const char *spec)
{
	struct nic_bond_want *bond = &machine->bonds[machine->n_bonds];
	const char *at = strchr(spec, '=');
	char dev[ALTIFNAMSIZ];
	int ret = 0;

	if (machine->n_bonds == NIC_MAX_BONDS)
		return -E2BIG;
	if (!at || at == spec || !at[1])
		return -EINVAL;
	if ((size_t)(at - spec) >= sizeof(bond->name))
		return -ENAMETOOLONG;
	memset(bond, 0, sizeof(*bond));
	memcpy(bond->name, spec, (size_t)(at - spec));
	while (*at && !ret) {
		size_t n = strcspn(++at, ",");

		if (!n)
			return -EINVAL;
		if (n >= sizeof(dev))
			return -ENAMETOOLONG;
		snprintf(dev, sizeof(dev), "%.*s", (int)n, at);
		ret = add_slave(machine, bond, dev);
		at += n;
	}
	if (!ret)
		machine->n_bonds++;
	return ret;
}

static int find_name(const char *const *names, size_t n, const char *name, uint8_t *out)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && !strcmp(names[i], name)) {
			*out = (uint8_t)i;
			return 0;
		}
	return -EINVAL;
}

int nic_bond_parse_mode(const char *name, uint8_t *mode)
{
	return find_name(nic_bond_modes, nic_bond_n_modes, name, mode);
}

int nic_bond_parse_policy(const char *name, uint8_t *policy)
{
	return find_name(nic_bond_policies, nic_bond_n_policies, name, policy);
}

/* --- checking ------------------------------------------------------------------------------- */

/* Its place among the bonds, -1: it is nobody's slave. */
static int bond_of(const struct nic_machine *machine, const char *dev)
{
	for (size_t i = 0; i < machine->n_bonds; i++)
		for (size_t k = 0; k < machine->bonds[i].n_slaves; k++)
			if (!strcmp(machine->bonds[i].slaves[k], dev))
				return (int)i;
	return -1;
}

/* Slaves, or the others: of slaves more is asked than of devices that keep their routes. */
static int check_some(const struct nic_machine *machine, bool slaves)
{
	const struct nic_check_want want = {
		.queues = machine->want.queues,
		.enslave = slaves,
		.isolate = machine->isolate,
		.force = machine->force,
		.force_login = machine->force_login,
	};
	const char *devs[NIC_MAX_DEVICES];
	size_t n = 0;

	for (size_t i = 0; i < machine->n_devs; i++)
		if ((bond_of(machine, machine->devs[i]) >= 0) == slaves)
			devs[n++] = machine->devs[i];
	return n ? nic_check(devs, n, &want) : 0;
}

static int check_name(const char *bond)
{
	if (!if_nametoindex(bond))
		return 0;
	return bench_bad(
		-EEXIST,
		"there is a device %s already: name the bond otherwise, or 'ip link delete "
		"%s'",
		bond, bond);
}

int nic_machine_check(const struct nic_machine *machine)
{
	int slaves = check_some(machine, true), others = check_some(machine, false);
	int ret = slaves ?: others;

	for (size_t i = 0; i < machine->n_bonds; i++) {
		int one = check_name(machine->bonds[i].name);

		ret = ret ?: one;
	}
	return ret;
}

/* --- the plan ------------------------------------------------------------------------------- */

static void put_command(json_t *commands, const struct nic_change *change)
{
	char command[NIC_COMMAND_LEN];

	nic_change_command(change, command);
	print_append(commands, print_string(command));
}

/* Not if it is so already. */
static void append_command(json_t *commands, const struct nic_change *change)
{
	struct nic_change now;

	if (nic_backend_kernel.read(change, &now) || !nic_change_same(&now, change))
		put_command(commands, change);
}

/* Which takes it down. */
static void plan_move(struct nic_state *state, json_t *commands)
{
	struct nic_change change;

	memset(&change, 0, sizeof(change));
	change.what = NIC_NETNS;
	memcpy(change.dev, state->dev, sizeof(change.dev));
	change.netns.inside = true;
	put_command(commands, &change);
	state->up = false;
}

/* Interrupts as they are now: with other queues they may be others. */
static int plan_device(const struct nic_machine *machine, const char *dev, struct nic_plan *plan,
		       json_t *list)
{
	static struct nic_irq irqs[NIC_MAX_IRQS]; /* too large for the stack */
	json_t *object = json_object(), *commands = json_array();
	struct nic_state state;
	char driver[32];
	size_t n = 0;
	int ret = nic_state_read(dev, &state) ?: nic_irq_read(dev, irqs, &n);

	plan->n = 0;
	if (!ret) {
		if (machine->isolate)
			plan_move(&state, commands);
		ethtool_driver(dev, driver);
		nic_plan_device(&state, &machine->want, plan);
		nic_plan_affinity(&state, &machine->want, irqs, n, plan);
		print_set(object, "device", print_string(dev));
		print_set(object, "driver", print_string(driver));
		print_set(object, "max_queues", json_integer(nic_state_max_queues(&state)));
	}
	for (size_t i = 0; i < plan->n; i++)
		if (machine->isolate && plan->at[i].what == NIC_UP)
			put_command(commands, &plan->at[i]);
		else
			append_command(commands, &plan->at[i]);
	print_set(object, "commands", commands);
	print_append(list, object);
	return ret ? bench_fail(ret, "cannot read the state of %s", dev) : 0;
}

static void plan_slave(json_t *commands, const char *slave, const char *bond)
{
	char command[NIC_COMMAND_LEN];

	snprintf(command, sizeof(command), "ip link set dev %s down", slave);
	print_append(commands, print_string(command));
	snprintf(command, sizeof(command), "ip link set dev %s master %s", slave, bond);
	print_append(commands, print_string(command));
}

static void plan_bond(const struct nic_bond_want *bond, unsigned int mtu, json_t *list)
{
	json_t *object = json_object(), *commands = json_array();
	char command[NIC_COMMAND_LEN];
	struct nic_change change;

	memset(&change, 0, sizeof(change));
	change.what = NIC_BOND;
	change.present = true;
	change.bond = bond->bond;
	memcpy(change.dev, bond->name, sizeof(change.dev));
	append_command(commands, &change);
	for (size_t i = 0; i < bond->n_slaves; i++)
		plan_slave(commands, bond->slaves[i], bond->name);
	if (mtu) {
		snprintf(command, sizeof(command), "ip link set dev %s mtu %u", bond->name, mtu);
		print_append(commands, print_string(command));
	}
	snprintf(command, sizeof(command), "ip link set dev %s up", bond->name);
	print_append(commands, print_string(command));
	print_set(object, "device", print_string(bond->name));
	print_set(object, "commands", commands);
	print_append(list, object);
}

int nic_machine_plan(const struct nic_machine *machine, json_t *list)
{
	struct nic_plan *plan = malloc(sizeof(*plan));
	int ret = 0;

	if (!plan)
		return bench_fail(-ENOMEM, "the plan");
	for (size_t i = 0; i < machine->n_devs && !ret; i++)
		ret = plan_device(machine, machine->devs[i], plan, list);
	for (size_t i = 0; i < machine->n_bonds && !ret; i++)
		plan_bond(&machine->bonds[i], machine->want.mtu, list);
	free(plan);
	return ret;
}

/* --- doing it ------------------------------------------------------------------------------- */

static void list_devices(const struct nic_machine *machine, const char *devs[NIC_MAX_DEVICES])
{
	for (size_t i = 0; i < machine->n_devs; i++)
		devs[i] = machine->devs[i];
}

int nic_machine_settle(const struct nic_machine *machine, struct nic_setup *setup)
{
	const char *devs[NIC_MAX_DEVICES];
	int ret;

	list_devices(machine, devs);
	ret = nic_setup_wait(devs, machine->n_devs, LINK_TIMEOUT_MS);
	for (size_t i = 0; i < machine->n_devs && !ret; i++)
		ret = nic_setup_affinity(setup, devs[i], &machine->want);
	return ret;
}

static int isolate(const struct nic_machine *machine, struct nic_setup *setup)
{
	const char *devs[NIC_MAX_DEVICES];

	list_devices(machine, devs);
	return nic_setup_isolate(setup, devs, machine->n_devs);
}

/* Queues before bonds, since a driver may stop its device for them; interrupts when all is up. */
int nic_machine_setup(const struct nic_machine *machine, struct nic_setup *setup)
{
	int ret = machine->isolate ? isolate(machine, setup) : 0;

	for (size_t i = 0; i < machine->n_devs && !ret; i++)
		ret = nic_setup_device(setup, machine->devs[i], &machine->want);
	for (size_t i = 0; i < machine->n_bonds && !ret; i++)
		ret = nic_setup_bond(setup, &machine->bonds[i], machine->want.mtu);
	for (size_t i = 0; i < machine->n_bonds && !ret; i++)
		ret = nic_setup_program(setup, machine->bonds[i].name);
	for (size_t i = 0; i < machine->n_devs && !ret; i++)
		if (bond_of(machine, machine->devs[i]) < 0)
			ret = nic_setup_program(setup, machine->devs[i]);
	return ret ?: nic_machine_settle(machine, setup);
}

/* --- counting ------------------------------------------------------------------------------- */

static int count(const char *dev, struct nic_port *port)
{
	int ret = nic_counts_read(dev, port);

	return ret ? bench_fail(ret, "cannot read the counters of %s", dev) : 0;
}

_Static_assert(NIC_MAX_PORTS >= NIC_MAX_DEVICES + NIC_MAX_BONDS, "room for all");

int nic_machine_count(const struct nic_machine *machine, struct nic_run *run)
{
	struct nic_port *port = run->ports;
	int ret = 0;

	for (size_t i = 0; i < machine->n_bonds && !ret; i++, port++) {
		port->bond = -1;
		port->is_bond = true;
		ret = count(machine->bonds[i].name, port);
	}
	for (size_t i = 0; i < machine->n_devs && !ret; i++, port++) {
		port->bond = bond_of(machine, machine->devs[i]);
		port->is_bond = false;
		if (port->bond >= 0)
			port->runs_lacp =
				machine->bonds[port->bond].bond.mode == NIC_BOND_MODE_LACP;
		ret = count(machine->devs[i], port);
	}
	if (!ret)
		run->n = machine->n_bonds + machine->n_devs;
	return ret;
}
