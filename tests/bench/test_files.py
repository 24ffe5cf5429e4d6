# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""user/bench/files.py: every format that it takes, as the tools write it, and what it refuses. iproute2 writes its own
as well."""

import bz2
import gzip
import ipaddress
import lzma
import os
import shutil
import signal
import socket
import struct

import pytest

import common
import files
import lab
from common import BenchError, Interrupted

ROUTES = ["2001:db8:1::/48", "2001:db8:2::/48", "2001:db8:3::/48", "::/0"]
PLAIN = "# routes\n2001:db8:1::1/48\n 2001:DB8:2:0::/48 # host bits\n\n2001:db8:3:0:0:0:0:0/48\n::/0\n2001:db8:1::/48\n"
IP_ROUTE = """\
multicast ff00::/8 dev v0 table local proto kernel metric 256 pref medium
2001:db8:1::/48 via fe80::1 dev v0 table 100 metric 1024 pref medium
2001:db8:2::/48 proto bird metric 32 pref medium
\tnexthop via fe80::1 dev v0 weight 1\x20
blackhole 2001:db8:3::/48 dev lo proto bird metric 32 pref medium
default nhid 5 via fe80::1 dev v0 proto ra metric 1024 expires 96sec pref medium
10.0.0.0/8 via 192.0.2.1 dev v0\x20
local 2001:db8:b::1 dev v0 table local proto kernel metric 0 pref medium
"""
BGPDUMP = """\
TABLE_DUMP2|1700000000|B|2001:db8::2|64497|2001:db8:1::/48|64497 3|IGP|fe80::1|0|0|1:2|NAG||
TABLE_DUMP2_AP|1700000000|B|2001:db8::2|64497|2001:db8:2::/48|2|64497|IGP|fe80::1|100|0||NAG||
TABLE_DUMP2|1700000000|B|192.0.2.2|64497|2001:db8:3::/48|64497|IGP|fe80::1|0|0||NAG||
TABLE_DUMP2|1700000000|B|192.0.2.2|64497|::/0|64497|IGP|fe80::1|0|0||NAG||
"""
BIRD_SHOW = """\
BIRD 3.1.8 ready.
Table master6:
10.9.0.0/16          blackhole [s4 07:16:14.155] * (200)
2001:db8:1::/48      unicast [peer1 07:36:21.030 from 2001:db8::2] * (100) [AS64497i]
\tvia fe80::1 on v0
\tInternal route handling values: 0L 5G 0S id 2
                     unicast [peer2 07:36:21.030] (100) [AS64498i]
2001:db8:2::/48      unreachable [s6 07:16:14.155] * (200)
2001:db8:3::/48 from 2001:db8:c::/48 unicast [s6 2026-11-30] * (200)
::/0                 prohibited [s6 07:16:14.155] * (200)
"""
FRR_ROUTE = """\
Codes: K - kernel route, C - connected, L - local, S - static, R - RIPng,

L * 2001:db8:b::1/128 is directly connected, lo, 00:00:14
B>* ::/0 [20/0] via fe80::1, v0, weight 1, 00:00:06
  *             via fe80::2, v0, weight 1, 00:00:06
S>* 2001:db8:1::/48 [1/0] unreachable (blackhole), weight 1, 00:00:14
B>q 2001:db8:2::/48 [20/0] via fe80::1, v0, weight 1, 00:00:06
C   2001:db8:3::/48 is directly connected, v0, 00:00:14
C * fe80::/64 is directly connected, v0, 00:00:13
"""
FRR_BGP = """\
BGP table version is 8, local router ID is 192.0.2.1, vrf id 0
   Network          Next Hop            Metric LocPrf Weight Path
*> ::/0             fe80::2841:dbff:fe0b:86d
                                                           0 64497 i
*>i2001:db8:1::/48  fe80::1                  0    100      0 3 i
*                   fe80::2                                0 64498 i
 *> 2001:db8:2::/48 ::                       0         32768 ?
N*> 2001:db8:3::/48
                    fe80::1                                0 64497 i

Displayed  4 routes and 5 total paths
"""
SAMPLES = [
    PLAIN, PLAIN.replace("\n", "\r\n"), IP_ROUTE, IP_ROUTE.replace("\n\tnexthop", "\\\tnexthop"), "# mine\n" + IP_ROUTE,
    BGPDUMP, BIRD_SHOW, "bird> show route\n" + BIRD_SHOW.split("\n", 1)[1], FRR_ROUTE,
    "r1# show ipv6 route\n" + FRR_ROUTE, FRR_BGP,
]  # fmt: skip


@pytest.fixture
def read(tmp_path):
    """read(text or bytes): the prefixes of a file with that, whose name says nothing."""

    def write_and_read(data):
        (tmp_path / "table").write_bytes(data.encode() if isinstance(data, str) else data)
        return {str(ipaddress.IPv6Network(prefix, False)) for prefix in files.read(str(tmp_path / "table"))}

    return write_and_read


needs_bgpdump = pytest.mark.skipif(not shutil.which("bgpdump"), reason="no bgpdump")


def mrt(*prefixes, subtype=4, kind=13):
    """A table of two paths a prefix, as RFC 6396 has it, with ADD-PATH if the subtype says so (RFC 8050)."""
    def record(sub, body):
        return struct.pack(">IHHI", 0, kind, sub, len(body)) + body

    path = bytes(10 if subtype > 6 else 6) + b"\0\4\x40\1\1\0"
    peers = record(1, struct.pack(">4sHHB4s16sI", bytes(4), 0, 1, 3, bytes(4), bytes(16), 64497))
    return peers + b"".join(record(subtype, bytes(4) + prefix + b"\0\2" + 2 * path) for prefix in prefixes)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, b"\xef\xbb\xbf".__add__])
@pytest.mark.parametrize("text", SAMPLES, ids=map(str, range(len(SAMPLES))))
def test_formats(read, text, pack):
    """Also packed, and with a byte order mark before it."""
    assert read(pack(text.encode())) == set(ROUTES)
    if pack in (gzip.compress, bz2.compress, lzma.compress):
        with pytest.raises(BenchError, match="table: "):
            read(pack(text.encode())[:-20])


@needs_bgpdump
@pytest.mark.parametrize("subtype", [4, 10])
def test_mrt(read, subtype):
    """Also with IPv4 and multicast RIBs in it."""
    nets = [ipaddress.IPv6Network(route) for route in ROUTES]
    encoded = [bytes([net.prefixlen]) + net.network_address.packed[: net.prefixlen // 8] for net in nets]
    others = mrt(b"\10\12", subtype=2) + mrt(b"\10\x20", subtype=5)
    assert read(mrt(*encoded, subtype=subtype) + others) == set(ROUTES)


def test_default_of_ipv4(read, capsys):
    """`ip route show table all` has both."""
    ipv4 = "10.0.0.0/8 dev v0\x20\ndefault via 192.0.2.1 dev v0 proto dhcp\x20\n"
    assert read(ipv4 + "2001:db8::/32 dev v0 metric 1 pref medium\n") == {"2001:db8::/32"}
    assert "left out: IPv4 prefixes: 2\n" in capsys.readouterr().err


def test_what_is_left_out(read, capsys):
    """One warning counts what is left out. All other prefixes are read."""
    unrouted = ["fe80::/64", "febf::1", "ff02::/16", "::1", "f000::/4", "8000::/1", "fe80::/9"]
    routed = {"::/0", "::/1", "4000::/2", "::/96", "::/128", "::2/128", "fc00::/7"}
    assert read("\n".join([*unrouted, *routed, "10.0.0.0/8", "10.0.0.0/8"])) == routed
    special = "link-local, multicast and loopback prefixes"
    assert capsys.readouterr().err.endswith(f"table: left out: {special}: {len(unrouted)}; IPv4 prefixes: 1\n")
    with pytest.raises(BenchError, match="table has no prefixes of IPv6; expected 2001:db8::/32"):
        read("10.0.0.0/8\n192.0.2.1\n")


LIST = "2001:db8::/32\n"
OTHERS = ("1:2", "2001:db8::/", "fe80::1%eth0", "2001:db8::/32 x", "é", "2001:db8::/٣")


@pytest.mark.parametrize("text, what", [
    *((f"{LIST}{line}\n::/0\n", f"table:2: {line!r}; expected 2001:db8::/32, as in a list of") for line in OTHERS),
    (IP_ROUTE + "::/48 x\n", "table:9: '::/48 x'; expected 2001:db8::/32 via fe80::1 dev eth0, as in ip -6 route"),
    (BIRD_SHOW + "2001:db8::/129 unicast [x]\n", "table:11: .*, as in BIRD's show route"),
    (FRR_ROUTE + "x ::/0\n", "table:10: .*, as in FRR's show ipv6"), (FRR_BGP + "x ::/0\n", "table:12: .* show bgp"),
    (BGPDUMP + "BGP4MP|0|A|2001:db8::2|64497|::/0|64497|IGP|::|0|0||NAG||\n", "table:5: .*, as in bgpdump -m of a"),
    (LIST + "1.2\n", "table:2: '1.2'; expected"),
    (LIST + "x\n" * 1000, "table:11: .*\n.*table: 10 errors, and the rest was not read"),
    ("::/0 x\n" + IP_ROUTE, "table:1: '::/0 x'; expected"), (b"\x7fELF" + bytes(60), "has no prefixes"),
    ("", "has no prefixes"), ('[{"dst":"2001:db8::/32"}]', "table:1: .*, as in a list"),
    (mrt(b"\10\x20", kind=16), "type 16; expected TABLE_DUMP_V2.*bench churn --updates"),
    pytest.param(mrt(b"\10\x20", b"\10\x21")[:-3], "table: .*error.*; expected TABLE_DUMP_V2", marks=needs_bgpdump),
    pytest.param(mrt(b"\10\x20")[:-24] + b"\1" + bytes(23), "table: .*peer_index.*; expected", marks=needs_bgpdump),
], ids=map(str, range(20)))  # fmt: skip
def test_refused(read, text, what):
    """The error says where it is, what stands there, and what is expected."""
    with pytest.raises(BenchError, match=what):
        read(text)


@pytest.mark.parametrize("path, why", [("/", "Is a directory"), ("/none", "No such file")])
def test_no_file(path, why):
    with pytest.raises(BenchError, match=why):
        files.read(path)


def test_standard_input():
    """Also a socket, which cannot be opened by a name."""
    (ours, theirs), before = socket.socketpair(), os.dup(0)
    with ours, theirs:
        theirs.sendall(LIST.encode() + b"x\n")
        theirs.shutdown(socket.SHUT_WR)
        os.dup2(ours.fileno(), 0)
        try:
            with pytest.raises(BenchError, match="^standard input:2: 'x'; expected"):
                files.read("-")
        finally:
            os.dup2(before, 0)
            os.close(before)


@pytest.mark.parametrize("data", [LIST, pytest.param(mrt(b"\10\x20"), marks=needs_bgpdump)])
def test_interrupt(read, monkeypatch, data):
    """A table of millions of routes is read for many seconds."""
    monkeypatch.setattr(common, "_signals", [signal.SIGINT])
    with pytest.raises(Interrupted):
        read(data)


def test_no_bgpdump(read, monkeypatch):
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(BenchError, match="table is in MRT: install the package bgpdump"):
        read(mrt(b"\10\x20"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_iproute2(read):
    """Its output here is read, in each of its formats."""
    with lab.Lab() as made:
        r = made.ns("r")
        made.link(r, "v0", r, "v1")
        r.addr("v0", "2001:db8:b::1/64")
        r.ip("link set dev v1 up")
        r.batch([f"route add {ROUTES[0]} via fe80::1 dev v0", f"route add blackhole {ROUTES[1]}",
                 f"route add {ROUTES[2]} encap ip6 dst 2001:db8::9 dev v0 table 100",
                 f"route add {ROUTES[3]} nexthop via fe80::1 dev v0 nexthop via fe80::2 dev v0"])  # fmt: skip
        for words in ((), ("-d",), ("-o",)):
            shown = r.run("ip", *words, "-6", "route", "show", "table", "all").stdout
            assert read(shown) == {*ROUTES, "2001:db8:b::/64"}
