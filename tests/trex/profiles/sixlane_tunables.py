# SPDX-License-Identifier: GPL-2.0-only
"""The tunables of the profiles, and the limits of what they may be. Knows nothing of TRex.

Each takes a value, and none has a hyphen in its name: `ndr --prof-tun a=1` makes "--a 1" of it.
"""

import argparse

SIZE_MIN, SIZE_MAX = 64, 9216
IMIX = ((64, 7), (594, 4), (1518, 1))
# From here on, labels are TRex's own.
LABEL_END = 0xFF00
PORT_MIN = 1024
# Of a random 16-bit variable.
PORTS = 1 << 15
COUNT_MAX = (1 << 32) - 1


def number(low, high):
    """A parser of whole numbers from low to high, for argparse."""

    def parse(text):
        value = int(text, 0)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError("%s is not within %d and %d" % (text, low, high))
        return value

    return parse


def sizes(text):
    """[(frame size, weight)] of a size, or of imix."""
    if text == "imix":
        return IMIX
    return ((number(SIZE_MIN, SIZE_MAX)(text), 1),)


def positive(text):
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("%s is not above 0" % text)
    return value


COUNT = number(0, COUNT_MAX)
# (name, parser, default or None for the profile's own, help)
TUNABLES = (
    ("size", sizes, None, "of frames with FCS, or imix (7:4:1 of 64, 594 and 1518)"),
    ("dst", str, None, "prefix of destinations, where no file is given"),
    ("src", str, None, "source address; SYNs come from anywhere in this prefix"),
    ("flows", number(1, PORTS), None, "how many source ports, for RSS and ECMP"),
    ("hop_limit", number(2, 255), 64, "a router would have to answer each packet with 1"),
    ("flow_label", number(0, LABEL_END - 1), 0, "the same for all packets"),
    ("pps", positive, 1000.0, "of all streams but that for latency; -m scales it"),
    ("count", COUNT, 0, "packets of one burst at this rate; 0: endless"),
    ("latency_pps", number(0, 100000), 0, "packets a second to measure latency with"),
    ("pg_id", number(0, 1 << 30), 6000, "of the stream for latency, plus the port"),
    ("seed", COUNT, 1, "of all that is random"),
)


def parser(description, **defaults):
    """defaults: of TUNABLES that have none."""
    made = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "--pattern",
        choices=("random", "flow", "miss"),
        default="random",
        help="random destinations, one flow, or destinations that the table has no route for",
    )
    made.add_argument("--prefixes", metavar="FILE", help="destinations are under these, in turn")
    made.add_argument("--dst_mac", help="the router's (else what TRex's configuration says)")
    made.add_argument("--src_mac", help="of this port (else its own)")
    for name, kind, default, text in TUNABLES:
        value = defaults[name] if default is None else default
        made.add_argument("--" + name, type=kind, default=value, help=text)
    return made
