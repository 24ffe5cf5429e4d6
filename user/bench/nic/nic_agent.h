/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A conversation with the agent that sends and counts packets (generator.h): a command of the
 * user's, here or by ssh on another machine, that takes a line of JSON on its standard input and
 * answers it by one on its standard output. tests/trex has another one.
 *
 * Functions return 0, or -errno after having said on stderr what failed; -EINTR with nothing said.
 */
#ifndef USER_BENCH_NIC_AGENT_H
#define USER_BENCH_NIC_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct nic_agent;

/* The command is for the shell. It has no terminal, so no Ctrl-C of that reaches it, and ends with
 * this process, however that does. */
int nic_agent_start(const char *command, struct nic_agent **out);
/* Tell it to end, and wait for that a moment. agent may be NULL. */
void nic_agent_end(struct nic_agent *agent);

/* The request is taken over. */
int nic_agent_tell(struct nic_agent *agent, json_t *request);
/* Its answer is there, or the time is: util_now_ns(). -EINTR. */
int nic_agent_wait(struct nic_agent *agent, uint64_t until_ns, bool *is_there);
/*
 * The answer, the caller's. After -EINTR whatever it does is over. -EREMOTEIO: it refused;
 * -ETIMEDOUT, -EPIPE: it is lost.
 */
int nic_agent_hear(struct nic_agent *agent, double timeout_s, json_t **out);

/* --- what it says of itself ----------------------------------------------------------------- */

#define NIC_AGENT_MOST_PORTS 16

struct nic_agent_facts {
	char name[32]; /* "pktgen" … */
	/* with FCS; 0: it does not say */
	uint32_t least_frame_bytes, least_syn_bytes;
	size_t n_tx, n_rx;
	uint8_t rx_macs[NIC_AGENT_MOST_PORTS][6];
};

/* At least one port each sends and counts, or it is an error. */
int nic_agent_hello(struct nic_agent *agent, struct nic_agent_facts *out);

#endif
