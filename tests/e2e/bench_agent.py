# SPDX-License-Identifier: GPL-2.0-only
"""Agents for test_bench_nic.py, which send nothing: bench_agent.py '{"capacity": 5000, …}', see router(). Or filters
of the requests or answers of one that sends: see the functions below.
"""

import json
import sys
import time

PORTS = [{"role": role, "mac": "02:00:00:00:00:0%d" % i} for i, role in enumerate(("tx", "rx"))]
HELLO = {"generator": "liar", "least_frame_bytes": 66, "least_syn_bytes": 78, "ports": PORTS}
FEW = 64  # by which it is seen whether anything comes back


def router(request, capacity, buffer=0, loses=0, most=10000, latency_ns=1000, says=None, exactly=None):
    """As beside a router that forwards `capacity` frames a second, in which `buffer` frames wait, and that loses some
    of each run in any case. Its generator sends `most` a second; of all runs but those of few frames it says something
    else, or of all of them exactly that."""
    rate = min(request["rate_pps"] or most, most)
    sent = request.get("count") or int(rate * request["seconds"])
    seconds = sent / rate
    received = max(0, min(sent, int(capacity * seconds) + buffer) - loses)
    times = {name: latency_ns * n for n, name in enumerate(("p50", "p99", "max"), 1)}
    reply = {"sent": sent, "received": received, "elapsed_ns": round(seconds * 1e9), "offered_pps": rate, "errors": [],
             "latency_ns": {"n": 10, "sent": 10, **times} if request["latency"] else None}  # fmt: skip
    return exactly if exactly is not None else {**reply, **(says or {} if request.get("count") != FEW else {})}


def serve(runs=None, **how):
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "run" and runs is not None:
            runs -= 1
            if runs < 0:
                return
        reply = {"hello": lambda: HELLO, "run": lambda: router(request, **how)}.get(request["do"], dict)()
        print(json.dumps(reply), flush=True)


def divide(reply, divisor, *keys):
    """Say that it was a part of what the agent says."""
    for part in (reply, reply.get("latency_ns") or {}):
        for key in set(keys) & set(part):
            part[key] //= int(divisor)


def limit(request, most, key="do"):
    """Let it be asked for so many frames a second at the most, in requests with that key."""
    if request["do"] == "run" and request.get(key):
        request["rate_pps"] = min(request["rate_pps"] or float(most), float(most))


def late(request, seconds):
    """Let it begin later with what is to be stopped."""
    if request.get("seconds", 0) > 60:
        time.sleep(float(seconds))


FILTERS = {"divide": divide, "limit": limit, "late": late}
if sys.argv[1] in FILTERS:
    for line in sys.stdin:
        message = json.loads(line)
        FILTERS[sys.argv[1]](message, *sys.argv[2:])
        print(json.dumps(message), flush=True)
else:
    serve(**json.loads(sys.argv[1]))
