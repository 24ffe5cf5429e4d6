/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of user/daemon/ share. Nothing outside includes it.
 */
#ifndef USER_DAEMON_STATE_H
#define USER_DAEMON_STATE_H

#include "../guard/guard.h"
#include "../netlink/socket.h"
#include "../resolve/resolve.h"
#include "../rib/addrs.h"
#include "../rib/neighs.h"
#include "../rib/nexthops.h"
#include "../rib/rules.h"
#include "alarm.h"
#include "audit.h"
#include "names.h"
#include "sync.h"

/* Messages that arrive while a dump is under way, kept in order. */
struct sync_queue {
	char *bytes;
	size_t used, capacity;
	size_t routes_added, routes_deleted; /* messages of these kinds in it */
	bool overflow; /* over SYNC_QUEUE_MAX or out of memory: something was lost */
};
#define SYNC_QUEUE_MAX (256u << 20)

/* Of which objects the kernel may say what is not known. */
enum sync_object {
	SYNC_ROUTE,
	SYNC_NEXT_HOP,
	SYNC_RULE,
	SYNC_DEVICE,
	SYNC_NEIGHBOUR,
	SYNC_ADDRESS,
	SYNC_N_OBJECTS,
};

struct sync {
	const struct config *config;
	struct maps *maps;
	const struct loader_maps *fds;
	struct fib *fib;
	struct rib *rib;
	struct links links;
	struct addrs addrs;
	struct neighs *neighs;
	struct nexthops *nexthops;
	struct rules rules;
	struct rules_program program; /* of rules, as the maps have it if published */
	struct resolve *resolve;
	struct resolve_view view;	      /* what resolve reads */
	struct nl_socket *notify, *dump;      /* NETLINK_ROUTE */
	struct nl_socket *genl_notify, *genl; /* NETLINK_GENERIC; NULL before Linux 6.3 */
	uint16_t netdev_family; /* generic netlink "netdev"; 0: this kernel has none */
	bool old_bonds;		/* struct resolve_port_policy */

	struct sync_queue queue;
	bool dumping;	       /* notifications go to the queue */
	bool quiet;	       /* stores are filled, the FIB is not touched yet */
	bool replaying;	       /* the queue is applied after a dump */
	bool wanted;	       /* something was missed: synchronise anew */
	bool reported_missing; /* the log has said that routes found no room */
	bool in_sync;	       /* nothing is known to be missing */
	bool dump_damaged;     /* the dump under way held a message that is not in the stores */
	bool rules_known;      /* rules holds a whole list */
	bool published;	       /* the maps hold program */
	bool rules_ready;      /* … and it is the current list */
	bool held; /* packets pass: what decides on tables changes before the tables are full */
	bool rules_wanted;
	bool next_hops_wanted; /* objects may have changed without a word */
	bool features_wanted;  /* a device is new: ask what frames it takes */
	bool addrs_wanted;     /* addresses changed: the ports' sources are to be chosen anew */
	bool complete;	       /* one full synchronisation succeeded */
	uint64_t generation, overruns, malformed, sync_ns, synced_at;
	uint64_t unknown_reported[SYNC_N_OBJECTS]; /* bit n: the log has said it of attribute n */
	unsigned int interrupted; /* dumps in a row that the kernel called inconsistent */
	struct audit *audit;
	uint64_t next_sync_ns, next_poll_ns, next_keep_ns, next_retry_ns;
	uint64_t told_after_ns; /* what the kernel says now, it said after this moment */

	bool guarded;	       /* the maps have what the guard says */
	bool guard_slow;       /* it takes too long to read */
	bool guard_unreported; /* the log may lack what is held back now */
	bool guard_tightens;   /* what was held is held until all that is to be is */
	bool behind;	       /* notifications wait that there was no time for */
	bool flow_labels;      /* the kernel gives its ICMPv6 errors one */
	bool owners_wanted;    /* a device's uppers may have changed */
	struct compile_state {
		uint64_t next_ns, wait_ns; /* when to try again, and how long after that */
		uint64_t built_at;	   /* seconds since the epoch; 0: not yet */
		bool built;		   /* … and there since, as far as was seen */
		bool failed;		   /* … as the log has said */
	} compile;
	struct verify_state {
		struct fib_verify run;
		bool running;
		uint64_t number; /* of the wish that it is for */
		unsigned int n_told;
	} verify;
	struct guard *guard;
	struct alarm *alarm; /* NULL: not yet */
	uint64_t guard_due_ns;
	uint64_t policies_version;			   /* of those in the maps */
	char guard_said[GUARD_N_CAUSES][GUARD_REASON_LEN]; /* in the log, of each cause */
	struct loader_flows *flows;
	bool flows_wanted;     /* a port's program is another one */
	int flows_error;       /* -errno of extending them, as the log has it */
	struct uppers *uppers; /* NULL: not yet, or they cannot be seen */
	struct exceptions *exceptions;
	struct icmp_events {
		struct maps_ring *ring;
		uint64_t next_read_ns; /* 0: when there are any */
		uint64_t until_ns;     /* all that came before has been handed on */
	} icmp_events;
	struct parity_state *parity;
	struct operator_list *operator;
	struct names *names; /* of ports, in the settings */

	uint64_t *used; /* bitmap of neighbour slots that had traffic and are still to be kept alive
			 */
	int policies_failed; /* -errno of writing them */
	uint32_t used_from;  /* where the keeper goes on */
};

/* sync.c: something was missed; synchronise anew after delay_ns (0: at once), or sooner if so
 * wanted. */
#define SYNC_LATER_NS 1000000000u
void sync_want(struct sync *sync, uint64_t delay_ns);
/*
 * Make the kernel forget what it has cached at next hops of objects, which may be of routes that
 * went, or were others, before anybody listened: see nexthops_set_rib().
 */
void sync_renew_cached(struct sync *sync);
/* Apply the notifications that have come. False: there may be more, or some were lost. */
bool sync_follow(struct sync *sync);

/* apply.c: one message of any kind into the stores, and into the FIB unless quiet. */
void apply_message(struct sync *sync, const struct nlmsghdr *nlh);
/* Keep account of what a message came to: 0 or -errno of its parser or store. */
void apply_note(struct sync *sync, const char *what, int ret);
/* unknown_attr of an object that a message was about. */
void apply_note_unknown(struct sync *sync, enum sync_object object, uint16_t unknown_attr);
void apply_all_routes(struct sync *sync);
void apply_routes_of(struct sync *sync, uint32_t table);
/* A prefix of the FIB anew, by what the stores say. */
void apply_prefix(struct sync *sync, uint32_t table, const struct prefix *dst);
void apply_route_changed(void *ctx, uint32_t table, const struct prefix *dst);
/* Everything in the stores into the FIB; deletes what is no longer there. */
void apply_all(struct sync *sync);
/* Write what the datapath and the CLI should know of the whole into sl_meta. */
void apply_meta(struct sync *sync);
/*
 * From here to the end of the synchronisation, whose tables are yet to be written, packets pass:
 * a port or a rule is about to lead them to tables that may lack what should stop them.
 */
void apply_hold(struct sync *sync);

/* apply_address.c: addresses, and prefixes of router advertisements. */
int apply_address(struct sync *sync, const struct nlmsghdr *nlh);
int apply_advertised(struct sync *sync, const struct nlmsghdr *nlh);

/* apply_nexthop.c: next-hop objects. */
int apply_next_hop(struct sync *sync, const struct nlmsghdr *nlh);
int apply_next_hop_bucket(struct sync *sync, const struct nlmsghdr *nlh);
void apply_next_hop_changed(void *ctx, uint32_t id);
void apply_all_next_hops(struct sync *sync);

/* apply_rule.c: rules. One of a dump is kept; a notification says only that they changed. */
int apply_rule(struct sync *sync, const struct nlmsghdr *nlh);
void apply_rules_changed(struct sync *sync);
/* A whole list was read, or a device that rules may name came, went or was renamed. */
void apply_rules(struct sync *sync);

/* settings.c */
void settings_read(struct sync *sync);

/* apply_link.c: those about devices. */
int apply_link(struct sync *sync, const struct nlmsghdr *nlh);
int apply_link_gone(struct sync *sync, const struct nlmsghdr *nlh);
int apply_netconf(struct sync *sync, const struct nlmsghdr *nlh);
void apply_genl_message(struct sync *sync, const struct nlmsghdr *nlh);
/* A device's multicast route came or went. */
void apply_ipv6_toggled(struct sync *sync, const struct route *route);

/* request.c: dump requests. 0 or -errno as nl_socket_dump. */
int request_links(struct sync *sync, nl_msg_fn fn);
int request_netconf(struct sync *sync, nl_msg_fn fn);
int request_rules(struct sync *sync, nl_msg_fn fn);
int request_neighs(struct sync *sync, nl_msg_fn fn);
int request_addrs(struct sync *sync, nl_msg_fn fn);
int request_next_hops(struct sync *sync, nl_msg_fn fn);
int request_next_hop_buckets(struct sync *sync, nl_msg_fn fn);
int request_routes(struct sync *sync, nl_msg_fn fn);
int request_features(struct sync *sync, nl_msg_fn fn);
/*
 * How a forwarded packet would be routed now, with the hop that its flow would take, or,
 * whole_route, with all hops of its route. The kernel's -errno is an answer, too.
 */
int request_packet(struct sync *sync, const struct sixlane_sample *packet, bool whole_route,
		   nl_msg_fn fn, void *ctx);
/* Whether such a request can name the protocol, and so follow rules that match it. */
bool request_takes_protocol(uint8_t protocol);
/* RTM_NEWNEXTHOP of an object. */
int request_next_hop(struct sync *sync, uint32_t id, nl_msg_fn fn, void *ctx);
/* RTM_NEWLINK of the device of this name. */
int request_link(struct sync *sync, const char *name, nl_msg_fn fn, void *ctx);
/* Look the "netdev" family up and subscribe to it; its absence is no error. */
int request_netdev_family(struct sync *sync);

/* queue.c */
void queue_clear(struct sync_queue *queue);
void queue_add(struct sync_queue *queue, const struct nlmsghdr *nlh);

/* ports.c: programs on devices and the datapath's view of them. */
int ports_attach(struct sync *sync, char *err);
/* A device changed: find out what runs on it, and tell the datapath. */
void ports_update(struct sync *sync, uint32_t ifindex);
void ports_update_all(struct sync *sync);
/* The same for what stands on a bond, of which a slave changed or left. Of other masters: nothing.
 */
void ports_update_slaves(struct sync *sync, uint32_t master);
/* A device is about to be forgotten. moved: it is in another network namespace. */
void ports_gone(const struct sync *sync, const struct device *device, bool moved);
/* An address, or whose it is, changed: this may be of consequence to any port. */
void ports_update_sources(struct sync *sync);
/* Something that no device says of itself changed: tell the datapath of all of them. */
void ports_tell_all(struct sync *sync);
/* Make sure that the datapath knows an egress device. */
void ports_need(struct sync *sync, uint32_t ifindex);
/* Off every device of this namespace that has the program with our maps. 0 or the first -errno. */
int ports_detach_all(struct sync *sync);

/* bonds.c: find out in which order a bond has its slaves. */
void bonds_look(struct sync *sync, const struct device *bond);

/* jumbo.c: a port's program takes frames of its MTU, or is off it. */
void jumbo_fit(struct sync *sync, struct device *device);

/* guarding.c: what the guard says into the maps. run: whenever its descriptors have input, it is
 * due, or anything else happens. */
void guarding_run(struct sync *sync);
/* The devices were read for the first time: from now on packets may be forwarded. */
void guarding_start(struct sync *sync);
/* A device came, went or was renamed. True: ports are to be told anew. */
bool guarding_devices_changed(struct sync *sync);
/* … or did while nobody looked, or went to another VRF. Ports are to be told anew. */
void guarding_all_changed(struct sync *sync);
/* All of it anew. */
void guarding_apply(struct sync *sync);
/* The pairs of a device that has a slot. */
void guarding_write_pairs(struct sync *sync, const struct device *device);
/* Of a device's port: what the guard holds back, and whether XDP may answer by it. */
void guarding_mark(const struct sync *sync, const struct device *device, struct sixlane_port *port);
/* Of SIXLANE_META_*. */
uint32_t guarding_flags(const struct sync *sync);

/* flows.c: which ports look flows up. True: what the guard says is to be written anew. */
bool flows_run(struct sync *sync);

/* tags.c: ports whose NIC hides VLAN tags pass everything. */
void tags_check(struct sync *sync);

/* owners.c: ports whose frames another device takes pass everything. note: a message came about a
 * device. check: those that messages came about, or all. */
void owners_note(struct sync *sync, const struct link *link);
void owners_check(struct sync *sync, bool all);

/*
 * exceptions.c: what the kernel has learnt of single destinations. start: at the end of the first
 * full synchronisation; after that run is called, when *_due_ns has come or anything else has.
 */
struct exceptions *exceptions_new(void);
void exceptions_free(struct exceptions *exceptions);
void exceptions_start(struct sync *sync);
void exceptions_run(struct sync *sync);
uint64_t exceptions_due_ns(const struct sync *sync);
/* Records of the kernel reader: those of exceptions behind their routes, all of one destination; or
 * behind objects. -E2BIG: the view is cut; what it has was noted. */
struct kernel_view;
struct kernel_record;
int exceptions_note(struct sync *sync, uint32_t table, const struct kernel_view *view,
		    const struct kernel_record *records, size_t n);
/*
 * What is known of destinations within the prefix is punt until it is read again: before the FIB is
 * told of the target (NULL: none) of that prefix, unless it is as it was; or, whatever it is, since
 * the kernel may have forgotten it with a route there.
 */
void exceptions_route_changes(struct sync *sync, uint32_t table, const struct prefix *dst,
			      const struct fib_target *target);
void exceptions_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * The same of all, when a device has another MTU; of those by a neighbour that is no router any
 * more (rt6_clean_tohost()), or cannot be reached: a packet that waits for it in vain takes with it
 * what its destination has (ip6_link_failure()).
 */
void exceptions_mtu_changes(struct sync *sync);
void exceptions_neighbour_changes(struct sync *sync, uint32_t ifindex,
				  const union sixlane_addr *addr);
/* The kernel has something of dst, or may have: the operator's does not hold. */
bool exceptions_prevail(const struct sync *sync, const union sixlane_addr *dst);
/* Something stays punt until the audit has read all. */
bool exceptions_want_pass(const struct sync *sync);
/* One of the operator's is gone. */
void exceptions_operator_gone(struct sync *sync);
void exceptions_tell(const struct sync *sync, struct sixlane_meta *meta);

/* ICMPv6 messages that the datapath saw. _fd: -1 while they are left to wait. */
void icmp_events_run(struct sync *sync);
int icmp_events_fd(const struct sync *sync);
uint64_t icmp_events_due_ns(const struct sync *sync);

/* operator.c: sl_operator into the FIB. want: all of it anew. _fd: -1 if there is none. */
int operator_new(struct sync *sync);
void operator_free(struct operator_list *list);
void operator_run(struct sync *sync);
void operator_want(struct sync *sync);
/* The kernel has nothing of dst any more, by which one of the operator's could not hold. */
void operator_restore(struct sync *sync, const union sixlane_addr *dst);
/* A device came, went or was renamed. */
void operator_device_changed(struct sync *sync);
int operator_fd(const struct sync *sync);
/* Into sync->used: neighbours that are to be resolved, whether or not traffic comes. */
void operator_mark_gateways(struct sync *sync);
uint64_t operator_due_ns(const struct sync *sync);

/* compile.c: the compiled FIB is there, or tried again. Returns when to come back. */
uint64_t compile_run(struct sync *sync);
/* It was found to be wrong: dropped, and built anew after a while. */
void compile_distrust(struct sync *sync);

/* verify.c: compare it as the CLI wishes. Returns when to come back. */
uint64_t verify_run(struct sync *sync);

/*
 * parity.c: the maps are compared with the kernel's answers, a few packets a second, and a prefix
 * on which they disagree is punted. run: when parity_due_ns() has come or parity_fd() has input.
 */
int parity_new(struct sync *sync);
void parity_free(struct parity_state *parity);
void parity_run(struct sync *sync);
int parity_fd(const struct sync *sync);
uint64_t parity_due_ns(const struct sync *sync);
/* Neighbours that had traffic in the last second: of some of these packets are drawn. */
void parity_forget_neighbours(struct sync *sync);
void parity_note_neighbour(struct sync *sync, uint32_t slot);
/* What fib_set() gets instead of target; NULL: the prefix has no route any more. */
const struct fib_target *parity_target(struct sync *sync, uint32_t table, const struct prefix *dst,
				       const struct fib_target *target);
/* Into sl_meta. */
void parity_tell(const struct sync *sync, struct sixlane_meta *meta);

/* keeper.c: neighbours with traffic in XDP, which the kernel does not see, stay alive. */
void keeper_run(struct sync *sync);

#endif
