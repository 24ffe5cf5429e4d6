/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of checks, one function each, what the checks look at, and their findings. `sixlane
 * doctor` shows all findings, `sixlane status` shows warnings. Both run checks_of_maps and
 * checks_of_programs; doctor runs more (doctor.h).
 */
#ifndef USER_CLI_CHECK_H
#define USER_CLI_CHECK_H

#include "guard.h"
#include "status_port.h"

enum finding_severity {
	FINDING_NOTE,	 /* in order, but worth knowing */
	FINDING_WARNING, /* slower than possible */
	FINDING_ERROR,	 /* packets are wrong or lost, or none of them is fast */
	FINDING_N_SEVERITIES
};

struct finding {
	const char *check; /* a stable word */
	enum finding_severity severity;
	char *port; /* NULL: of no single port */
	char *text;
	char *advice;	   /* what to do; NULL: see usual */
	const char *usual; /* the check's advice without a special one; NULL: text says enough */
};

struct findings {
	struct finding *at;
	size_t n;
	bool lost; /* there was no memory for some of them or of their advice */
};

size_t findings_count(const struct findings *findings, enum finding_severity severity);
bool findings_has(const struct findings *findings, const char *check);
/* Sort by severity, errors first; findings of the same severity keep their order. */
void findings_sort(struct findings *findings);

/* "TEXT: ADVICE", without the usual one; to be freed. NULL: out of memory. */
char *finding_warning(const struct finding *finding);

json_t *findings_json(const struct findings *findings);
/* CMD_OK, or CMD_FAILED after logging. */
int findings_text(const struct findings *findings);

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
/* Sets the advice of the last finding, if there is one. */
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
