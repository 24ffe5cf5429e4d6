// SPDX-License-Identifier: GPL-2.0-only
/*
 * See port_names.h. A flat list of names, each with the one device that has it: own and alternative
 * names are unique in a network namespace.
 */
#include "port_names.h"

#include <string.h>

#include "../netlink/parse.h"

#define MAX_NAMES (PORT_NAMES_N_SETTINGS * CONFIG_MAX_PORTS)

struct name {
	const char *text;
	enum port_names_setting setting;
	uint32_t ifindex; /* 0: no device has it */
	bool missing;	  /* the log says so */
	struct log_ratelimit limit;
};

struct port_names {
	struct name at[MAX_NAMES];
	size_t n;
};

static const char *const setting_names[] = {
	[PORT_NAMES_PORTS] = "ports",
	[PORT_NAMES_PASS_PORTS] = "pass_ports",
	[PORT_NAMES_ASSUME_XMIT] = "assume_ndo_xmit",
};

static void add_all(struct port_names *names, enum port_names_setting setting,
		    const struct config_ports *ports)
{
	for (unsigned int i = 0; i < ports->n; i++)
		names->at[names->n++] =
			(struct name){ .text = ports->names[i], .setting = setting };
}

struct port_names *port_names_new(const struct config *config)
{
	struct port_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	add_all(names, PORT_NAMES_PORTS, &config->ports);
	add_all(names, PORT_NAMES_PASS_PORTS, &config->pass_ports);
	add_all(names, PORT_NAMES_ASSUME_XMIT, &config->assume_xmit);
	return names;
}

void port_names_free(struct port_names *names)
{
	free(names);
}

struct found {
	const struct port_names *names;
	bool has[MAX_NAMES]; /* of names->at */
};

static void mark_name(void *ctx, const char *text)
{
	struct found *found = ctx;

	for (size_t i = 0; i < found->names->n; i++)
		found->has[i] |= !strcmp(found->names->at[i].text, text);
}

int port_names_update(struct port_names *names, const struct nlmsghdr *nlh, uint32_t ifindex,
		      bool *changed)
{
	struct found found = { .names = names };
	int ret = names->n ? parse_link_names(nlh, mark_name, &found) : 0;

	*changed = false;
	for (size_t i = 0; !ret && i < names->n; i++) {
		struct name *name = &names->at[i];

		if (found.has[i] == (name->ifindex == ifindex))
			continue;
		name->ifindex = found.has[i] ? ifindex : 0;
		*changed = true;
	}
	return ret;
}

bool port_names_has(const struct port_names *names, enum port_names_setting setting,
		    uint32_t ifindex)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->at[i].setting == setting && names->at[i].ifindex == ifindex)
			return true;
	return false;
}

static void report(struct name *name, const struct device *device)
{
	const char *setting = setting_names[name->setting];

	if (!device && !name->missing)
		log_limited(
			&name->limit, LOG_WARNING,
			"%s: no device is named \"%s\"; the setting applies once a device has that name",
			setting, name->text);
	else if (device && name->missing)
		log_limited(&name->limit, LOG_INFO, "%s: \"%s\" exists now: %s", setting,
			    name->text, device->link.name);
	name->missing = !device;
}

void port_names_report(struct port_names *names, const struct links *links)
{
	for (size_t i = 0; i < names->n; i++) {
		struct name *name = &names->at[i];
		const struct device *device =
			name->ifindex ? links_find(links, name->ifindex) : NULL;

		report(name, device && device->has_link ? device : NULL);
	}
}

void port_names_publish(const struct port_names *names)
{
	struct loader_port_name list[MAX_NAMES];
	int ret;

	for (size_t i = 0; i < names->n; i++)
		list[i] = (struct loader_port_name){ .setting = setting_names[names->at[i].setting],
						     .name = names->at[i].text };
	ret = loader_names_write(list, names->n);
	if (ret)
		log_warning(
			"cannot save the configured names of ports in /run/sixlane: %s; 'sixlane status' cannot list the missing ones",
			strerror(-ret));
}
