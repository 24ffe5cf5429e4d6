/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs and pins: load the object, size and pin its maps, attach it to ports, find and adopt
 * what `ip link`, xdp-loader or an earlier sixlane left. Knows libbpf and libxdp, not what the
 * maps hold.
 *
 * Pins live in DIR = BPFFS/tc/globals, where iproute2 pins LIBBPF_PIN_BY_NAME maps for `ip link …
 * xdp obj`, so that whoever comes second finds them. BPFFS is /sys/fs/bpf or $TC_BPF_MNT,
 * iproute2's own variable.
 *
 * Every function that can fail for a reason a person must mend writes that reason, with what to do,
 * to err (LOADER_ERR bytes) and returns -errno.
 */
#ifndef USER_LOADER_LOADER_H
#define USER_LOADER_LOADER_H

#include <limits.h>

#include "../../bpf/abi/sixlane.h"
#include "../lib/util.h"
#include "../rib/link.h"

#define LOADER_ERR 1024

/* The program's name in the flavour of the object for frames of several buffers. */
#define LOADER_FRAGS_PROG "sixlane_frags"

enum loader_map {
	LOADER_META,
	LOADER_ROUTES,
	LOADER_FIB,
	LOADER_FIB_FIRST,
	LOADER_FIB_ARENA, /* only where programs use it: Linux 6.9 and newer */
	LOADER_SOURCES,
	LOADER_NEXT_HOPS,
	LOADER_BUCKETS,
	LOADER_EXCEPTIONS,
	LOADER_PUNTED,
	LOADER_FRESH,
	LOADER_OPERATOR,
	LOADER_HINTS,
	LOADER_CPU,
	LOADER_NEIGH_INDEX,
	LOADER_NEIGHBOURS,
	LOADER_SAMPLES,
	LOADER_PORT_INDEX,
	LOADER_PORTS,
	LOADER_VLANS,
	LOADER_RULES,
	LOADER_GUARD,
	LOADER_POLICIES,
	LOADER_COUNTERS,
	LOADER_N_MAPS
};

struct loader_maps {
	int fd[LOADER_N_MAPS];	    /* -1: not open */
	uint32_t id[LOADER_N_MAPS]; /* the kernel's map ids; 0: not there, or not for programs */
	/* The compiled FIB is in the arena, by the word of the last daemon; or there is one, and
	 * has been no daemon yet. Else an arena is not open, even if one is pinned. */
	bool arena;
	uint64_t fib_memory; /* SIXLANE_FIB_IN_*, what the last daemon wrote; 0: there was none */
};

/* "sl_routes" … */
const char *loader_map_name(enum loader_map map);
/* Any set has it, and any object: all but the arena. */
bool loader_map_is_needed(enum loader_map map);
/* Where it is pinned. */
void loader_pin_path(enum loader_map map, char path[PATH_MAX]);

/* The bpffs mount point to use and the directory of the pins under it. Static storage. */
const char *loader_bpffs(void);
const char *loader_pin_dir(void);

/* -ENODEV and a message unless a bpffs is mounted where the pins go. */
int loader_check_bpffs(char *err);
/* The capabilities that loading and attaching need and this process lacks, by name. */
void loader_missing_caps(char *buf, size_t size);

/*
 * Open the pinned maps of an existing sixlane. read_only: for the CLI's reading commands. Checks
 * type, sizes, flags and sixlane_meta.abi (0 is accepted: no daemon has seen them yet). -ENOENT:
 * there are none (err says how to get some); -EPROTO: another ABI or size.
 */
int loader_open_maps(struct loader_maps *maps, bool read_only, char *err);

/*
 * The same, but create and pin what is missing, from the object's own definitions, with an arena if
 * it wants one (arena.h) unless the maps are complete without. Adopts the maps
 * of a sixlane program that is attached to a port but pinned nowhere (xdp-loader without -p) if
 * there are no pins yet. Mounts nothing: a missing bpffs is an error that says how to mount it.
 */
int loader_make_maps(const char *object, struct loader_maps *maps, char *err);
void loader_close_maps(struct loader_maps *maps);

/*
 * There is a pin with the name of one of sixlane's maps, of whatever version. Whoever finds none,
 * makes some and then fails, removes them again.
 */
bool loader_have_pins(void);

/* Remove all pins of sixlane. 0 or -errno. */
int loader_unpin(char *err);

enum loader_mode { LOADER_NATIVE, LOADER_GENERIC, LOADER_DISPATCHER };
extern const char *const loader_mode_names[LOADER_DISPATCHER + 1];

/*
 * Load the object with the pinned maps (made if missing) and attach it to a port.
 * -EEXIST: a program that is not sixlane's is there (named in err), or sixlane in another mode;
 * -EOPNOTSUPP: no native XDP, or not as the port is set up (err says to ask for generic);
 * -EMSGSIZE: no native XDP at the port's MTU, as far as can be told; a smaller one may do. A port
 * that already has sixlane with these maps in this mode: 0 and nothing is done.
 */
int loader_attach(const char *object, const char *port, enum loader_mode mode, char *err);

/*
 * A change of the device to the kernel, and none at all: its XDP program, of which there must be
 * none, for none. 0 or -errno.
 */
int loader_touch(int ifindex);

/* Take sixlane off a port. -ENOENT: no program; -EBUSY: not ours (named in err). */
int loader_detach(const char *port, char *err);

enum loader_owner {
	LOADER_NO_PROG,
	LOADER_OURS,	   /* sixlane with the maps given */
	LOADER_OTHER_MAPS, /* sixlane with maps of its own */
	LOADER_FOREIGN	   /* another program */
};

struct loader_prog {
	enum loader_owner owner;
	enum xdp_mode mode;
	uint32_t id;	 /* sixlane's program, or the foreign one */
	bool dispatcher; /* runs under libxdp's dispatcher */
	bool frags;	 /* by its name, the flavour for frames of several buffers */
	bool no_arena;	 /* LOADER_OURS, but the maps have an arena that it does not read: the trie
			  * answers its lookups */
	char name[16];
};

/* What runs on a port. maps may be NULL (then sixlane's is LOADER_OTHER_MAPS). */
int loader_query(uint32_t ifindex, const struct loader_maps *maps, struct loader_prog *out);

/*
 * A program with these maps and counters that is none of those given: of a port in another network
 * namespace, as a rule. Its id; 0: there is none, or it cannot be seen.
 */
uint32_t loader_find_other_prog(const struct loader_maps *maps, const uint32_t *ids, size_t n);

/* Packets of this MTU may need more than the one buffer that drivers have for XDP. */
bool loader_mtu_is_jumbo(uint32_t mtu);
/* The largest that is not. */
uint32_t loader_max_plain_mtu(void);
/* At this MTU of its port a sixlane program may not see all packets: it takes each in one buffer.
 */
bool loader_prog_outgrown(const struct loader_prog *prog, uint32_t mtu);

/* The id of the BPF link that holds a port's program, which `ip link` then cannot take off; 0: none
 * does. */
#define LOADER_LINK_UNKNOWN UINT32_MAX /* one does, but which one cannot be seen */
uint32_t loader_query_link(uint32_t ifindex, const struct loader_prog *prog);
/* What to do about such a link. Returns buf. */
#define LOADER_LINK_ADVICE 128
const char *loader_link_advice(uint32_t link_id, char buf[LOADER_LINK_ADVICE]);

/*
 * Replace a sixlane program that has maps of its own (LOADER_OTHER_MAPS, no dispatcher), does not
 * read their arena, or is not for several buffers on a port of jumbo MTU, by one that does all
 * this, in the same mode; in one step, on a bond in two. 0: there is a program now that is as good
 * as the driver takes it: one for single buffers if that alone is taken.
 */
int loader_adopt_port(const char *object, uint32_t ifindex, char *err);

/*
 * One instance a pin directory: take the daemon's lock. Returns a descriptor to keep open, -EBUSY
 * when a daemon holds it, or -errno.
 */
int loader_lock(char *err);
/* A daemon serves the pin directory now. */
bool loader_daemon_runs(void);
/* It does so in another network namespace than this process's: its id; 0: no, or not to be seen. */
pid_t loader_daemon_elsewhere(void);

/* "Debian Clang 14.0.6", of an object or of a loaded program. False: it does not say. */
#define LOADER_COMPILER_LEN 80
#define LOADER_COMPILER_UNKNOWN "an unknown compiler"
bool loader_object_compiler(const char *path, char out[LOADER_COMPILER_LEN]);
bool loader_prog_compiler(uint32_t prog_id, char out[LOADER_COMPILER_LEN]);
/* "PATH built by COMPILER", for --version. Static storage. */
const char *loader_version(const char *object);

/*
 * The last program for a port that the kernel's verifier refused, as it is kept in a file until the
 * port is served or detached, or sixlaned sees it go.
 */
#define LOADER_LOG_NAME 72
struct loader_refusal {
	char port[IFNAMSIZ];
	char object[256];
	char kernel[65];
	char compiler[LOADER_COMPILER_LEN];
	char reason[256]; /* the verifier's last line, without its statistics */
	char advice[128];
	char log[LOADER_LOG_NAME + 16]; /* the file; "": it could not be written */
};
/* False: there is none. */
bool loader_refusal_read(const char *port, struct loader_refusal *out);
/* One line with all of it, into LOADER_ERR bytes. */
void loader_refusal_text(const struct loader_refusal *refusal, char *out);
/* The port is served now, is not to be, or is gone. */
void loader_refusal_forget(const char *port);

/*
 * The names of ports that sixlaned's settings hold, of this pin directory. write: 0 or -errno.
 * read: fn for each that the last sixlaned was given, if it was in this network namespace.
 */
struct loader_port_name {
	const char *setting, *name;
};
typedef void (*loader_name_fn)(void *ctx, const struct loader_port_name *name);
int loader_names_write(const struct loader_port_name *names, size_t n);
void loader_names_read(loader_name_fn fn, void *ctx);

/* sixlane.bpf.o next to the executable, else in ../lib/sixlane from there. Static storage. */
const char *loader_object_path(void);

#endif
