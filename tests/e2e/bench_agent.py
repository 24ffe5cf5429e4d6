# SPDX-License-Identifier: GPL-2.0-only
"""Agents for test_bench_nic.py, which send nothing.

    bench_agent.py '{"sent": 9, "received": 9}'   answers every run so, but for those of few frames
    bench_agent.py '{"says": {…}}'                answers every run with that
    bench_agent.py '{"capacity": 5000, …}'        as a generator beside a router (class Router) would

Or beside one that sends: FILTER | AGENT, or AGENT | FILTER.

    bench_agent.py limit 3000 [KEY]     lets it be asked for 3,000 frames a second at the most; in requests
                                        with that KEY
    bench_agent.py late 0.5             lets it begin so much later with what is to be stopped
    bench_agent.py divide 2 KEY...      says that it was half of what AGENT says
"""

import json
import sys
import time
from typing import NamedTuple

PORTS = [{"role": role, "mac": "02:00:00:00:00:0%d" % i} for i, role in enumerate(("tx", "rx"))]
HELLO = {"generator": "liar", "least_frame_bytes": 66, "least_syn_bytes": 78, "ports": PORTS}
FEW = 64  # by which it is seen whether anything comes back


class Router(NamedTuple):
    """What it forwards a second, how many frames wait in it, how many it loses of each run in any case,
    what its generator can send, and the seconds until that answers."""

    capacity: int
    buffer: int = 0
    loses: int = 0
    most: int = 10000
    latency_ns: int = 1000
    takes: float = 0

    def run(self, request):
        time.sleep(self.takes)
        rate = min(request["rate_pps"] or self.most, self.most)
        sent = request.get("count") or int(rate * request["seconds"])
        seconds = sent / rate
        received = min(sent, int(self.capacity * seconds) + self.buffer) - self.loses
        reply = {"sent": sent, "received": received, "elapsed_ns": round(seconds * 1e9),
                 "offered_pps": rate, "errors": []}  # fmt: skip
        if request["latency"]:
            times = {name: self.latency_ns * n for n, name in enumerate(("p50", "p99", "max"), 1)}
            reply["latency_ns"] = {"n": 10, "sent": 10, **times}
        return reply


class Liar:
    """The same answer each time, or none any more."""

    def __init__(self, sent, received, errors=(), runs=None):
        self.sent, self.received, self.errors, self.left = sent, received, list(errors), runs

    def run(self, request):
        if self.left == 0:
            sys.exit(0)
        self.left = self.left and self.left - 1
        seconds = request.get("seconds", 0.1)
        reply = {"elapsed_ns": int(seconds * 1e9), "offered_pps": 1000.0, "errors": self.errors,
                 "sent": self.sent, "received": self.received}  # fmt: skip
        if request.get("count") == FEW:
            reply.update(sent=FEW, received=min(FEW, self.received), errors=[])
        return reply


class Parrot(NamedTuple):
    says: dict

    def run(self, _request):
        return self.says


def serve(generator):
    for line in sys.stdin:
        request = json.loads(line)
        replies = {"hello": lambda _: HELLO, "run": generator.run}
        print(json.dumps(replies.get(request["do"], lambda _: {})(request)), flush=True)


def divide(reply, divisor, *keys):
    for part in (reply, reply.get("latency_ns") or {}):
        for key in set(keys) & set(part):
            part[key] //= int(divisor)


def limit(request, most, key="do"):
    if request["do"] == "run" and request.get(key):
        request["rate_pps"] = min(request["rate_pps"] or float(most), float(most))


def late(request, seconds):
    if request.get("seconds", 0) > 60:
        time.sleep(float(seconds))


FILTERS = {"divide": divide, "limit": limit, "late": late}
if sys.argv[1] in FILTERS:
    for line in sys.stdin:
        message = json.loads(line)
        FILTERS[sys.argv[1]](message, *sys.argv[2:])
        print(json.dumps(message), flush=True)
else:
    kinds = {"capacity": Router, "says": Parrot, "sent": Liar}
    given = json.loads(sys.argv[1])
    serve(next(kind for key, kind in kinds.items() if key in given)(**given))
