# SPDX-License-Identifier: GPL-2.0-only
"""What TRex counted, as the agent tells it. Knows the form of its statistics, and none of its API."""


def width_us(low):
    """Of the class of TRex's histogram that begins there: 10 µs up to 100, 100 up to 1000 …"""
    return 10 ** max(1, len(str(low)) - 1)


def count(measured, name, ports):
    """Packets for latency, of all streams, that these ports counted."""
    flows = [flow for pg_id, flow in measured["flow_stats"].items() if pg_id != "global"]
    return sum(flow[name].get(port, 0) for flow in flows for port in ports)


def percentiles(counts, maximum):
    """In ns: the upper end of the class, which is at most the maximum."""
    found = {"max": round(maximum * 1000)}
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        seen = 0
        for low in sorted(counts):
            seen += counts[low]
            if seen >= part * sum(counts.values()):
                found[name] = min((low + width_us(low)) * 1000, found["max"])
                break
    return found


def latency_of(measured, senders, receivers):
    """Of all streams, in ns, with how many packets there were; None if none arrived."""
    streams = [one["latency"] for pg_id, one in measured["latency"].items() if pg_id != "global"]
    counts = {}
    for stream in streams:
        for low, number in stream["histogram"].items():
            counts[low] = counts.get(low, 0) + number
    # TRex's client puts text where there is none
    maxima = [us for us in (stream["total_max"] for stream in streams) if not isinstance(us, str)]
    if not any(counts.values()) or not maxima:
        return None
    return {
        "sent": count(measured, "tx_pkts", senders),
        "n": count(measured, "rx_pkts", receivers),
        **percentiles(counts, max(maxima)),
    }


def errors_of(stats, senders, receivers, latency):
    """What makes the counts doubtful, in words."""
    errors = []
    if stats["global"].get("queue_full"):
        errors.append(
            "TRex's queues were full %d times: the generator is the bottleneck; give it more cores (-c)"
            % stats["global"]["queue_full"]
        )
    for ports, name in ((senders, "oerrors"), (receivers, "ierrors")):
        for port in ports:
            if stats[port].get(name):
                errors.append("port %d: %d %s" % (port, stats[port][name], name))
    for pg_id, one in latency.items():
        counters = one if pg_id == "global" else one["err_cntrs"]
        for name in ("bad_hdr", "old_flow", "dup", "out_of_order", "seq_too_low"):
            if counters.get(name):
                errors.append("packets for latency, %s: %d" % (name, counters[name]))
    return errors
