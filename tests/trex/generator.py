#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Drives TRex for `sixlane bench nic`: a line of JSON in, a line of JSON out, until {"do": "quit"}.

    generator.py --trex /opt/trex/v3.08 --server 192.0.2.1

    {"do": "hello"}  ->  {"generator", "version", "least_frame_bytes", "least_syn_bytes",
                          "ports": [{"name", "role", "mac", "speed_bps", "driver"}]}
    {"do": "run", "rate_pps", "seconds" or "count", "frame_bytes", "dst_macs", "src", "prefixes",
     "pattern", "seed", "latency", "hops"}
                     ->  {"sent", "received", "elapsed_ns", "offered_pps", "latency_ns", "errors"}
    {"do": "stop"}   ->  {}

Ports are pairs as TRex has them: 0, 2, … send and 1, 3, … receive, unless there are more dst_macs
than pairs; then all send and receive. rate_pps (0: line rate) and count (frames of one burst) are
those of all of them together. Packets for latency are sent beside them and counted by themselves,
as latency_ns.sent and latency_ns.n; if none arrived, latency_ns is null, and they are among sent.
hops may be given: TRex looks at no hop limit.

Any line that comes while packets are sent ends that run, which is answered first; so does the end
of the input. What goes wrong is said as {"error": what to do about it}; the next request finds the
connection made anew.
"""

import argparse
import collections
import contextlib
import ipaddress
import json
import os
import re
import select
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiles"))

import generator_counts as counts  # noqa: E402
from sixlane_table import TableError  # noqa: E402
from sixlane_tunables import COUNT_MAX, SIZE_MAX, SIZE_MIN  # noqa: E402

API = os.path.join("automation", "trex_control_plane", "interactive")
SYNC_PORT, ASYNC_PORT = 4501, 4500
# Of each port that sends; never more than a tenth of what it sends.
LATENCY_PPS = 1000
PG_ID = 6000
# For TRex to notice that its ports are done, beyond the seconds that it was told.
PATIENCE_S = 10
# How long packets may be under way after the last was sent (RFC 2544, 23).
STRAGGLERS_S = 2
POLL_S = 0.02
MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
PATTERNS = ("random", "flow", "miss", "syn")
# Preamble, start of frame and gap.
WIRE_BYTES = 20
FRAMES = (SIZE_MIN, SIZE_MAX)
HOPS_MAX = 31


class GeneratorError(Exception):
    """Its text says what to do."""


# --- the request ------------------------------------------------------------------------


def is_number(value, least=0):
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return least <= value < float("inf")


def is_positive(value):
    return is_number(value) and value > 0


def is_int(value, low, high):
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_address(value):
    try:
        return isinstance(value, str) and ipaddress.IPv6Address(value) is not None
    except ValueError:
        return False


def are_macs(value):
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(mac, str) and MAC.fullmatch(mac) for mac in value)


RUN = {
    "rate_pps": (is_number, "a number, 0 for line rate"),
    "frame_bytes": (lambda value: is_int(value, *FRAMES), "%d to %d, the FCS included" % FRAMES),
    "dst_macs": (are_macs, "a list with the router's MAC for each port that sends"),
    "src": (is_address, "an IPv6 address"),
    "prefixes": (
        lambda value: value is None or isinstance(value, str) and value,
        "a file, or null",
    ),
    "pattern": (lambda value: value in PATTERNS, "one of " + ", ".join(PATTERNS)),
    "seed": (lambda value: is_int(value, 0, (1 << 64) - 1), "a whole number of 64 bits"),
    "latency": (lambda value: isinstance(value, bool), "true or false"),
    "hops": (lambda value: is_int(value, 0, HOPS_MAX), "0 to %d" % HOPS_MAX),
}


LENGTH = {
    "seconds": (is_positive, "a number above 0"),
    "count": (lambda value: is_int(value, 1, COUNT_MAX), "1 to %d" % COUNT_MAX),
}


def check_run(request):
    """A copy of it, in which exactly one of LENGTH is not None."""
    request = {"seconds": None, "count": None, "hops": 1, **request}
    given = [name for name in LENGTH if request[name] is not None]
    if len(given) != 1:
        raise GeneratorError("give either seconds or count, the length of the run")
    check_fields(request, {**RUN, given[0]: LENGTH[given[0]]})
    if request["latency"] and request["count"]:
        raise GeneratorError("latency is measured beside a load of some seconds, not of a count")
    return request


def check_fields(request, fields):
    for name, (is_right, what) in fields.items():
        if name not in request:
            raise GeneratorError("%s is missing: it is %s" % (name, what))
        if not is_right(request[name]):
            raise GeneratorError("%s must be %s, not %s" % (name, what, json.dumps(request[name])))


# --- TRex -------------------------------------------------------------------------------


def find_api(folder):
    """TRex's Python API, imported from its folder."""
    path = os.path.join(folder, API)
    if not os.path.isdir(path):
        raise GeneratorError(
            "%s has no TRex: %s is missing; give the folder that holds t-rex-64 as --trex DIR"
            % (folder, API)
        )
    if path not in sys.path:
        sys.path.insert(0, path)
    try:
        import trex.stl.api as api
    except Exception as error:  # its own imports fail in many ways
        raise GeneratorError(
            "TRex's Python API in %s cannot be imported (%s: %s); is it the folder of a whole TRex, of"
            " a version for this Python (%d.%d)?"
            % (path, type(error).__name__, error, *sys.version_info[:2])
        ) from None
    return api


def check_reachable(host, port, timeout_s):
    """TRex's own client takes long to give up, and does not say why."""
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except OSError as error:
        raise GeneratorError(
            "TRex not reachable at %s port %d (%s): start it there with ./t-rex-64 -i, or give another"
            " --server HOST[:PORT]" % (host, port, error.strerror or error)
        ) from None


class Trex:
    """A connection to TRex, made when it is first needed."""

    def __init__(self, options, is_over):
        """is_over(seconds): whether, within that time, somebody wants a run to end."""
        self.options, self.is_over = options, is_over
        self.api, self.client = None, None

    def open(self):
        if self.client:
            return
        host, port = self.options.server
        check_reachable(host, port, self.options.timeout)
        self.api = find_api(self.options.trex)
        client = self.api.STLClient(
            server=host, sync_port=port, async_port=self.options.async_port, verbose_level="none",
            sync_timeout=self.options.timeout, async_timeout=self.options.timeout,
        )  # fmt: skip
        client.connect()
        self.client = client

    def close(self):
        """Stops what is sent, and lets go of the ports."""
        client, self.client = self.client, None
        if client:
            with contextlib.suppress(Exception):
                client.disconnect()

    def hello(self):
        self.open()
        import sixlane_stream

        ports = self.client.get_all_ports()
        return {
            "generator": "trex",
            "version": self.client.get_server_version().get("version", "?"),
            "least_frame_bytes": SIZE_MIN,
            "least_syn_bytes": sixlane_stream.least_size("tcp"),
            "ports": [
                describe_port(port, info)
                for port, info in zip(ports, self.client.get_port_info(ports))
            ],
        }

    def choose_ports(self, count):
        """([ports that send], [ports that receive])."""
        ports = list(self.client.get_all_ports())
        pairs = len(ports) // 2
        if count > 2 * pairs:
            raise GeneratorError(
                "dst_macs has %d MACs, and TRex %d ports in pairs: give one MAC for each port that sends"
                % (count, 2 * pairs)
            )
        if count <= pairs:
            senders = ports[0 : 2 * count : 2]
            return senders, [port + 1 for port in senders]
        if count < 2 * pairs:
            raise GeneratorError(
                "dst_macs has %d MACs: give up to %d, or %d for both directions"
                % (count, pairs, 2 * pairs)
            )
        return ports[:count], ports[:count]

    def check_links(self, ports):
        down = [
            port
            for port, info in zip(ports, self.client.get_port_info(ports))
            if info["link"] == "DOWN"
        ]
        if down:
            raise GeneratorError(
                "TRex's port %s has no link: check its cable, and that the router's port is up"
                % ", ".join(map(str, down))
            )

    def run(self, request):
        request = check_run(request)
        self.open()
        senders, receivers = self.choose_ports(len(request["dst_macs"]))
        ports = sorted({*senders, *receivers})
        self.client.reset(ports)
        self.check_links(ports)
        if len(receivers) > 1:
            # a bond hashes what is for the MAC of one port to any of them
            self.client.set_port_attr(ports=receivers, promiscuous=True)
        rate = request["rate_pps"] or self.line_rate(senders, request["frame_bytes"])
        for index, (port, mac) in enumerate(zip(senders, request["dst_macs"])):
            share = Share(rate / len(senders), count_share(request["count"], index, len(senders)))
            self.client.add_streams(make_streams(request, port, mac, share), ports=[port])
        seconds = request["seconds"] or request["count"] / rate
        seconds = self.send(senders, -1 if request["count"] else seconds, seconds)
        return self.read(request["latency"], seconds, senders, receivers)

    def line_rate(self, ports, frame_bytes):
        """That of the slowest port, for all of them."""
        speeds = [info["speed"] for info in self.client.get_port_info(ports)]
        if not all(is_positive(speed) for speed in speeds):
            raise GeneratorError(
                "TRex does not know the speed of its ports: give a rate_pps above 0"
            )
        return len(ports) * min(speeds) * 10**9 / 8 / (frame_bytes + WIRE_BYTES)

    def send(self, ports, duration, seconds):
        """The seconds for which it was sent. TRex times itself, and does not say how long it took:
        those that it was told, unless the run was ended before."""
        self.client.clear_stats()
        self.client.clear_events()
        self.client.start(ports=ports, duration=duration, force=True)
        begun = time.monotonic()
        while self.client.is_traffic_active(ports=ports):
            if self.is_over(POLL_S):
                seconds = time.monotonic() - begun
                self.client.stop(ports=ports, rx_delay_ms=STRAGGLERS_S * 1000)
                return seconds
            if time.monotonic() - begun > seconds + PATIENCE_S:
                self.close()
                raise GeneratorError(
                    "TRex still sent %d s after it should have been done, and was told to stop: look"
                    " at its console" % PATIENCE_S
                )
        # done; but it still counts the latency of what is under way
        self.client.wait_on_traffic(
            ports=ports, timeout=PATIENCE_S, rx_delay_ms=STRAGGLERS_S * 1000
        )
        return seconds

    def drain(self, senders, receivers):
        """(statistics, sent, received) when all has arrived, or will not any more."""
        deadline = time.monotonic() + STRAGGLERS_S
        while True:
            stats = self.client.get_stats()
            sent = sum(stats[port]["opackets"] for port in senders)
            received = sum(stats[port]["ipackets"] for port in receivers)
            if received >= sent or time.monotonic() >= deadline:
                return stats, sent, received
            time.sleep(POLL_S)

    def read(self, has_latency, seconds, senders, receivers):
        """The reply."""
        stats, sent, received = self.drain(senders, receivers)
        measured = {"flow_stats": {}, "latency": {}}
        if has_latency:
            measured = self.client.get_pgid_stats([PG_ID + port for port in senders])
        latency = counts.latency_of(measured, senders, receivers)
        if latency:
            # TRex's ports count them with the others
            sent, received = sent - latency["sent"], received - latency["n"]
        return {
            "sent": sent,
            "received": received,
            "elapsed_ns": round(seconds * 10**9),
            "offered_pps": sent / seconds,
            "latency_ns": latency,
            "errors": [
                *counts.errors_of(stats, senders, receivers, measured["latency"]),
                *map(str, self.client.get_warnings()),
            ],
        }


def describe_port(port, info):
    return {
        "name": str(port),
        "role": "rx" if port % 2 else "tx",
        "mac": info["src_mac"],
        "speed_bps": int(info["speed"] * 10**9) or None,
        "driver": info.get("driver"),
    }


Share = collections.namedtuple("Share", "pps count")


def count_share(count, index, ports):
    return count * (index + 1) // ports - count * index // ports if count else 0


def make_streams(request, port, mac, share):
    """Of the profile, at this port's share of the rate, and that for latency beside it."""
    import sixlane_syn
    import sixlane_udp

    latency_pps = min(LATENCY_PPS, int(share.pps / 10)) if request["latency"] else 0
    if request["latency"] and not latency_pps:
        raise GeneratorError(
            "rate_pps is too low to measure latency: give 10 or more for each port"
        )
    if request["count"] and not share.count:
        raise GeneratorError("count is too low: give one packet or more for each port")
    # line rate has no room beside it
    pps = share.pps if request["rate_pps"] else share.pps - latency_pps
    tunables = {
        "size": request["frame_bytes"], "pattern": request["pattern"], "src": request["src"],
        "dst_mac": mac, "seed": request["seed"] % (1 << 32), "pps": pps, "pg_id": PG_ID,
        "latency_pps": latency_pps, "count": share.count,
    }  # fmt: skip
    profile = sixlane_udp
    if request["pattern"] == "syn":
        # from anywhere in the network of the source
        profile = sixlane_syn
        tunables.update(pattern="random", src=request["src"] + "/64")
    if request["prefixes"]:
        tunables["prefixes"] = request["prefixes"]
    words = ["--%s=%s" % item for item in tunables.items()]
    return profile.register().get_streams(port_id=port, direction=port % 2, tunables=words)


# --- the agent --------------------------------------------------------------------------


def answer(trex, line):
    """The reply to a line, or None to end."""
    try:
        request = json.loads(line)
    except ValueError as error:
        raise GeneratorError("not a line of JSON: %s" % error) from None
    what = request.get("do") if isinstance(request, dict) else None
    if what == "quit":
        return None
    if what == "hello":
        return trex.hello()
    if what == "run":
        return trex.run(request)
    if what == "stop":
        # what ran was ended by the line itself
        return {}
    raise GeneratorError('"do" must be hello, run, stop or quit')


def answer_or_error(trex, line):
    try:
        return answer(trex, line)
    except (GeneratorError, TableError) as error:
        return {"error": str(error)}
    except SystemExit:
        # argparse has said why
        return {"error": "the profile does not take its tunables: see what it says on stderr"}
    except Exception as error:  # TRex's client has many; after some, it is of no use any more
        trex.close()
        return {"error": "TRex: %s (%s)" % (" ".join(str(error).split()), type(error).__name__)}


def server_address(text):
    """HOST, HOST:PORT, an IPv6 address, or [IPv6 address]:PORT."""
    match = re.fullmatch(r"\[([^]]+)\](?::(\d+))?|([^:]+)(?::(\d+))?|([^][]*:[^][]*:[^][]*)", text)
    if not match:
        raise argparse.ArgumentTypeError("HOST[:PORT], not %r" % text)
    host = match[1] or match[3] or match[5]
    port = int(match[2] or match[4] or SYNC_PORT)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError("%d is no port" % port)
    return host, port


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--trex", metavar="DIR", required=True, help="TRex's folder, with t-rex-64 in it"
    )
    parser.add_argument("--server", type=server_address, default=("127.0.0.1", SYNC_PORT),
                        metavar="HOST[:PORT]", help="where ./t-rex-64 -i runs")  # fmt: skip
    parser.add_argument("--async_port", type=int, default=ASYNC_PORT, help="of its publisher")
    parser.add_argument(
        "--timeout", type=float, default=5, metavar="SECONDS", help="for each answer"
    )
    return parser.parse_args()


class Lines:
    """The requests, read by hand: select() knows nothing of what Python's files have read ahead."""

    def __init__(self, fd):
        self.fd, self.ahead = fd, b""

    def __iter__(self):
        while True:
            while b"\n" not in self.ahead:
                more = os.read(self.fd, 65536)
                if not more:
                    return
                self.ahead += more
            line, _end, self.ahead = self.ahead.partition(b"\n")
            yield line.decode(errors="replace")

    def are_waiting(self, seconds):
        """Whether there is more to read, or the end, within that time."""
        return bool(self.ahead or select.select([self.fd], [], [], seconds)[0])


class Ended(BaseException):
    """By a signal: what is sent is stopped on the way out."""


def end(_signal, _frame):
    raise Ended


def main():
    options = parse_options()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    # TRex's client prints, which would spoil the protocol
    replies, sys.stdout = sys.stdout, sys.stderr
    lines = Lines(sys.stdin.fileno())
    trex = Trex(options, lines.are_waiting)
    try:
        for line in lines:
            reply = answer_or_error(trex, line)
            if reply is None:
                return 0
            print(json.dumps(reply), file=replies, flush=True)
        return 0
    except Ended:
        return 130
    except BrokenPipeError:
        # nobody is left to read replies
        return 1
    finally:
        trex.close()


if __name__ == "__main__":
    sys.exit(main())
