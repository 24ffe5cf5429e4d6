# SPDX-License-Identifier: GPL-2.0-only
"""Agents for test_bench_nic.py, which send nothing: bench_agent.py '{"capacity": 5000, …}', see router(). Or a filter
that halves some numbers in the answers of one that sends: bench_agent.py KEY...
"""

import json
import sys

PORTS = [{"role": role, "mac": "02:00:00:00:00:0%d" % i} for i, role in enumerate(("tx", "rx"))]
HELLO = {"generator": "liar", "least_frame_bytes": 66, "least_syn_bytes": 78, "ports": PORTS}


def router(request, capacity, loses=0, most=10000, latency_ns=1000, says=()):
    """The answer beside a router that forwards `capacity` frames a second, and loses `loses` of each run in any case.
    The generator sends `most` a second. says: values that replace those of the answer."""
    rate = min(request["rate_pps"] or most, most)
    sent = int(rate * request["seconds"])
    received = max(0, min(sent, int(capacity * sent / rate)) - loses)
    times = {name: latency_ns * n for n, name in enumerate(("p50", "p99", "max"), 1)}
    return {"sent": sent, "received": received, "elapsed_ns": round(sent / rate * 1e9), "errors": [],
            "latency_ns": {"n": 10, "sent": 10, **times} if request["latency"] else None, **dict(says)}  # fmt: skip


def serve(runs=None, **how):
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "run" and runs is not None:
            runs -= 1
            if runs < 0:
                return
        reply = {"hello": lambda: HELLO, "run": lambda: router(request, **how)}.get(request["do"], dict)()
        print(json.dumps(reply), flush=True)


if sys.argv[1].startswith("{"):
    sys.exit(serve(**json.loads(sys.argv[1])))
for answer in map(json.loads, sys.stdin):
    for part in (answer, answer.get("latency_ns") or {}):
        part.update({key: part[key] // 2 for key in sys.argv[1:] if key in part})
    print(json.dumps(answer), flush=True)
