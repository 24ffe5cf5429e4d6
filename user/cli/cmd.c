// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the commands have in common: the view of maps and devices, usage errors, names.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../lib/log.h"
#include "../loader/arena.h"
#include "cmd.h"

int cmd_usage(const struct cmd *cmd, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s", text);
	fprintf(stderr, "usage: sixlane [-j] [-p] [-s] %s %s\n", cmd->name, cmd->args);
	return CMD_USAGE;
}

const struct cmd *cmd_find_verb(const struct cmd_verbs *verbs, const char *word)
{
	const struct cmd *all[CMD_MAX_VERBS], *found[CMD_MAX_VERBS];
	size_t n = verbs->n < CMD_MAX_VERBS ? verbs->n : CMD_MAX_VERBS;

	for (size_t i = 0; i < n; i++)
		all[i] = &verbs->verbs[i];
	if (cmd_match(all, n, word, found) == 1)
		return found[0];
	cmd_usage(verbs->cmd, "\"%s\" is none of %s", word, verbs->names);
	return NULL;
}

int cmd_run_verb(const struct cmd_verbs *verbs, const struct cmd_options *options, int argc,
		 char **argv)
{
	const struct cmd *found = cmd_find_verb(verbs, argv[0]);

	return found ? found->run(options, argc - 1, argv + 1) : CMD_USAGE;
}

static int view_open(struct cmd_view *view, bool writable)
{
	char err[LOADER_ERR];
	int rc;

	*view = (struct cmd_view){ 0 };
	rc = loader_open_maps(&view->fds, !writable, err);
	if (rc) {
		log_error("%s", err);
		return CMD_FAILED;
	}
	rc = maps_open(&view->maps, &view->fds, writable);
	if (!rc)
		rc = ports_read(&view->ports);
	if (!rc)
		return CMD_OK;
	log_error("cannot read the %s: %s%s", view->maps.meta ? "network devices" : "maps",
		  strerror(-rc), view->maps.meta ? "" : loader_arena_hint(&view->fds, rc));
	cmd_view_close(view);
	return CMD_FAILED;
}

int cmd_view_open(struct cmd_view *view)
{
	return view_open(view, false);
}

int cmd_view_open_writable(struct cmd_view *view)
{
	return view_open(view, true);
}

void cmd_view_close(struct cmd_view *view)
{
	ports_free(&view->ports);
	maps_close(&view->maps);
	loader_close_maps(&view->fds);
}

const char *cmd_slot_name(const struct cmd_view *view, uint32_t slot, char buf[IFNAMSIZ])
{
	const struct link *link;

	if (!slot || slot >= SIXLANE_MAX_PORTS)
		return NULL;
	link = ports_find(&view->ports, view->maps.ports[slot].ifindex);
	if (link)
		snprintf(buf, IFNAMSIZ, "%s", link->name);
	else
		snprintf(buf, IFNAMSIZ, "#%u", slot);
	return buf;
}

static const struct {
	const char *name, *text;
} verdicts[] = {
#define X(name_, action, string, text_) { string, text_ },
	SIXLANE_VERDICTS(X)
#undef X
};

const char *cmd_verdict_name(uint32_t verdict)
{
	return verdict < SIXLANE_N_VERDICTS ? verdicts[verdict].name : "unknown";
}

const char *cmd_verdict_text(uint32_t verdict)
{
	return verdict < SIXLANE_N_VERDICTS ? verdicts[verdict].text : "of another version";
}
