#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The main job on real input: a router with the full IPv6 table, with and without sixlane.

Two hosts and a router in network namespaces of their own; a real BIRD puts the real table into
the router's kernel; sixlane is loaded by `ip link` and kept in step by sixlaned. Then ping,
traceroute and a flood over the whole table, once by the kernel alone, once by sixlane, in turn.

Every claim on the screen is checked: exit status 1 and the failed claim if one does not hold.
Speed is shown, not judged. Leaves nothing behind, however it ends.
"""

import itertools
import os
import signal
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(REPO, "tests", "lab"), os.path.join(REPO, "user", "bench")]

import lab  # noqa: E402

os.environ.setdefault("SIXLANE", lab.SIXLANE)
import packets as pk  # noqa: E402
import tables  # noqa: E402
from bird import Bird  # noqa: E402
from common import BenchError, cpus, find  # noqa: E402
from daemon import memory_of  # noqa: E402
from router import A_MAC, GATEWAYS, P0_MAC, Router  # noqa: E402

DEADLINE_S = 90
ROUNDS = 3
PACKETS = 500_000
FLOOD_LIMIT_S = 4
ADDRESSES = 262_144
# A service whose prefix is in the table; host b plays it.
SERVICE = "2606:4700:4700::1111"
PORTS = ("p0", "p1")
FRAME_BYTES = 68  # with Ethernet's checksum
LINE_EVERY_S = {True: 0.25, False: 5.0}  # by whether it is a terminal


def wait(what, look, seconds, detail=lambda: "", interval=0.02):
    """Poll until look() returns something true, which is returned; and say what goes on after a second."""
    start = time.monotonic()
    terminal, next_line, shown = sys.stderr.isatty(), start + 1, False
    while not (value := look()):
        elapsed = time.monotonic() - start
        if elapsed > seconds:
            raise TimeoutError("%s: not within %g s; %s" % (what, seconds, detail()))
        if start + elapsed >= next_line:
            next_line, shown = start + elapsed + LINE_EVERY_S[terminal], True
            text = "  … %s, %.0f s: %s" % (what, elapsed, detail())
            print("\r\033[K" + text if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)
        time.sleep(interval)
    if shown and terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return value


class Claims:
    """What must be true for the demo to have shown anything."""

    def __init__(self):
        self.failed = []

    def check(self, holds, text):
        if not holds:
            self.failed.append(text)
        return holds

    def equal(self, what, value, wanted):
        self.check(value == wanted, "%s: %s instead of %s" % (what, f"{value:,}", f"{wanted:,}"))


def say(label, text=""):
    print("%-11s %s" % (label, text), flush=True)


def indent(text):
    for line in text.strip().splitlines():
        say("", line.strip())


# --- the steps ------------------------------------------------------------------------------


def give_addresses(flow):
    """Hosts that answer."""
    flow.a.addr("h0", f"{flow.a_addr}/64")
    flow.b.addr("h0", *(f"{gateway}/64" for gateway in GATEWAYS), f"{SERVICE}/128")
    flow.a.route("add default via", flow.a_router)
    flow.b.route("add default via", flow.b_router)


def fill_table(flow, prefixes):
    """A BIRD that lives until the end."""
    bird = Bird(flow.r, [*zip(prefixes, itertools.cycle(GATEWAYS))])
    before, start = flow.kernel_routes()[0], time.monotonic()
    bird.start()

    def installed():
        bird.assert_runs()
        return flow.kernel_routes()[0] - before

    # The quick count may hold some of the kernel's own routes; the exact one has the last word.
    def complete():
        if installed() < len(prefixes):
            return False
        return flow.r.ip("route show table main proto bird").stdout.count("\n") == len(prefixes)

    wait("BIRD fills the kernel's table", complete, 60,
         lambda: "%s of %s routes" % (f"{installed():,}", f"{len(prefixes):,}"))  # fmt: skip
    say("BIRD", "%s put %s prefixes of the full view into the kernel in %.1f s"
        % (bird.version(), f"{len(prefixes):,}", time.monotonic() - start))  # fmt: skip


def load(flow):
    flow.sixlane.attach("ip")


def unload(flow):
    flow.sixlane.detach()


def ports_served(flow):
    """Both ports run sixlane and the daemon has taken notice of it."""
    ports = {port["name"]: port for port in flow.sixlane.status()["ports"]}
    return all(name in ports and "ingress" in ports[name]["flags"] for name in PORTS)


def start_daemon(flow, n_routes, claims):
    """Returns {"wall_ms", "sync_ms"}."""
    start = time.monotonic()
    flow.sixlane.start(sync=False)

    seen = [None]

    def in_sync():
        flow.sixlane.assert_daemon_runs()
        seen[0] = flow.sixlane.status(check=False)
        return seen[0] and seen[0]["in_sync"]

    wait("sixlaned reads the kernel's tables", in_sync, 30,
         lambda: "%s routes in the maps" % (f"{seen[0]['routes']:,}" if seen[0] else "no"), 0.002)  # fmt: skip
    status = seen[0]
    wall_ms = (time.monotonic() - start) * 1000
    claims.check(status["routes"] >= n_routes,
                 "sixlane has %d routes, BIRD gave %d" % (status["routes"], n_routes))  # fmt: skip
    say("sixlaned", "in sync after %.0f ms: %s routes, %d next hops, %d neighbours"
        % (wall_ms, f"{status['routes']:,}", status["next_hops"], status["neighbours"]))  # fmt: skip
    for port in status["ports"]:
        if port["name"] in PORTS:
            say("", "%s: mode %s, %d rx queues, %d tx queues"
                % (port["name"], port["mode"], port["rx_queues"], port["tx_queues"]))  # fmt: skip
            claims.check(port["mode"] == "native", port["name"] + " is in mode " + port["mode"])
    return {"wall_ms": wall_ms, "sync_ms": status["sync_ms"]}


def forwarded(flow):
    return flow.sixlane.stats()["forward"]


def ping(flow, claims):
    before = forwarded(flow)
    done = flow.a.run("ping", "-n", "-c", "5", "-i", "0.05", "-W", "2", SERVICE, check=False)
    say("ping", "%s from host a to host b" % SERVICE)
    indent("\n".join(done.stdout.strip().splitlines()[-2:]))
    claims.check(done.returncode == 0, "ping failed: " + done.stdout + done.stderr)
    claims.equal("pings forwarded in XDP, there and back", forwarded(flow) - before, 10)


def traceroute(flow, claims):
    done = flow.a.run("traceroute", "-6", "-n", "-q", "1", "-w", "2", SERVICE, check=False)
    say("traceroute", "shows the router:")
    indent("\n".join(done.stdout.strip().splitlines()[1:]))
    hops = [line.split()[1:2] for line in done.stdout.splitlines()[1:]]
    claims.check(hops == [[flow.a_router], [SERVICE]],
                 "traceroute: hops %s\n%s" % (hops, done.stdout + done.stderr))  # fmt: skip


def send(flow, addresses):
    """Packets from host a by the last CPU."""
    frames = pk.template(FRAME_BYTES, P0_MAC, A_MAC, flow.a_addr)
    engine, egress = flow.engine(flow.a), flow.a.link("h0")["ifindex"]
    source = pk.Generator(engine, "flood", frames, 1, len(addresses), egress)
    source.aim(addresses)
    before = flow.sink.counts()
    lane = pk.run(engine, frames, [source.lane(0, len(cpus()) - 1, PACKETS)], ns=FLOOD_LIMIT_S * 10**9)[0]
    delivered, wrong = (flow.sink.counts() - before).sum(axis=(0, 1)).tolist()
    return {"sent": lane.sent, "delivered": delivered, "wrong_hop_limit": wrong,
            "elapsed_ns": lane.ns * lane.sent / lane.timed}  # fmt: skip


def flood_kernel(flow, addresses):
    unload(flow)
    return send(flow, addresses)


def flood_sixlane(flow, addresses):
    load(flow)
    wait("sixlaned takes the ports", lambda: ports_served(flow), 10)
    before = flow.sixlane.stats()
    run = send(flow, addresses)
    after = flow.sixlane.stats()
    run["forwarded"] = after["forward"] - before["forward"]
    # Of a veth's frames one checksum in 65,536 looks as if it was left to the device.
    run["alike"] = after["pass_checksum"] - before["pass_checksum"]
    return run


def flood(flow, prefixes, claims):
    """The sides in turn. Returns {side: runs}."""
    table = tables.from_prefixes("full-view", 1, prefixes)
    runs = {"sixlane": [], "kernel": []}
    say("flood", "%d × %s packets of 64 bytes a side, %s destinations in the whole table"
        % (ROUNDS, f"{PACKETS:,}", f"{ADDRESSES:,}"))  # fmt: skip
    for seed in range(1, ROUNDS + 1):
        addresses = tables.draw(table, "random", ADDRESSES, seed)
        for side, function in (("kernel", flood_kernel), ("sixlane", flood_sixlane)):
            run = function(flow, addresses)
            runs[side].append(run)
            claims.equal("%s, round %d, delivered" % (side, seed), run["delivered"], run["sent"])
            claims.equal("%s, round %d, wrong hop limit" % (side, seed), run["wrong_hop_limit"], 0)
            if side == "sixlane":
                claims.equal("round %d, forwarded in XDP, but for checksums that look open" % seed,
                             run["forwarded"] + run["alike"], run["sent"])  # fmt: skip
                claims.check(run["alike"] <= run["sent"] / 8192 + 8,
                             "round %d: %d checksums look open" % (seed, run["alike"]))  # fmt: skip
    return runs


# --- the table ------------------------------------------------------------------------------


def mpps(runs):
    rates = sorted(run["delivered"] * 1e3 / run["elapsed_ns"] for run in runs)
    return statistics.median(rates), rates[0], rates[-1]


def print_table(flow, runs, sync):
    def total(side, key):
        return f"{sum(run.get(key, 0) for run in runs[side]):,}"

    def row(name, left, right=""):
        print("  %-34s %18s %18s" % (name, left, right))

    rates = {side: mpps(runs[side]) for side in runs}
    print()
    row("", "sixlane", "kernel alone")
    row("packets sent", total("sixlane", "sent"), total("kernel", "sent"))
    row("forwarded in XDP", total("sixlane", "forwarded"), "0")
    row("by the kernel: checksum looks open", total("sixlane", "alike"), "")
    row("delivered", total("sixlane", "delivered"), total("kernel", "delivered"))
    row("Mpps, median, one core", *["%.3f" % rates[side][0] for side in runs])
    row("Mpps, lowest – highest", *["%.3f – %.3f" % rates[side][1:] for side in runs])
    row("ratio", "%.2f" % (rates["sixlane"][0] / rates["kernel"][0]), "1")
    print()
    row("sync time, netlink to maps", "%.0f ms" % sync["sync_ms"])
    row("sync time, from the daemon's start", "%.0f ms" % sync["wall_ms"])
    pid = flow.sixlane.daemon.pid
    taken = memory_of(pid)
    row("memory of sixlaned (RSS)", "%.1f MB" % (taken["rss"] / 1e6))
    row("memory of the maps", "%.1f MB" % (taken["maps"] / 1e6))
    print("\n  passed to the kernel, by reason, ping and traceroute included:")
    for name, packets in flow.sixlane.stats().items():
        if packets and name != "forward":
            row("  " + name, f"{packets:,}")
    print(
        "\n  Both sides take frames from the same generator, one CPU for generator, router and"
        "\n  sink. For the kernel alone XDP is off on both ports; GRO stays on, without which"
        "\n  veth would not take the generator's frames."
    )


# --- from start to end ----------------------------------------------------------------------


def run(flow, claims):
    prefixes = find("full-view.txt").read_text(encoding="ascii").split()
    say("network", "host a ── p0 router p1 ── host b, in namespaces of their own")
    give_addresses(flow)
    fill_table(flow, prefixes)
    load(flow)
    say("ip link", "set dev {p0,p1} xdp obj build/sixlane.bpf.o sec xdp")
    sync = start_daemon(flow, len(prefixes), claims)
    ping(flow, claims)
    traceroute(flow, claims)
    print_table(flow, flood(flow, prefixes, claims), sync)


class TooLong(Exception):
    """The demo's own time is over."""


def on_alarm(_number, _frame):
    raise TooLong("not done within %d s; is the machine busy with something else?" % DEADLINE_S)


def main():
    if os.geteuid() != 0:
        sys.exit("demo: needs root (network namespaces, XDP): try sudo make demo")
    claims, start = Claims(), time.monotonic()
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(DEADLINE_S)
    try:
        with Router() as flow:
            run(flow, claims)
    except (BenchError, lab.LabError, TimeoutError, TooLong) as error:
        sys.exit("demo: FAILED: %s" % error)
    except KeyboardInterrupt:
        print("\ndemo: interrupted; everything is cleared up", file=sys.stderr)
        sys.exit(130)
    finally:
        signal.alarm(0)
    for text in claims.failed:
        print("demo: FAILED: " + text, file=sys.stderr)
    if claims.failed:
        sys.exit(1)
    print("\nAll claims hold. Done in %.0f s." % (time.monotonic() - start))


if __name__ == "__main__":
    main()
