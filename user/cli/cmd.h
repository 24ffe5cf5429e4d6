/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all commands of the CLI need: the table's row, the common options, words of the command line
 * as iproute2 has them, the view of the pinned maps and devices, names of verdicts. One command a
 * file, NAME.c; main.c runs them.
 */
#ifndef USER_CLI_CMD_H
#define USER_CLI_CMD_H

#include "../maps/maps.h"
#include "ports.h"

/* Exit codes. A command that returns another than CMD_OK has logged the reason. */
enum { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

struct cmd_options {
	bool json;	 /* -j */
	bool pretty;	 /* -p: JSON on several lines */
	bool statistics; /* -s: more details */
};

struct cmd {
	const char *name;
	const char *args; /* for the usage line */
	const char *help; /* one line */
	/* argv: the command's own arguments, without its name and the common options. */
	int (*run)(const struct cmd_options *options, int argc, char **argv);
};

extern const struct cmd cmd_attach, cmd_bench, cmd_detach, cmd_doctor, cmd_exception, cmd_explain,
	cmd_fib, cmd_lookup, cmd_routes, cmd_stats, cmd_status, cmd_unpin;

/* Log "sixlane: TEXT" and the command's usage. CMD_USAGE. */
int cmd_usage(const struct cmd *cmd, const char *fmt, ...) _printf_(2, 3);
/* CMD_OK, or cmd_usage() if an argument begins with a dash. */
int cmd_refuse_options(const struct cmd *cmd, int argc, char **argv);
/* Log "out of memory". CMD_FAILED. */
int cmd_no_memory(void);

/* Wakes up the daemon and waits until *done, in sl_meta, has reached number. A daemon of another
 * network namespace polls once a second. False: it has not within timeout_ns. */
bool cmd_wait_for_daemon(const __u64 *done, uint64_t number, uint64_t timeout_ns);

/* Finds the verb, the first word of a command with several forms, that word abbreviates. verbs: n
 * names, at most CMD_MAX_VERBS. Returns its index, or -1 after logging names. */
#define CMD_MAX_VERBS 8
int cmd_find_verb(const struct cmd *cmd, const char *const *verbs, size_t n, const char *names,
		  const char *word);

/* The pinned maps and the devices of this network namespace. */
struct cmd_view {
	struct loader_maps fds;
	struct maps maps;
	struct ports ports;
};

/* Read-only, or writable for a command that changes the maps. CMD_OK, or CMD_FAILED after logging.
 * Close with cmd_view_close() in either case. */
int cmd_view_open(struct cmd_view *view, bool writable);
/* Read-only; the devices alone if the maps cannot be opened. 0, or -errno after logging. */
int cmd_view_open_partly(struct cmd_view *view, bool *has_maps);
void cmd_view_close(struct cmd_view *view);

/* The name of the device in a slot of sl_ports; "#SLOT" if it is gone; NULL for slot 0. */
const char *cmd_slot_name(const struct cmd_view *view, uint32_t slot, char buf[IFNAMSIZ]);

/* "forward", "pass_local" …, and the explanation of that. */
const char *cmd_verdict_name(uint32_t verdict);
const char *cmd_verdict_text(uint32_t verdict);

/* Finds the n names that begin with word; an exact one is the only match. Returns how many there
 * are and sets found[], which has room for n, to their indexes. */
size_t args_match(const char *const *names, size_t n, const char *word, size_t *found);

/* Removes the common options from argv, wherever they stand before "--"; the other words keep their
 * order. Returns how many are left. Sets help and version if they are among the options. */
int args_parse_options(int argc, char **argv, struct cmd_options *options, bool *help,
		       bool *version);

/* A routing table as `ip` takes it: "main", "local", "default" or its number. True on success. */
bool args_parse_table(const char *word, uint32_t *table);
/* A decimal number from 0 to max. True on success. */
bool args_parse_number(const char *word, uint32_t max, uint32_t *number);

#endif
