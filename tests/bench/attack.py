# SPDX-License-Identifier: GPL-2.0-only
"""What floods of spoofed Packet Too Big and Redirect cost other traffic, and what is kept of them.

Host a sends them on the last CPU, about a million destinations each, in the order of their numbers
and from the start again; other traffic is measured on the first CPU, in turn alone and beside each
flood. It goes by another route than what the floods are about, but for the last two kinds; the
flood of 16 routes, the traffic's among them, has been sent once before, so that there is no room for
what comes. A flood of plain datagrams shows what a busy CPU costs its neighbour, whatever it is busy
with. Where the kernel learns, it has work of its own for it on any CPU, such as to free what it
replaces: what that costs shows a bare XDP program that forwards the same traffic, with neither
sixlane's program nor its daemon there, part by part in turn with sixlane.

After that each flood is sent a few times from end to end with no traffic beside it: what hangs on no
speed is then right, or the bench fails. The daemon runs by its defaults.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import flow as fl
import lab
import messages
from features import METRIC
from measure import BenchError, check_samples, mean_ns
from messages import packed
from progress import wait
from traffic import Traffic

COUNT = 1 << 20  # destinations, and frames of a whole flood
MTU = 1300
# What the floods are about. The number is the last 8 bytes of an address, or stands behind 3fff:.
ONE_ROUTE, BY_HOST = "4001::", "5000::"
OWN_ROUTE = MANY_ROUTES = "3fff::"  # by its last bytes: that of the other traffic; else one of 16
LAST, FIRST = 8, 2
HOST, OTHER = "fe80::a:2", "fe80::a:99"  # routers on a's link: the one in use, and a better one
ROUTES = [
    *("3fff:%x::/32 via %s" % (number, fl.gateway_of(number)) for number in range(1, 16)),
    "%s/64 via %s" % (ONE_ROUTE, fl.GATEWAYS[0]),
    "%s/64 via %s dev p0" % (BY_HOST, HOST),
    "2000::/3 via %s metric %d" % (fl.GATEWAYS[0], METRIC),  # of the other traffic
]
FEWEST = 5 * 1024  # that the kernel keeps for a next hop of so many: its buckets, and their depth
# Of the other traffic, at least, where the kernel learns: what a flood puts into the filters of punt
# destinations punts some others.
BY_XDP = 0.99
DELIVERED = 0.999  # of the other traffic, at least, where a flood leaves by the same egress
ARRIVE = 0.9  # of the frames: where others take the CPU, the wire drops some
TIMES = 4
# The speed of a virtual machine goes up and down by the second: many short turns.
TURNS = 6  # in a round
SAMPLE = 2  # times the packets of a run
ALONE_SAMPLES, SAMPLES = 3, 5  # of traffic, in a turn: a second, and nearly two
# Of what the kernel has let go, more is not forgotten yet at one time than at another.
SLACK_BYTES = 4 << 20
PORT = 7  # not that of the traffic, which the sink counts
DEADLINE_S = 300  # of 65,536 that were flushed the daemon asks about each


class Kind:
    """A flood: the frame, where in it the destination stands, and what is to become of it."""

    def __init__(self, name, packet, about, at=LAST, verdict="pass_local", learnt=False,
                 fills=False, setup=(), undo=()):  # fmt: skip
        self.name, self.verdict, self.learnt, self.fills = name, verdict, learnt, fills
        self.setup, self.undo = setup, undo
        frame = messages.ethernet(fl.P0_MAC, fl.A_MAC, packet)
        # Of an even length: what is over is no part of the packet.
        self.frame = frame + bytes(len(frame) % 2)
        found = [i for i in range(len(frame) - 15) if frame[i : i + 16] == _number_zero(about, at)]
        self.places = [place + at for place in found]


def _number_zero(about, at):
    """The destination with the number 0: 32 bits, and those of its complement behind them."""
    address = packed(about)
    return address[: at + 4] + b"\xff" * 4 + address[at + 8 :]


def _kinds():
    a, b, router = packed(fl.A_ADDR), packed(fl.B_ADDR), packed(fl.A_ROUTER)
    host, other = packed(HOST), packed(OTHER)
    one, own, hosts = (_number_zero(net, LAST) for net in (ONE_ROUTE, OWN_ROUTE, BY_HOST))
    many = _number_zero(MANY_ROUTES, FIRST)

    def too_big(to, about):
        """Quotes an echo request of whom it is sent to: nobody asks a socket for it."""
        return messages.too_big(a, to, MTU, messages.echo(to, about))

    return [
        Kind("udp, through", messages.udp(a, one, PORT, 40), ONE_ROUTE, verdict="forward"),
        Kind("too big, through", messages.too_big(a, b, MTU, messages.udp(b, one, PORT, 40)), ONE_ROUTE, verdict="forward"),
        Kind("redirect, through", messages.redirect(a, b, other, one), ONE_ROUTE,
             verdict="forward"),
        Kind("redirect, ignored", messages.redirect(host, router, other, hosts), BY_HOST,
             verdict="pass_source"),
        Kind("redirect, to us", messages.redirect(host, router, other, hosts), BY_HOST,
             verdict="pass_source", learnt=True, setup=[("p0", 0)], undo=[("p0", 1)]),
        Kind("too big, to us", too_big(router, one), ONE_ROUTE, learnt=True),
        Kind("too big, 16 routes", too_big(router, many), MANY_ROUTES, FIRST, learnt=True,
             fills=True),
        Kind("too big, own route", too_big(router, own), OWN_ROUTE, learnt=True),
    ]  # fmt: skip


# --- the flood ------------------------------------------------------------------------------


class Flood:
    """One under way, until it is ended or has sent what it is to. A context manager."""

    def __init__(self, flow, kind, count=2**31 - 1):
        self.flow, self.kind = flow, kind
        at = [word for place in kind.places for word in ("--at", place)]
        before = self._arrived()
        self.process = flow.a.popen(
            fl.FLOOD, "about", "h0", "--frame", kind.frame.hex(), *at, "--addresses", COUNT,
            "--count", count, "--seconds", DEADLINE_S,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        wait("the flood begins", lambda: self._arrived() > before, 10)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.flow.lab.end(self.process)

    def _arrived(self):
        return self.flow.r.ipj("-s link show p0")[0]["stats64"]["rx"]["packets"]

    def report(self):
        """What it says for itself: {"sent", "elapsed_ns", …}."""
        out, err = self.process.communicate(timeout=DEADLINE_S + 10)
        if self.process.returncode:
            raise BenchError("%s: %s" % (self.kind.name, err))
        return json.loads(out)

    def end(self):
        """It must still be under way."""
        if self.process.poll() is not None:
            raise BenchError("the flood ended before the measurement: %s" % self.report())
        self.process.terminate()
        return self.report()


# --- what is kept ---------------------------------------------------------------------------


def _shown(flow):
    return {row["destination"] for row in flow.router.sixlane_json("exception", "show")}


def _of_kernel(flow):
    """Destinations that it has exceptions for, but for its own link-local ones."""
    rows = flow.r.ipj("route show cache")
    return {row["dst"] for row in rows if not row["dst"].startswith("fe80:")}


def _settle(flow, kind, first):
    """Until sixlane has what the kernel has, or as many of them as there is room for.

    Of so many that there is no room for them the daemon asks again after minutes: till then there
    are such that the kernel has taken back, unless it is the first flood.
    """
    room = next(entry["max_entries"] for entry in flow.router.status()["maps"]
                if entry["name"] == "sl_exceptions")  # fmt: skip
    seen = [set(), set()]

    def same():
        if not kind.learnt and not flow.router.status()["exceptions"]:
            return True
        seen[:] = _shown(flow), _of_kernel(flow)
        if len(seen[1]) <= room:
            return seen[0] == seen[1]
        return len(seen[0]) > room * 0.9 and (not first or seen[0] <= seen[1])

    wait("sixlane has what the kernel has", same, DEADLINE_S,
         lambda: "sixlane %d, kernel %d" % tuple(map(len, seen)), 0.5)  # fmt: skip
    # Not those that were shown: while some make room for others, a walk of the map sees both.
    entries = flow.router.status()["exceptions"]
    if entries > room:
        raise BenchError("%s: %d exceptions, there is room for %d" % (kind.name, entries, room))
    # Of frames that are wrong a few are right by chance.
    if len(seen[0]) < FEWEST if kind.learnt else seen[0]:
        raise BenchError("%s: %d exceptions" % (kind.name, len(seen[0])))
    return entries, len(seen[1])


def _forget(flow):
    """As an operator would, and by new routes, since of those the daemon hears."""
    flow.r.ip("route flush cache")
    flow.r.batch("route %s %s" % (verb, route) for route in ROUTES for verb in ("delete", "add"))
    wait("nothing is learnt", lambda: not (flow.router.status()["exceptions"]
         or flow.router.status()["exceptions_overflow"]), DEADLINE_S)  # fmt: skip


def _map_bytes(flow):
    done = flow.r.run("bpftool", "-j", "map", "show", "pinned", lab.PINS + "/sl_exceptions")
    return json.loads(done.stdout)["bytes_memlock"]


def _rise(before, after, key):
    return after[key] - before.get(key, 0)


def _whole(flow, kind, first):
    """All destinations once. Returns what there is of it then."""
    lost, before = flow.router.status()["icmp_events_lost"], flow.router.stats()
    with Flood(flow, kind, COUNT) as flood:
        sent = flood.report()["sent"]
    arrived = _rise(before, flow.router.stats(), kind.verdict)
    if sent != COUNT or arrived < ARRIVE * COUNT:
        raise BenchError("%s: %d frames sent, %d arrived" % (kind.name, sent, arrived))
    entries, kernel = _settle(flow, kind, first)
    lost = flow.router.status()["icmp_events_lost"] - lost
    if kind.verdict == "forward" and lost:
        raise BenchError("%s: hints of what is not to us" % kind.name)
    return {
        "entries": entries,
        "of kernel": kernel,
        "ICMP events lost": lost,
        "rss": fl.memory_bytes(flow.router.daemon.pid)["rss"],
        "map": _map_bytes(flow),
    }


def _keep(flow, kind, name, results):
    """The last flood must take no more than the second one: the first has made room."""
    found = [_whole(flow, kind, not number) for number in range(TIMES)]
    for key in ("rss", "map"):
        if found[-1][key] > found[1][key] + SLACK_BYTES:
            raise BenchError("%s: %s grows: %s" % (kind.name, key, found))
    units = {"ICMP events lost": "", "rss": "MB"}
    if kind.learnt:
        units = {"entries": "", "of kernel": "", **units, "map": "MB"}
    for key, unit in units.items():
        values = [after[key] / (1e6 if unit else 1) for after in found]
        results.add("attack", "%s: %s" % (kind.name, key), name, COUNT, unit, values, values[-1])


# --- the bench ------------------------------------------------------------------------------


@contextlib.contextmanager
def _set_up(flow, kind):
    """With what the kind needs."""
    for port, value in kind.setup:
        flow.r.sysctl("net.ipv6.conf.%s.forwarding" % port, value)
    yield
    for port, value in kind.undo:
        flow.r.sysctl("net.ipv6.conf.%s.forwarding" % port, value)


@contextlib.contextmanager
def _stopped(daemon):
    """If it runs. What it does for a flood it does beside that, and not when it is over: so its
    share of the time is more than beside a flood without end."""
    if daemon:
        daemon.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        if daemon:
            daemon.send_signal(signal.SIGCONT)


class Turns:
    """What turns have shown of one side: the floods' rates in Mpps; those of the traffic, each to what
    it was alone before and after that; the daemon's share of a CPU in %; and, if the kernel learns,
    the share of the traffic that XDP forwards."""

    def __init__(self):
        self.rates, self.ratios, self.shares, self.by_xdp = [], [], [], []


def _turns(flow, kind, path, options, side, count, turns):
    """So many more: other traffic alone and beside a flood in turn."""
    options = argparse.Namespace(**{**vars(options), "count": SAMPLE * options.count})
    alone, beside = [], []
    daemon = flow.router.daemon

    def ns(count, beside_flood):
        samples = traffic.samples(count)
        for sample in samples:
            if "forwarded" not in sample:
                continue
            if kind.verdict == "forward":  # the flood is, too, and its packets fill the egress's ring
                sample["forwarded"] = min(sample["forwarded"], sample["sent"])
                sample["checksum"] = sample["sent"] - sample["forwarded"]
                if beside_flood and sample["delivered"] >= DELIVERED * sample["sent"]:
                    sample["delivered"] = sample["sent"]
            if kind.learnt and side == "sixlane":
                by_xdp = sample["forwarded"] / sample["sent"]
                turns.by_xdp.append(by_xdp)
                if by_xdp >= BY_XDP:
                    sample["forwarded"], sample["checksum"] = sample["sent"], 0
        check_samples(samples)
        return mean_ns(samples)

    def beside_flood():
        begin, used = time.monotonic(), _cpu_seconds(daemon)
        with Flood(flow, kind) as flood:
            beside.append(ns(SAMPLES, True))
            report = flood.end()
        turns.rates.append(1e3 * report["sent"] / report["elapsed_ns"])
        turns.shares.append(100 * (_cpu_seconds(daemon) - used) / (time.monotonic() - begin))

    with _set_up(flow, kind), Traffic(flow, path, options, side) as traffic:
        for number in range(count + 1):
            if number:
                beside_flood()
            with _stopped(daemon):
                alone.append(ns(ALONE_SAMPLES, False))
    turns.ratios += [(a + b) / 2 / slow for a, b, slow in zip(alone, alone[1:], beside)]


def _fill(flow, kind):
    _whole(flow, kind, first=True)
    wait("there is no room for all", lambda: flow.router.status()["exceptions_overflow"], DEADLINE_S)


def _cpu_seconds(daemon):
    """Finer than in /proc/PID/stat."""
    if not daemon:
        return 0
    with open("/proc/%d/schedstat" % daemon.pid, encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


@contextlib.contextmanager
def _without_sixlane(flow):
    flow.router.stop()
    flow.router.detach()
    yield
    flow.router.attach("ip")
    flow.router.start("-l", "warning")


def _with_sixlane(flow, kind, path, options, count, turns):
    if kind.fills:
        _fill(flow, kind)
    _turns(flow, kind, path, options, "sixlane", count, turns)
    _forget(flow)  # or the daemon would be about it beside the next traffic alone


def _alone_with_the_kernel(flow, kind, path, options, count, turns):
    with _without_sixlane(flow):
        _turns(flow, kind, path, options, "bare", count, turns)
        flow.r.ip("route flush cache")


def _beside(flow, kind, path, name, results, options):
    """The sides take parts in turn; but what fills the map takes minutes, and once is enough."""
    sides = {_with_sixlane: Turns(), _alone_with_the_kernel: Turns()}
    if not kind.learnt:
        del sides[_alone_with_the_kernel]
    parts = 1 if kind.fills else options.rounds
    for part in range(parts):
        for side in list(sides) if part % 2 else reversed(list(sides)):
            side(flow, kind, path, options, TURNS * options.rounds // parts, sides[side])
    for side, turns in sides.items():
        what = kind.name + ("" if side is _with_sixlane else ", no sixlane")
        results.add("attack", "flood of " + what, name, COUNT, "Mpps", turns.rates)
        results.add("attack", "beside %s/alone" % what, name, COUNT, "ratio", turns.ratios)
    ours = sides[_with_sixlane]
    results.add("attack", "%s: daemon" % kind.name, name, COUNT, "% CPU", ours.shares)
    if kind.learnt:
        medians = [statistics.median(turns.ratios) for turns in sides.values()]
        results.add("attack", "beside %s: sixlane/no" % kind.name, name, COUNT, "ratio",
                    [medians[0] / medians[1]])  # fmt: skip
    if ours.by_xdp:
        results.add("attack", "%s: by XDP" % kind.name, name, COUNT, "%",
                    [100 * share for share in ours.by_xdp])  # fmt: skip


def _prepare(flow):
    """Routes for the floods to be about. The kernel is kept from collecting what it has learnt, which
    it does sooner than sixlane hears of all of it: of redirects to whom is no router, and of those
    that nobody uses."""
    flow.r.sysctl("net.ipv6.route.gc_interval", 3600)
    flow.r.sysctl("net.ipv6.route.gc_thresh", COUNT)
    neighbours = [(gateway, fl.B_MAC, "p1") for gateway in fl.GATEWAYS]
    neighbours += [(address, fl.A_MAC, "p0") for address in (HOST, OTHER, fl.A_ADDR)]
    flow.r.batch("neigh replace %s lladdr %s dev %s nud permanent router" % neighbour
                 for neighbour in neighbours)  # fmt: skip
    flow.r.batch("route replace " + route for route in ROUTES)
    flow.router.barrier()


def bench_attack(flow, table, prefixes, results, options):
    if len(os.sched_getaffinity(0)) < 2:
        print("bench: attack: left out, there is one CPU only", file=sys.stderr)
        return
    _prepare(flow)
    path, name = flow.write_prefixes(prefixes, "traffic"), "%s#%d" % (table, options.seeds[0])
    kinds = _kinds()
    for kind in kinds:
        _beside(flow, kind, path, name, results, options)
    for kind in kinds:
        with _set_up(flow, kind):
            _keep(flow, kind, name, results)
            _forget(flow)
