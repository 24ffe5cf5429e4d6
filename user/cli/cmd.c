// SPDX-License-Identifier: GPL-2.0-only
/* See cmd.h. */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../lib/wakeup.h"
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

int cmd_refuse_options(const struct cmd *cmd, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (argv[i][0] == '-')
			return cmd_usage(cmd, "unknown option \"%s\"", argv[i]);
	return CMD_OK;
}

int cmd_no_memory(void)
{
	log_error("out of memory");
	return CMD_FAILED;
}

bool cmd_wait_for_daemon(const __u64 *done, uint64_t number, uint64_t timeout_ns)
{
	static const struct timespec pause = { .tv_nsec = 200000 };
	const uint64_t until = util_now_ns() + timeout_ns;

	wakeup_send(loader_pin_dir());
	while (__atomic_load_n(done, __ATOMIC_ACQUIRE) < number) {
		if (util_now_ns() >= until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

int cmd_find_verb(const struct cmd *cmd, const char *const *verbs, size_t n, const char *names,
		  const char *word)
{
	size_t found[CMD_MAX_VERBS];

	if (args_match(verbs, n, word, found) == 1)
		return (int)found[0];
	cmd_usage(cmd, "\"%s\" is none of %s", word, names);
	return -1;
}

static void reset(struct cmd_view *view)
{
	*view = (struct cmd_view){ 0 };
	for (int i = 0; i < LOADER_N_MAPS; i++)
		view->fds.fd[i] = view->maps.fd[i] = -1;
}

static int read_ports(struct cmd_view *view)
{
	const int rc = ports_read(&view->ports);

	if (rc)
		log_error("cannot read the network devices: %s", strerror(-rc));
	return rc;
}

int cmd_view_open(struct cmd_view *view, bool writable)
{
	char err[LOADER_ERR];
	int rc;

	reset(view);
	if (loader_open_maps(&view->fds, !writable, err)) {
		log_error("%s", err);
		return CMD_FAILED;
	}
	rc = maps_open(&view->maps, &view->fds, writable);
	if (rc)
		log_error("cannot read the maps: %s%s", strerror(-rc),
			  loader_arena_advice(&view->fds, rc));
	return rc || read_ports(view) ? CMD_FAILED : CMD_OK;
}

int cmd_view_open_partly(struct cmd_view *view, bool *has_maps)
{
	reset(view);
	*has_maps = !loader_open_maps(&view->fds, true, NULL) &&
		    !maps_open(&view->maps, &view->fds, false);
	if (!*has_maps)
		loader_close_maps(&view->fds);
	return read_ports(view);
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
		return link->name;
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
