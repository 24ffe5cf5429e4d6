/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon's settings: defaults, then the file, then the command line. The file is read by
 * libconfig. Knows nothing of what the settings do.
 */
#ifndef USER_DAEMON_CONFIG_H
#define USER_DAEMON_CONFIG_H

#include <net/if.h>

#include "../lib/log.h"
#include "../loader/loader.h"

#define CONFIG_DEFAULT_FILE "/etc/sixlane/sixlaned.conf"
#define CONFIG_MAX_PORTS 64
#define CONFIG_PORT_NAME_LEN 128
#define CONFIG_ERR 512

struct config_ports {
	char names[CONFIG_MAX_PORTS][CONFIG_PORT_NAME_LEN]; /* own or alternative ones */
	unsigned int n;
};

/* Which exceptions apply to forwarded packets. The operator's always do. */
enum config_exceptions {
	CONFIG_EXCEPTIONS_KERNEL,  /* the kernel's, where the kernel would apply them */
	CONFIG_EXCEPTIONS_ALWAYS,  /* ... and its Path MTUs whatever the next hop */
	CONFIG_EXCEPTIONS_OBSERVE, /* the kernel's are counted and not applied */
};

struct config {
	struct config_ports ports;	/* attach and serve these */
	struct config_ports pass_ports; /* serve, but pass every packet */
	struct config_ports
		assume_xmit; /* take redirected frames, though the kernel cannot say so */
	enum loader_mode mode;
	enum log_level log_level;
	char object[4096]; /* path of sixlane.bpf.o */
	uint32_t max_routes;
	uint32_t rcvbuf_bytes;	 /* of the notification socket */
	uint32_t poll_ms;	 /* how often settings are read that the kernel does not announce */
	uint32_t audit_permille; /* of one CPU for the audit; 0: only when needed */
	uint32_t fib; /* SIXLANE_ENGINE_*: answers lookups, until `sixlane fib` changes it */
	enum config_exceptions exceptions;
	uint32_t max_exceptions; /* 1 to SIXLANE_MAX_KERNEL_EXCEPTIONS */
	uint32_t answer_rate;	 /* Packet Too Big from XDP, per second and CPU; 0: no limit */
	bool answer_too_big;	 /* also to packets over the plain MTU of a route or device */
	uint32_t bypass;	 /* bit n: enum guard_cause n holds nothing back */
	bool pass_all;		 /* pass every packet of every port */
	bool teardown;		 /* at the end: detach and remove the pins */
};

void config_defaults(struct config *config);

/*
 * Read a file over what is in *config. 0; -ENOENT when there is no such file; or -errno. On failure
 * *config is untouched and err (CONFIG_ERR bytes) says "FILE:LINE: what is wrong; what would be
 * right".
 */
int config_load(const char *path, struct config *config, char *err);

/*
 * One setting from text, as on the command line: name as in the file. 0 or -EINVAL and err without
 * a file's name. Repeating a list's name adds to the list.
 */
int config_set(struct config *config, const char *name, const char *value, char *err);

#endif
