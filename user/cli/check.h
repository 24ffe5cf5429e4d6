/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of checks, one function each, and what the checks look at. `sixlane status` and `sixlane
 * doctor` both run checks_of_maps and checks_of_programs; doctor runs more (doctor.h).
 */
#ifndef USER_CLI_CHECK_H
#define USER_CLI_CHECK_H

#include "findings.h"
#include "restrictions.h"
#include "status_port.h"

struct checkup {
	const struct cmd_options *options;
	struct cmd_view *view;	  /* its maps are open only with has_maps */
	struct sixlane_meta meta; /* zero without maps */
	bool has_maps, daemon;
	struct port_filter filter; /* the ports that the command line names */
	struct status_ports ports; /* all, whatever the filter */
	struct restrictions restrictions;
	json_t *missing_ports;
	struct gateways *gateways; /* doctor's: one check fills them, another one reports */
	struct findings findings;
	const struct check *running;
};

struct check {
	const char *name; /* a stable word */
	void (*run)(struct checkup *checkup);
	/* Or for one port. False: the rest of the table is skipped for this port. */
	bool (*run_port)(struct checkup *checkup, const struct status_port *port);
	const char *usual; /* advice for findings without their own; NULL: none */
};

/* The tables end with a row without a name. */
extern const struct check checks_of_maps[];	/* check_maps.c */
extern const struct check checks_of_programs[]; /* check_program.c: by port */

void checks_run(struct checkup *checkup, const struct check *checks);
/* For the ports of the filter; a bond stands for its slaves. */
void checks_run_ports(struct checkup *checkup, const struct check *checks);

/* Adds a finding of the running check. port: a name, or NULL. */
void check_report(struct checkup *checkup, enum finding_severity severity, const char *port,
		  const char *fmt, ...) _printf_(4, 5);
#define check_error(checkup, port, ...) check_report(checkup, FINDING_ERROR, port, __VA_ARGS__)
#define check_warn(checkup, port, ...) check_report(checkup, FINDING_WARNING, port, __VA_ARGS__)
#define check_note(checkup, port, ...) check_report(checkup, FINDING_NOTE, port, __VA_ARGS__)
/* Sets the advice of the last finding. */
void check_advise(struct checkup *checkup, const char *fmt, ...) _printf_(2, 3);

/* A port other than this one receives packets in native mode. */
bool checkup_has_native_ingress(const struct checkup *checkup, const struct status_port *but);

/* Where to attach for a device's packets: below a VLAN, and for a slave at its bond. */
const struct link *check_device_to_attach(const struct ports *ports, const struct link *link);

#define CHECK_EGRESS_ADVICE \
	"run 'sixlane attach' there, which many drivers need; for a veth, enable GRO on its peer"

/* Sets the fields from daemon on, but for restrictions; those before it are set. 0 or -ENOMEM. */
int checkup_read(struct checkup *checkup);
void checkup_free(struct checkup *checkup);

#endif
