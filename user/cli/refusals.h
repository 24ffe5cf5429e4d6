/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that the kernel's verifier refused, as the loader remembers them. */
#ifndef USER_CLI_REFUSALS_H
#define USER_CLI_REFUSALS_H

#include "status_port.h"

/* False: no program for the device was refused, or it has got one since. */
bool refusals_read(const char *name, const struct status_ports *ports, struct loader_refusal *out);
json_t *refusals_json(const struct cmd_view *view, const struct status_ports *ports);
/* Logs each one as an error: where there are no maps, a refusal may be the reason. */
void refusals_log(void);

#endif
