// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that the kernel's verifier refused, as `sixlane status` shows them.
 */
#include <net/if.h>
#include <string.h>

#include "../lib/log.h"
#include "status.h"

static bool is_served(const struct status_ports *ports, const char *name)
{
	for (size_t i = 0; i < ports->n; i++) {
		const struct status_port *port = &ports->at[i];

		if (!strcmp(port->link->name, name))
			return port->prog.owner == LOADER_OURS && !port->prog.no_arena;
	}
	return false;
}

bool status_refusal_read(const char *name, const struct status_ports *ports,
			 struct loader_refusal *out)
{
	return loader_refusal_read(name, out) && !is_served(ports, name);
}

static json_t *refusal_json(const struct loader_refusal *refusal)
{
	json_t *object = json_object();

	print_set(object, "port", print_string(refusal->port));
	print_set(object, "object", print_string(refusal->object));
	print_set(object, "kernel", print_string(refusal->kernel));
	print_set(object, "compiler", print_string(refusal->compiler));
	print_set(object, "reason", print_string(refusal->reason));
	print_set(object, "advice", print_string(refusal->advice));
	print_set(object, "log", print_string(refusal->log));
	return object;
}

json_t *status_refusals_json(const struct cmd_view *view, const struct status_ports *ports)
{
	struct loader_refusal refusal;
	json_t *array = json_array();

	for (size_t i = 0; i < view->ports.n; i++)
		if (status_refusal_read(view->ports.links[i].name, ports, &refusal))
			print_append(array, refusal_json(&refusal));
	return array;
}

void status_say_refusals(void)
{
	struct if_nameindex *devices = if_nameindex();
	struct loader_refusal refusal;
	char text[LOADER_ERR];

	for (struct if_nameindex *device = devices; device && device->if_index; device++) {
		if (!loader_refusal_read(device->if_name, &refusal))
			continue;
		loader_refusal_text(&refusal, text);
		log_error("%s", text);
	}
	if (devices)
		if_freenameindex(devices);
}
