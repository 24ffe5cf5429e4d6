/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of checks that `sixlane doctor` runs besides those of check.h. */
#ifndef USER_CLI_DOCTOR_H
#define USER_CLI_DOCTOR_H

#include "check.h"

extern const struct check doctor_machine[];	  /* doctor_machine.c */
extern const struct check doctor_devices[];	  /* doctor_device.c: by port */
extern const struct check doctor_queues[];	  /* doctor_queues.c: by port */
extern const struct check doctor_bonds[];	  /* doctor_bond.c: by port */
extern const struct check doctor_traffic[];	  /* doctor_traffic.c */
extern const struct check doctor_routes[];	  /* doctor_routes.c: with maps */
extern const struct check doctor_kernel_routes[]; /* doctor_neigh.c: without */

#endif
