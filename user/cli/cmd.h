/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the CLI's commands share: the table's row, the options that hold for all of them and the
 * opened maps. One command a file, NAME.c; main.c calls them.
 */
#ifndef USER_CLI_CMD_H
#define USER_CLI_CMD_H

#include "../maps/maps.h"
#include "ports.h"

/* Exit codes. A command that returns another than 0 has said why. */
enum { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

struct cmd_options {
	bool json;	 /* -j */
	bool pretty;	 /* -p: JSON for people */
	bool statistics; /* -s: more */
};

struct cmd {
	const char *name;
	const char *args; /* for the usage line */
	const char *help; /* one line */
	/* argv: the command's own arguments, without its name and without the common options. */
	int (*run)(const struct cmd_options *options, int argc, char **argv);
	/* Those whose names go on behind this one's: "bench lookup". Of these `help` tells each.
	 * NULL: none. */
	const struct cmd *const *subcommands;
};

extern const struct cmd cmd_attach, cmd_bench, cmd_detach, cmd_doctor, cmd_exception, cmd_explain,
	cmd_fib, cmd_lookup, cmd_routes, cmd_stats, cmd_status, cmd_unpin;

/* "sixlane: text", the command's usage, CMD_USAGE. */
int cmd_usage(const struct cmd *cmd, const char *fmt, ...) _printf_(2, 3);

/*
 * The commands whose names begin with word; one that is spelt out is the only one. Returns how many
 * of n there are and sets found[] (n long).
 */
size_t cmd_match(const struct cmd *const *cmds, size_t n, const char *word,
		 const struct cmd **found);

/* What a command does by its first argument. */
struct cmd_verbs {
	const struct cmd *cmd;
	const struct cmd *verbs; /* name and run; no two begin with the same letter */
	size_t n;
	const char *names; /* for people */
};
#define CMD_MAX_VERBS 16
/* The verb that the word begins; NULL, which is said, if it is none. */
const struct cmd *cmd_find_verb(const struct cmd_verbs *verbs, const char *word);
/* Run the verb that argv[0] begins, with what is behind it; CMD_USAGE, which is said, if none. */
int cmd_run_verb(const struct cmd_verbs *verbs, const struct cmd_options *options, int argc,
		 char **argv);

/*
 * Take the common options out of argv, wherever they stand before "--"; what is left keeps its
 * order. Returns the number of arguments left; help and version are set when asked for.
 */
int cmd_take_options(int argc, char **argv, struct cmd_options *options, bool *help, bool *version);

/* A routing table as `ip` takes it: "main", "local", "default" or its number. True on success. */
bool cmd_parse_table(const char *word, uint32_t *table);
/* A whole decimal number up to max. True on success. */
bool cmd_parse_number(const char *word, uint32_t max, uint32_t *number);

/* The pinned maps, read-only, and the devices of this namespace. */
struct cmd_view {
	struct loader_maps fds;
	struct maps maps;
	struct ports ports;
};

/* CMD_OK, or CMD_FAILED with the reason said. Close with cmd_view_close. */
int cmd_view_open(struct cmd_view *view);
/* The same for those few commands that change something in the maps. */
int cmd_view_open_writable(struct cmd_view *view);
void cmd_view_close(struct cmd_view *view);

/* The device's name of a slot in sl_ports; "#SLOT" for one that is not there; NULL for slot 0. */
const char *cmd_slot_name(const struct cmd_view *view, uint32_t slot, char buf[IFNAMSIZ]);

/* "forward", "pass_local" …; "unknown" for a verdict of another version. */
const char *cmd_verdict_name(uint32_t verdict);
/* Why, for people. */
const char *cmd_verdict_text(uint32_t verdict);

#endif
