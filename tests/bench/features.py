# SPDX-License-Identifier: GPL-2.0-only
"""What a feature costs packets: sixlane alone, with one feature at a time, in turn."""

import argparse
import collections

import flow as fl
from measure import check_samples, forward_samples
from progress import wait

METRIC = 1024
SLICES = 6  # each of at least all destinations

# What a feature costs, by what is added to one route: commands that put it there, and away again;
# HASH_* is one as well.
NEXT_HOPS = " ".join("nexthop via %s" % gateway for gateway in fl.GATEWAYS)
MULTIPATH = "route replace 2000::/3 metric %d %s" % (METRIC, NEXT_HOPS)
HASH_ADDRESSES, HASH_PORTS = "0", "1"
PLAIN = "route replace 2000::/3 via %s metric %d" % (fl.GATEWAYS[0], METRIC)
# In the trie throughout, so that it is as deep with sources there as without.
ELSEWHERE = ["4000:%x::/32" % number for number in range(99)]
VLANS = [("p1.%d" % number, number) for number in range(2, 6)]
FEATURES = {
    "plain": ([], []),
    "ecmp": ([MULTIPATH], [PLAIN]),
    "ecmp by ports": ([HASH_PORTS, MULTIPATH], [HASH_ADDRESSES, PLAIN]),
    "sources elsewhere": (
        ["route add %s from 2001:db8::/32 via %s" % (to, fl.GATEWAYS[1]) for to in ELSEWHERE],
        ["route delete %s from 2001:db8::/32" % to for to in ELSEWHERE],
    ),
    "vlans elsewhere": (
        [line for to in VLANS for line in ("link add link p1 name %s type vlan id %s" % to,
                                           "link set dev %s up" % to[0])],
        ["link delete dev " + name for name, _ in VLANS],
    ),
    "by source": (
        ["route add 2000::/3 from 2001:db8::/32 via %s" % fl.GATEWAYS[1]],
        ["route delete 2000::/3 from 2001:db8::/32"],
    ),
    "a rule": (
        ["rule add pref 100 from 2001:db8:77::/48 lookup 100"],
        ["rule delete pref 100"],
    ),
}  # fmt: skip


def put(flow, commands):
    """Commands of ip -6, and HASH_*, until sixlane follows."""
    for policy in {HASH_ADDRESSES, HASH_PORTS} & set(commands):
        flow.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
        wait("the hash policy is followed",
             lambda: flow.router.status()["multipath_hash"]["policy"] == int(policy), 10)
    flow.r.batch(command for command in commands if command not in (HASH_ADDRESSES, HASH_PORTS))
    flow.router.barrier()


def has_vlans(ns):
    if ns.run("ip", "link", "add", "link", "p1", "name", "probe", "type", "vlan", "id", "1",
              check=False).returncode:  # fmt: skip
        return False
    ns.ip("link delete dev probe")
    return True


def bench_features(flow, table, prefixes, results, options):
    """sixlane alone, with one feature at a time, in turn.

    Whatever else a host does only adds to a time, and a few nanoseconds drown in it: a feature's
    time in a round is that of the fastest of its slices, and what it costs the difference of the
    fastest rounds. Its lowest and highest are differences within a round.
    """
    path, name = flow.write_prefixes(prefixes), "%s#%d" % (table, options.seeds[0])
    flow.r.batch([PLAIN, *("route add %s via %s" % (to, fl.GATEWAYS[0]) for to in ELSEWHERE)])
    ns = collections.defaultdict(list)
    count = max(options.count // SLICES, 1)
    sliced = argparse.Namespace(**{**vars(options), "rounds": SLICES, "count": count})
    features = dict(FEATURES)
    if not has_vlans(flow.r):
        print("bench: vlans elsewhere: left out, this kernel has no 802.1Q")
        del features["vlans elsewhere"]
    for number in range(options.rounds):
        for feature, (setup, undo) in features.items():
            put(flow, setup)
            samples = forward_samples(flow, path, number + 1, sliced, "--sides", "sixlane")
            check_samples(samples)
            slices = (s["elapsed_ns"] / s["sent"] for s in samples if s["round"])
            ns[feature].append(min(slices))
            put(flow, undo)
    for feature, values in ns.items():
        results.add("features", feature, name, len(prefixes), "ns", values)
    for feature, values in list(ns.items())[1:]:
        more = [value - plain for value, plain in zip(values, ns["plain"])]
        fastest = min(values) - min(ns["plain"])
        results.add("features", feature + " - plain", name, len(prefixes), "ns", more, fastest)
