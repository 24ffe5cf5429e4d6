// SPDX-License-Identifier: GPL-2.0-only
/*
 * Documented cases of a fib on simulated maps, as scripts (fib_script.h). The simulation checks the
 * order of writes at each of them; random histories (alone/test_fib_random.c) check the same
 * behaviour against a model.
 */
#include "fib_script.h"

/* Three prefixes, and then a /48 for which a map of three has no room. */
#define FILL "set ::/0 1@3;set 2001:db8::/32 2@3;set 2001:db9::/32 3@3;"
#define OVERFILL FILL "limit routes 3;set 2001:db8:1::/48 4@3;"
#define COVERS_ARE_PUNTED \
	"count missing 1;is 2001:db8:1::1 full;is 2001:db8:2::1 full;is ::1 full;is 2001:db9::1 3@3;"
#define ALL_THERE "count missing 0;is ::1 1@3;is 2001:db8:2::1 2@3;is 2001:db8:1::1 4@3;"
#define FAIL "fail set 1;fail del 1;"
#define WORK "fail set 0;fail del 0;"
#define BY_SOURCE "{::/0=0=1@3 2001:db8:a::/48=32=2@3}"
#define BY_OTHER_SOURCE "{::/0=0=1@3 2001:db8:b::/48=32=3@3}"

static const struct {
	const char *name, *script;
} cases[] = {
	/* --- single next hops ---------------------------------------------------------------- */
	{ "a route, its port and its neighbour come and go",
	  "set 2001:db8::/32 1@3:mtu=1400;is 2001:db8::1 1@3:mtu=1400;is 2001:db9::1 none;"
	  "count ports 1;port 3 1;gateway 2001:db8::1 down;neigh 3 fe80::1 up;"
	  "gateway 2001:db8::1 up;neigh 3 fe80::1 down;gateway 2001:db8::1 down;"
	  "del 2001:db8::/32;is 2001:db8::1 none;count next_hops 0 neighbours 0;port 3 0;count ports 0" },
	{ "routes with one meaning share a next hop, and with a neighbour its slot",
	  "set 1::/48 1@3;set 2::/48 1@3;count next_hops 1;set 3::/48 @3;set 4::/48 1@4;"
	  "count next_hops 3 neighbours 2;neigh 3 fe80::1 up;count neighbours 2;del 1::/48;del 2::/48;"
	  "count neighbours 2;neigh 3 fe80::1 down;count neighbours 1;"
	  "set 5::/48 local;set 6::/48 local:mtu=1400;same 5:: 6::" },
	{ "what is there already is not written again",
	  "port 3 1;set 2001:db8::/32 1@3;mark;port 3 1;set 2001:db8::/32 1@3;del 2001:db9::/32;"
	  "retry 0;wrote all 0" },
	{ "an index that cannot be written punts, and leaves a neighbour without a MAC",
	  "fail index 1;neigh 3 2001:db8::7 up;mac 3 2001:db8::7 down;set 2001:db8:1::/48 1@3;"
	  "is 2001:db8:1::1 full;fail index 0;retry 0;is 2001:db8:1::1 1@3;neigh 3 2001:db8::7 up;"
	  "fail index 1;neigh 3 2001:db8::7 down;mac 3 2001:db8::7 down;count neigh_index 2;"
	  "fail index 0;retry 0;count neigh_index 1" },
	{ "ids are used again only when no others are left, after a grace period",
	  "limit ids 5;set ::/0 local;set 1::/32 @3:mtu=1281;set 1::/32 @3:mtu=1282;count graces 0;"
	  "fail grace 1;set 1::/32 @3:mtu=1283;count graces 1 missing 1;is 1::1 full;retry 1;"
	  "fail grace 0;retry 0;count graces 3;is 1::1 @3:mtu=1283;is ::1 local" },
	{ "without a slot for its port a route punts until a device goes",
	  "limit ports 3;port 1 1;port 2 1;set 1::/48 1@50;is 1::1 full;retry 1;port 1 0;retry 0;"
	  "is 1::1 1@50" },
	/* --- tables and VLANs ---------------------------------------------------------------- */
	{ "tables are apart",
	  "set 0|2001:db8::/32 1@3;set 254|2001:db8::/32 1@4;set 0xffffffff|2001:db8::/32 1@5;"
	  "set 254|2001:db8:1::/48 local;is 0|2001:db8:1::1 1@3;is 254|2001:db8:1::1 local;"
	  "is 254|2001:db8:2::1 1@4;is 0xffffffff|2001:db8:2::1 1@5;del 254|2001:db8::/32;"
	  "del 7|2001:db8::/32;is 254|2001:db8:2::1 none;count routes 3;restart;sync;"
	  "set 0xffffffff|2001:db8::/32 1@7;end;count routes 1;is 0xffffffff|2001:db8::1 1@7" },
	{ "while a prefix is missing, no other table may answer",
	  "sync;end;mark;set 254|2001:db8::/32 1@3;set 255|2001:db8::/32 2@3;count gaps 0;"
	  "limit routes 2;set 255|2001:db8:1::/48 local;count gaps 1;is 255|2001:db8:1::1 full;"
	  "is 254|2001:db8:1::1 1@3;set 1000|2001:db8:1::/48 local;del 255|2001:db8:1::/48;"
	  "count gaps 1;is 255|2001:db8:1::1 2@3;limit routes 3;retry 0;count gaps 0;"
	  "is 1000|2001:db8:1::1 local;wrote gaps_written 2;fail index 1;"
	  "set 1000|2001:db8:1::/48 9@9;count missing 1 gaps 0" },
	{ "a restarted daemon does not know what is missing until it has synchronised",
	  "set 255|2001:db8::/32 local;limit routes 1;set 255|2001:db9::/32 local;count gaps 1;"
	  "restart;set 255|2001:dba::/32 local;retry 1;limit routes 8;retry 0;count gaps 1;sync;"
	  "set 255|2001:db8::/32 local;set 255|2001:db9::/32 local;count gaps 1;end;count gaps 0" },
	{ "a synchronisation clears the flag of gaps that an earlier daemon has left",
	  "limit routes 1;set 255|2001:db8::/32 local;set 255|2001:db9::/32 local;count gaps 1;"
	  "limit routes 8;restart;sync;set 255|2001:db8::/32 local;set 255|2001:db9::/32 local;"
	  "count gaps 1;end;count gaps 0" },
	{ "a tag leads to its VLAN device, until that has another tag, or none, or is gone",
	  "vlan 10 3 5;tag 3 5 10;tag 3 6 0;vlan 10 3 6;tag 3 6 10;vlan 10 4 6;tag 4 6 10;"
	  "count vlans 1;port 10 1;count vlans 0;vlan 10 4 6;set 2001:db8::/32 1@10;vlan 10 0 6;"
	  "count vlans 0 ports 1" },
	{ "a VLAN device may come before its predecessor is gone",
	  "vlan 10 3 5;vlan 11 3 5;tag 3 5 11;mark;retry 0;wrote indices 0;tag 3 5 11;vlan 10 0 5;"
	  "tag 3 5 11;vlan 10 3 5;vlan 10 0 5;retry 0;tag 3 5 11" },
	{ "a tag that could not be written is tried again",
	  "vlan 10 3 5;fail index 1;vlan 10 3 6;tag 3 5 0;tag 3 6 0;count vlans 1;fail index 0;"
	  "retry 0;tag 3 6 10;count vlans 1" },
	{ "tags survive a restart, and go unless they are confirmed",
	  "vlan 10 3 5;vlan 11 3 6;restart;retry 0;tag 3 5 10;tag 3 6 11;sync;mark;vlan 10 3 5;"
	  "wrote indices 0;end;tag 3 5 10;count vlans 1 ports 1" },
	{ "a tag of an earlier daemon that could not be given to another port is tried again",
	  "vlan 10 3 5;port 12 1;restart;retry 0;fail index 1;vlan 12 3 5;tag 3 5 10;fail index 0;"
	  "retry 0;tag 3 5 12" },
	/* --- full maps and failed writes ------------------------------------------------------ */
	{ "a missing prefix punts its covers, also new ones, until there is room",
	  OVERFILL COVERS_ARE_PUNTED
	  "retry 1;" COVERS_ARE_PUNTED
	  "del 2001:db9::/32;set 2001:db8::/40 5@3;is 2001:db8:1::1 full;retry 1;"
	  "del 2001:db8::/40;retry 0;" ALL_THERE },
	{ "covers are restored when the missing prefix is withdrawn", OVERFILL COVERS_ARE_PUNTED
	  "del 2001:db8:1::/48;count missing 0;is 2001:db8:1::1 2@3;is ::1 1@3" },
	{ "max_routes is a bound without writes that could fail",
	  "limit max_routes 3;" FILL "mark;set 2001:db8:1::/48 4@3;" COVERS_ARE_PUNTED
	  "count routes 3;wrote routes_written 2;del 2001:db9::/32;retry 0;" ALL_THERE },
	{ "a full trie that refuses to replace loses covers, whose covers are punted",
	  FILL "limit routes 3;fail replace 1;set 2001:db8:1::/48 4@3;is 2001:db8:1::1 full;"
	       "is ::1 full;is 2001:db9::1 3@3;set 2001:db9::/32 6@3;is 2001:db9::1 6@3;"
	       "del 2001:db9::/32;limit routes 8;retry 0;" ALL_THERE },
	{ "a value that can be neither changed nor deleted punts all routes by its next hop",
	  FILL "set 2001:db9::/33 2@3;" FAIL "set 2001:db8::/32 4@3;is 2001:db8::1 full;"
	       "is 2001:db9::1 full;is ::1 1@3;del ::/0;is ::1 full;count missing 2;retry 2;" WORK
	       "retry 0;is ::1 none;is 2001:db8::1 4@3;is 2001:db9::1 2@3;count next_hops 3" },
	{ "a prefix that cannot be deleted is punted, and may come back",
	  FILL "fail del 1;del 2001:db8::/32;is 2001:db8::1 full;is ::1 1@3;retry 1;"
	       "set 2001:db8::/32 7@3;count missing 0;is 2001:db8::1 7@3;fail del 0;"
	       "del 2001:db8::/32;is 2001:db8::1 1@3" },
	/* --- flags of exceptions -------------------------------------------------------------- */
	{ "an exception that is there already is not written again",
	  "set 2001:db8::/32 2@3;exception 2001:db8:1::1;mark;exception 2001:db8:1::1;wrote all 0" },
	{ "an exception that could not be deleted is deleted later, unless it was set again",
	  "set 2001:db8::/32 2@3;exception 2001:db8:1::1;exception 2001:db8:1::2;"
	  "fail exceptions 1;exception 2001:db8:1::1 none;exception 2001:db8:1::2 none;"
	  "fail exceptions 0;exception 2001:db8:1::1;count has_exceptions 2;retry 0;"
	  "count has_exceptions 1" },
	{ "flags go, also of destinations without a route",
	  "set 2001:db8::/32 2@3;exception 2001:db8:1::1;exception 3001::1;flag 2001:db8:1::1 1;"
	  "flags;set 3001::/16 4@3;flag 2001:db8:1::1 0;flag 3001::1 0" },
	{ "the flag moves to the cover when a prefix goes that could not be written",
	  "set ::/0 1@3;fail set 1;set 2001:db8::/32 2@3;exception 2001:db8:1::1;fail set 0;"
	  "del 2001:db8::/32;retry 0;flag 2001:db8:1::1 1" },
	/* --- groups --------------------------------------------------------------------------- */
	{ "a group shares by weight",
	  "set 2001:db8::/32 1@3*1+2@4*65536+3@3*700+@5*3:mtu=1400;"
	  "is 2001:db8::1 1@3*1+2@4*65536+3@3*700+@5*3:mtu=1400;count next_hops 5 buckets 4;"
	  "del 2001:db8::/32;count next_hops 0 buckets 0 neighbours 0" },
	{ "hops in another order are the same hashed group, but another ordered one",
	  "set 1::/48 1@3+2@4*2+3@3;mark;set 1::/48 3@3+1@3+2@4*2;wrote routes_written 0;"
	  "set 2::/48 3@3+1@3+2@4*2;same 1:: 2::;count next_hops 4 buckets 3;"
	  "set 3::/48 1@3>2@4>3@3;set 4::/48 3@3>1@3>2@4;is 3::1 1@3>2@4>3@3;is 4::1 3@3>1@3>2@4;"
	  "count next_hops 6" },
	{ "members are next hops like others, and the MTU is the group's",
	  "set 1::/48 1@3;set 2::/48 1@3+2@3;count next_hops 3;set 3::/48 1@3*9+4@3;count next_hops 5;"
	  "set 2::/48 1@3+2@3:mtu=1400;is 2::1 1@3+2@3:mtu=1400;count next_hops 5;del 1::/48;"
	  "count next_hops 5;del 3::/48;count next_hops 3" },
	{ "a group of one hop is that hop",
	  "set 1::/48 1@3;set 2::/48 1@3*7+1@3*7;same 1:: 2::;set 5::/48 blackhole;set 6::/48 0;"
	  "same 5:: 6::;count buckets 0" },
	{ "only groups expire; a drop that would is punted",
	  "set 1::/48 1@3:mtu=1500:expires=1000;is 1::1 1@3:mtu=1500:expires=1000;count buckets 1;"
	  "set 1::/48 1@3:expires=2000;is 1::1 1@3:expires=2000;count buckets 1;"
	  "set 1::/48 1@3+2@3*3:expires=2000;is 1::1 1@3+2@3*3:expires=2000;"
	  "set 1::/48 blackhole:expires=3000;is 1::1 expires;set 1::/48 prohibit:expires=3000;"
	  "is 1::1 prohibit;count buckets 0" },
	{ "a changed group is a new one; buckets rest until a grace period",
	  "limit buckets 4;set 1::/48 1@3+2@3;mark;set 1::/48 1@3*2+2@3;is 1::1 1@3*2+2@3;"
	  "wrote routes_written 1 graces 0;set 1::/48 1@3*3+2@3;is 1::1 1@3*3+2@3;wrote graces 1" },
	{ "without buckets a group punts; one store restores all its routes",
	  "limit buckets 3;set 1::/48 1@3+2@3;set 2::/48 1@3+3@3;set 3::/48 1@3+3@3;is 2::1 full;"
	  "count missing 1;retry 1;del 1::/48;mark;retry 0;is 2::1 1@3+3@3;is 3::1 1@3+3@3;"
	  "wrote routes_written 0 entries 1" },
	{ "without ids for its members a group punts, and gives back what it took",
	  "limit ids 4;set 1::/48 1@3+2@3;is 1::1 full;count buckets 0;mark;retry 1;wrote graces 1;"
	  "limit ids 5;retry 0;is 1::1 1@3+2@3" },
	{ "however many lack ids, a retry waits for one grace period",
	  "fail index 1;set 1::/48 1@3+2@13;set 2::/48 1@4+2@14;set 3::/48 1@5+2@15;fail index 0;"
	  "limit ids 6;mark;retry 3;wrote graces 1;limit ids 100;retry 0" },
	{ "a route that cannot be changed punts its group, but not the members",
	  "set 1::/48 1@3+2@3;set 2::/48 1@3+2@3;set 3::/48 1@3;" FAIL
	  "set 1::/48 9@3;is 1::1 full;"
	  "is 2::1 full;is 3::1 1@3;" WORK "retry 0;is 1::1 9@3;is 2::1 1@3+2@3" },
	{ "until the synchronisation after a restart, packets are hashed as before",
	  "set 1::/48 1@3+2@4*5;set 2::/48 1@3>2@4:expires=77;set 3::/48 1@3;restart;sync;"
	  "is 1::1 1@3+2@4*5;is 2::1 1@3>2@4:expires=77;count buckets 4;set 1::/48 1@3+2@4*5;"
	  "set 2::/48 1@3>2@4:expires=77;set 3::/48 1@3;end;is 1::1 1@3+2@4*5;"
	  "is 2::1 1@3>2@4:expires=77;count buckets 4 next_hops 4" },
	/* --- next-hop objects ----------------------------------------------------------------- */
	{ "routes follow their object by one store each change",
	  "object 7 none;set 1::/48 object=7;is 1::1 object=7 as none;mark;object 7 1@3;"
	  "is 1::1 object=7 as 1@3;count buckets 0;object 7 1@3+2@4*300;"
	  "is 1::1 object=7 as 1@3+2@4*300;count buckets 2 next_hops 3;object 7 0;is 1::1 blackhole;"
	  "count buckets 0;object 7 blackhole;is 1::1 blackhole;object 7 encap;is 1::1 encap;"
	  "object 7 forward;is 1::1 no-object;object 7 none;is 1::1 no-object;"
	  "wrote routes_written 0 entries 5;del 1::/48;count next_hops 0 neighbours 0" },
	{ "an object without routes has no room in the maps",
	  "object 7 1@3+2@4*3;count next_hops 0 buckets 0;set 1::/48 object=7;"
	  "is 1::1 object=7 as 1@3+2@4*3;del 1::/48;count next_hops 0 buckets 0;set 1::/48 object=7;"
	  "is 1::1 object=7 as 1@3+2@4*3" },
	{ "an object has a next hop for each MTU and expiry of its routes",
	  "object 7 1@3;set 1::/48 object=7;set 2::/48 object=7:mtu=1280;count buckets 0;"
	  "set 3::/48 object=7:expires=1000;is 1::1 object=7 as 1@3;is 2::1 object=7:mtu=1280 as 1@3;"
	  "is 3::1 object=7:expires=1000 as 1@3;mark;object 7 1@3+2@4*3;wrote entries 3;"
	  "is 1::1 object=7 as 1@3+2@4*3;is 3::1 object=7:expires=1000 as 1@3+2@4*3;count buckets 2;"
	  "object 7 0;is 1::1 blackhole;is 3::1 expires;object 7 blackhole;is 2::1 blackhole;"
	  "is 3::1 expires;count buckets 0;object 7 1@3;del 3::/48;is 1::1 object=7 as 1@3" },
	{ "an object that changes in a synchronisation is punted until its end",
	  "object 7 1@3;object 8 1@3+2@4*3;set 1::/48 object=7;set 2::/48 object=8;sync;object 7 2@4;"
	  "object 8 1@3+2@4*3;is 1::1 no-object;is 2::1 object=8 as 1@3+2@4*3;set 1::/48 object=8;"
	  "set 2::/48 object=7;is 1::1 object=8 as 1@3+2@4*3;end;is 2::1 object=7 as 2@4" },
	{ "the same for a resilient group whose buckets move",
	  "object 7 1@3+2@4/0,1,1;set 1::/48 object=7;sync;object 7 1@3+2@4/1,0,1;is 1::1 no-object;"
	  "set 1::/48 object=7;end;is 1::1 object=7 as 1@3+2@4/1,0,1" },
	{ "an object that means what it did is not written again",
	  "object 7 1@3+2@4*3;set 1::/48 object=7;mark;object 7 1@3+2@4*3;retry 0;wrote all 0;"
	  "object 7 1@3+2@4/0,1,1,65535;mark;object 7 1@3+2@4/0,1,1,65535;retry 0;wrote all 0" },
	{ "buckets of a resilient group change one by one",
	  "object 7 1@3+2@4*3/0,1,0,1,65535,0;set 1::/48 object=7;"
	  "is 1::1 object=7 as 1@3+2@4*3/0,1,0,1,65535,0;mark;object 7 1@3+2@4*3/1,1,0,1,1,0;"
	  "is 1::1 object=7 as 1@3+2@4/1,1,0,1,1,0;wrote buckets_written 2;"
	  "object 7 2@4*9+3@3/0,0,1,0,0,1;is 1::1 object=7 as 2@4+3@3/0,0,1,0,0,1;"
	  "wrote buckets_written 4 entries 0;count next_hops 4;object 7 1@3+2@4/1,1,0;"
	  "is 1::1 object=7 as 1@3+2@4/1,1,0;count buckets 3" },
	{ "an object that waits for buckets may change its meaning",
	  "limit buckets 5;object 1 1@3/0,0;object 2 1@3/0,0;object 3 1@3/0,0;set 1::/48 object=1;"
	  "set 2::/48 object=2;set 3::/48 object=3;is 2::1 object=2 as 1@3/0,0;is 3::1 full;"
	  "count buckets 4 missing 1;retry 1;del 2::/48;retry 0;is 3::1 object=3 as 1@3/0,0;"
	  "set 2::/48 object=2;count missing 1;object 2 none;count missing 0" },
	{ "objects that a synchronisation does not set are forgotten",
	  "object 7 1@3;object 8 1@3;set 7::/48 object=7;set 8::/48 object=8;sync;object 8 1@3;"
	  "set 7::/48 object=7;set 8::/48 object=8;is 7::1 object=7 as 1@3;end;"
	  "is 7::1 object=7 as none;is 8::1 object=8 as 1@3" },
	{ "after a restart routes by objects are not touched",
	  "object 7 1@3+2@4*3;object 8 1@3;set 7::/48 object=7;set 70::/48 object=7:mtu=1300;"
	  "set 8::/48 object=8;restart;mark;retry 0;is 70::1 object=7:mtu=1300 as 1@3+2@4*3;"
	  "count buckets 2;sync;object 7 1@3+2@4*3;object 8 1@3;is 7::1 object=7 as 1@3+2@4*3;"
	  "is 8::1 object=8 as 1@3;set 7::/48 object=7;set 70::/48 object=7:mtu=1300;"
	  "set 8::/48 object=8;end;wrote routes_written 0 entries 2;"
	  "is 7::1 object=7 as 1@3+2@4*3;count buckets 2 next_hops 5;restart;sync;object 8 1@3+2@4*3;"
	  "set 7::/48 object=7;set 70::/48 object=7:mtu=1300;set 8::/48 object=8;end;"
	  "is 7::1 object=7 as none;is 8::1 object=8 as 1@3+2@4*3;wrote routes_written 0" },
	{ "a next hop that was punted in place stays so after a restart",
	  "object 7 1@3;set 1::/48 object=7;" FAIL "set 1::/48 local;is 1::1 full;restart;sync;"
	  "object 7 1@3;is 1::1 full;" WORK "set 1::/48 local;end;is 1::1 local" },
	{ "a next hop that is punted in place stays so when its object changes",
	  "object 7 1@3;set 1::/48 object=7;set 2::/48 object=7;" FAIL "set 1::/48 local;"
	  "object 7 1@3+2@4*3;is 1::1 full;is 2::1 full;" WORK "retry 0;is 1::1 local;"
	  "is 2::1 object=7 as 1@3+2@4*3" },
	/* --- source-specific tables -------------------------------------------------------------
	 */
	{ "the source decides among routes",
	  "object 7 3@3+4@4*2;set 2001:db8::/32 {2001:db8:a:b::/64=32=2@4:mtu=1400:expires=900 "
	  "2001:db8:a::/48=32=3@3+4@4*2 ::/0=0=object=7 2001:db8:c::/48=32=prohibit};"
	  "is 2001:db8::1<2001:db8:a:b::1 2@4:mtu=1400:expires=900;"
	  "is 2001:db8::1<2001:db8:a:c::1 3@3+4@4*2;is 2001:db8::1<2001:db8:c::1 prohibit;"
	  "is 2001:db8::1<2001:db8:d::1 object=7 as 3@3+4@4*2;count sources 4;mark;object 7 none;"
	  "is 2001:db8::1<2001:db8:d::1 object=7 as none;wrote sources_written 0;"
	  "del 2001:db8::/32;count sources 0 next_hops 0" },
	{ "equal tables are shared, whatever the order of their sources",
	  "set 1::/48 " BY_SOURCE ";set 2::/48 {2001:db8:a::/48=32=2@3 ::/0=0=1@3};same 1:: 2::;"
	  "count sources 2;set 2::/48 {::/0=0=1@3 2001:db8:a::/48=16=2@3};differ 1:: 2::;"
	  "count sources 4;del 2::/48;count sources 2;set 1::/48 {};is 1::1 no-source;count sources 0" },
	{ "ids of tables rest until a grace period",
	  "limit tables 3;mark;set 1::/48 " BY_SOURCE ";set 1::/48 " BY_OTHER_SOURCE ";"
	  "wrote graces 0;set 1::/48 " BY_SOURCE ";wrote graces 1;is 1::1<2001:db8:a::1 2@3;"
	  "count sources 2" },
	{ "without room in the trie a table punts; one store restores all its routes",
	  "limit sources 3;set 1::/48 " BY_SOURCE ";set 2::/48 " BY_OTHER_SOURCE ";"
	  "set 3::/48 " BY_OTHER_SOURCE ";is 2::1 no-source;count sources 2 missing 1;retry 1;"
	  "del 1::/48;mark;retry 0;is 2::1<2001:db8:b::1 3@3;is 3::1<2001:db8:b::1 3@3;"
	  "wrote routes_written 0 entries 1" },
	{ "however many lack room in the trie, a retry finds that out once",
	  "limit sources 1;set 1::/48 " BY_SOURCE ";set 2::/48 " BY_OTHER_SOURCE ";"
	  "set 3::/48 {::/0=1=1@3 2001:db8:a::/48=0=1@3};mark;retry 3;wrote sources_written 3;"
	  "limit sources 9;retry 0;count sources 6" },
	{ "entries that cannot be deleted keep their id and their next hops",
	  "set 1::/48 " BY_SOURCE
	  ";fail del 1;set 1::/48 9@3;is 1::1 9@3;count sources 2 next_hops 3;"
	  "retry 0;count sources 2;fail del 0;retry 0;count sources 0 next_hops 1" },
	{ "a table needs ids for all its next hops",
	  "limit ids 4;set 1::/48 " BY_SOURCE ";is 1::1 full;count sources 0;limit ids 5;retry 0;"
	  "is 1::1<2001:db8:a::1 2@3" },
	{ "until the synchronisation after a restart, packets find their old table",
	  "set 1::/48 {2001:db8:a:b::/64=32=3@3>4@4 ::/0=0=1@3};restart;sync;"
	  "is 1::1<2001:db8:a:b::1 3@3>4@4;is 1::1 1@3;count sources 2;"
	  "set 1::/48 {2001:db8:a:b::/64=32=3@3>4@4 ::/0=0=1@3};end;"
	  "is 1::1<2001:db8:a:b::1 3@3>4@4;count sources 2 buckets 2 next_hops 5" },
	/* --- synchronisation and restart --------------------------------------------------------
	 */
	{ "a synchronisation deletes at its end what was not set", FILL
	  "neigh 3 2001:db8::7 up;neigh 3 2001:db8::8 up;mark;sync;set ::/0 1@3;"
	  "set 2001:db9::/32 3@3;neigh 3 2001:db8::8 up;is 2001:db8::1 2@3;mac 3 2001:db8::7 up;"
	  "end;is 2001:db8::1 1@3;wrote routes_written 1;mac 3 2001:db8::7 down;"
	  "mac 3 2001:db8::8 up" },
	{ "a restart touches nothing that is right; new ids wait for a grace period",
	  "port 3 1;port 4 1;" FILL "neigh 3 fe80::1 up;restart;mark;sync;port 3 1;" FILL
	  "neigh 3 fe80::1 up;gateway ::1 up;wrote all 0;del 2001:db9::/32;set 2001:db9::/32 9@3;"
	  "wrote graces 1;end;wrote routes_written 2;count ports 1 next_hops 3 neighbours 3;"
	  "is 2001:db9::1 9@3" },
	{ "after a restart covers stay punted until all prefixes are known",
	  OVERFILL "restart;sync;" FILL
		   "is 2001:db8:1::1 full;set 2001:db8:1::/48 4@3;end;" COVERS_ARE_PUNTED
		   "sync;" FILL "end;count missing 0;is 2001:db8:1::1 2@3" },
};

static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		setup(state);
		print_message("%s\n", cases[i].name);
		fib_script_run(*state, cases[i].script);
		teardown(state);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
