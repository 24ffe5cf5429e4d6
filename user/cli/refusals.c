// SPDX-License-Identifier: GPL-2.0-only
/* See refusals.h. */
#include "refusals.h"

#include <string.h>

#include "../lib/log.h"

static bool is_served(const struct status_ports *ports, const char *name)
{
	for (size_t i = 0; i < ports->n; i++) {
		const struct status_port *port = &ports->at[i];

		if (!strcmp(port->link->name, name))
			return port->prog.owner == LOADER_OURS && !port->prog.no_arena;
	}
	return false;
}

bool refusals_read(const char *name, const struct status_ports *ports, struct loader_refusal *out)
{
	return loader_refusal_read(name, out) && !is_served(ports, name);
}

json_t *refusals_json(const struct cmd_view *view, const struct status_ports *ports)
{
	struct loader_refusal refusal;
	json_t *array = json_array(), *object;

	for (size_t i = 0; i < view->ports.n; i++) {
		if (!refusals_read(view->ports.links[i].name, ports, &refusal))
			continue;
		object = json_object();
		print_set(object, "port", refusal.port);
		print_set(object, "object", refusal.object);
		print_set(object, "kernel", refusal.kernel);
		print_set(object, "compiler", refusal.compiler);
		print_set(object, "reason", refusal.reason);
		print_set(object, "advice", refusal.advice);
		print_set(object, "log", refusal.log);
		print_append(array, object);
	}
	return array;
}

void refusals_log(void)
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
