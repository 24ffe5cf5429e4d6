// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent's side of the conversation: a line of JSON is a request, a line is its answer. A line
 * that comes while frames are sent ends that run, and so does the end of the input.
 */
#include "generator.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "../../cli/print.h"
#include "../progress.h"

#define MOST_BYTES 65536u

static bool input_is_waiting(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0;
}

static bool is_over(void)
{
	return bench_interrupted() || input_is_waiting();
}

/* --- requests ------------------------------------------------------------------------------- */

static json_t *answer_hello(struct generator *generator)
{
	json_t *reply = json_object(), *ports = json_array();

	for (size_t i = 0; i < generator->n_tx + generator->n_rx; i++) {
		bool is_tx = i < generator->n_tx;
		const struct generator_port *port =
			is_tx ? &generator->tx[i] : &generator->rx[i - generator->n_tx];
		char mac[PRINT_MAC_LEN];
		json_t *row = json_object();

		print_mac(port->mac, mac);
		print_set(row, "name", json_string(port->name));
		print_set(row, "role", json_string(is_tx ? "tx" : "rx"));
		print_set(row, "mac", json_string(mac));
		print_set(row, "speed_bps",
			  port->speed_bps ? json_integer((json_int_t)port->speed_bps)
					  : json_null());
		print_set(row, "queues", json_integer(port->queues));
		print_set(row, "mtu", json_integer(port->mtu));
		print_set(row, "driver", json_string(port->driver));
		print_append(ports, row);
	}
	print_set(reply, "generator", json_string(generator->source->name));
	print_set(reply, "version", json_string(SIXLANE_VERSION));
	print_set(reply, "least_frame_bytes", json_integer(generator->source->least_frame_bytes));
	print_set(reply, "least_syn_bytes", json_integer(generator->source->least_syn_bytes));
	print_set(reply, "ports", ports);
	return reply;
}

/* NULL: what is wrong with it has been said. */
static json_t *answer(struct generator *generator, const char *line, bool *quit)
{
	struct generator_request request;
	json_error_t error;
	json_t *json = json_loads(line, 0, &error), *reply = NULL;
	const char *verb = json_string_value(json_object_get(json, "do"));

	if (!json)
		bench_bad(-EINVAL, "this is not JSON: %s", error.text);
	else if (!verb)
		bench_bad(-EINVAL, "\"do\" is needed: hello, run or quit");
	else if (!strcmp(verb, "hello"))
		reply = answer_hello(generator);
	else if (!strcmp(verb, "run"))
		reply = generator_parse(generator, json, &request)
				? NULL
				: generator_run(generator, &request, is_over);
	else if (!strcmp(verb, "stop"))
		reply = json_object(); /* whatever ran ended by the line itself */
	else if (!strcmp(verb, "quit"))
		*quit = true;
	else
		bench_bad(-EINVAL,
			  "\"do\": \"%.20s\" is unknown; there are hello, run, stop and quit",
			  verb);
	json_decref(json);
	return reply;
}

/* --- lines ---------------------------------------------------------------------------------- */

/*
 * One line without its end, by hand: poll() knows nothing of what stdio has read ahead, so no more
 * is read than is asked for. False: there is none.
 */
static bool read_line(char *line, size_t size)
{
	size_t used = 0;

	while (used < size - 1) {
		struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

		/* a signal ends poll(), also one that came since the last look, within a second */
		if (poll(&input, 1, 1000) < 1) {
			if (bench_interrupted())
				return false;
			continue;
		}
		if (read(STDIN_FILENO, line + used, 1) != 1)
			return false;
		if (line[used] == '\n')
			break;
		used++;
	}
	line[used] = '\0';
	return true;
}

static json_t *error_reply(const char *said)
{
	json_t *reply = json_object();

	print_set(reply, "error", json_string(said));
	return reply;
}

int generator_serve(struct generator *generator)
{
	const struct cmd_options options = { 0 };
	static char line[MOST_BYTES];
	char said[512];
	bool quit = false;
	int rc = CMD_OK;

	bench_keep_errors(said, sizeof(said));
	while (!rc && !quit && read_line(line, sizeof(line))) {
		json_t *reply;

		snprintf(said, sizeof(said), "unknown error");
		reply = answer(generator, line, &quit);
		if (!quit)
			rc = print_json(&options, reply ? reply : error_reply(said))
				     ?: print_flush();
	}
	bench_keep_errors(NULL, 0);
	return rc;
}
