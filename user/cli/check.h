/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may be wrong, or slower than it could be: tables of checks, one function each, and all that
 * they look at. Both `sixlane status` and `sixlane doctor` run those of the maps and of the ports
 * with a program; the others, which take longer or look beyond sixlane, are doctor's.
 */
#ifndef USER_CLI_CHECK_H
#define USER_CLI_CHECK_H

#include "findings.h"
#include "guard.h"
#include "status.h"

struct checkup {
	const struct cmd_options *options;
	struct cmd_view *view;	  /* its maps and their descriptors only with has_maps */
	struct sixlane_meta meta; /* zero without maps */
	bool has_maps, daemon;
	struct status_ports ports; /* of all, also those that were not asked for */
	struct status_asked asked;
	struct held_list held;
	json_t *missing_ports;
	struct findings findings;
	struct doctor_gateways *gateways; /* of doctor: one check finds them, another one tells */
	const struct check *running;
};

struct check {
	const char *name; /* a word that never changes */
	void (*run)(struct checkup *checkup);
	/* The same for one port. False: nothing else of this table is to be said of it. */
	bool (*run_port)(struct checkup *checkup, const struct status_port *port);
	const char *usual; /* what to do about it where a finding says nothing of that; NULL */
};

struct checks {
	const struct check *at;
	size_t n;
};

extern const struct checks checks_of_maps;     /* check_maps.c */
extern const struct checks checks_of_programs; /* check_program.c: by port */

void checks_run(struct checkup *checkup, const struct checks *checks);
/* Of the ports that were asked for; a bond's slaves go with their bond. */
void checks_run_ports(struct checkup *checkup, const struct checks *checks);

/* For a check that runs: it found something. port: a name, or NULL. */
void check_say(struct checkup *checkup, enum finding_severity severity, const char *port,
	       const char *fmt, ...) _printf_(4, 5);
/* What to do about what it found last. */
void check_advise(struct checkup *checkup, const char *fmt, ...) _printf_(2, 3);

/* Some port takes packets in in native mode, other than this one. */
bool checkup_has_native_ingress(const struct checkup *checkup, const struct status_port *but);

/* The device to attach to for packets of this one: itself, that below a VLAN, a slave's bond. */
const struct link *check_device_to_attach(const struct ports *ports, const struct link *link);

/* Of an egress that takes no redirected frames. */
#define CHECK_EGRESS_ADVICE \
	"run 'sixlane attach' there, which many drivers need; for a veth, enable GRO on its peer"

/* Fill in what is there, view, has_maps and asked being set; held is left. 0 or -ENOMEM. */
int checkup_read(struct checkup *checkup);
void checkup_free(struct checkup *checkup);

#endif
