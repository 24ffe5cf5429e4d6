# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""user/bench/files.py: every format that it takes, as the tools write it, and what it refuses. The tools that are
installed write their own as well."""

import bz2
import contextlib
import gzip
import importlib.util
import io
import lzma
import os
import shutil
import socket
import struct
import subprocess
import sys
import time

import pytest

import bgp
import common
import files
import lab
import updates

ROUTES = ["2001:db8:1::/48", "2001:db8:2::/48", "2001:db8:3::/48", "::/0"]
PLAIN = "# routes\n2001:db8:1::1/48\n 2001:DB8:2:0::/48 # host bits\n\n2001:db8:3:0:0:0:0:0/48\n::/0\n2001:db8:1::/48\n"
IP_ROUTE = """\
2001:db8:1::/48 via fe80::1 dev v0 table 100 metric 1024 pref medium
2001:db8:2::/48 proto bird metric 32 pref medium
\tnexthop via fe80::1 dev v0 weight 1\x20
blackhole 2001:db8:3::/48 dev lo proto bird metric 32 pref medium
2001:db8:3::/48 from 2001:db8:c::/48 via fe80::1 dev v0 metric 1024 pref medium
fe80::/64 dev v0 proto kernel metric 256 pref medium
default nhid 5 via fe80::1 dev v0 proto ra metric 1024 expires 96sec pref medium
default via 192.0.2.1 dev v0\x20
local 2001:db8:b::1 dev v0 table local proto kernel metric 0 pref medium
multicast ff00::/8 dev v0 table local proto kernel metric 256 pref medium
"""
IP_JSON = """[{"dst":"2001:db8:1::/48","gateway":"fe80::1","dev":"v0","flags":[],"pref":"medium"},
{"dst":"2001:db8:2::/48","encap":"ip6","id":3,"src":"::","dst":"2001:db8::9","dev":"v0","pref":"medium"},
{"type":"unreachable","dst":"2001:db8:3::/48","dev":"lo","pref":"medium"}, {"type":"local","dst":"2001:db8:b::1"},
{"dst":"default","gateway":"192.0.2.1","dev":"v0"},{"dst":"default","nexthops":[],"pref":"medium"}]"""
BGPDUMP = """\
TABLE_DUMP2|1700000000|B|2001:db8::2|64497|2001:db8:1::/48|64497 3|IGP|fe80::1|0|0|1:2|NAG||
TABLE_DUMP2_AP|1700000000|B|2001:db8::2|64497|2001:db8:2::/48|2|64497|IGP|fe80::1|100|0||NAG||
TABLE_DUMP2|1700000000|B|192.0.2.2|64497|2001:db8:3::/48|64497|IGP|fe80::1|0|0||NAG||
TABLE_DUMP2|1700000000|B|192.0.2.2|64497|10.0.0.0/8|64497|IGP|192.0.2.2|0|0||NAG||
TABLE_DUMP2|1700000000|B|192.0.2.2|64497|::/0|64497|IGP|fe80::1|0|0||NAG||
"""
BIRD_SHOW = """\
BIRD 3.1.8 ready.
Table master4:
10.9.0.0/16          blackhole [s4 07:16:14.155] * (200)

Table master6:
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
       > - selected route, * - FIB route, q - queued, r - rejected, b - backup

IPv6 unicast VRF default:
B>* ::/0 [20/0] via fe80::1, v0, weight 1, 00:00:06
  *             via fe80::2, v0, weight 1, 00:00:06
S>* 2001:db8:1::/48 [1/0] unreachable (blackhole), weight 1, 00:00:14
B>q 2001:db8:2::/48 [20/0] via fe80::1, v0, weight 1, 00:00:06
C   2001:db8:3::/48 is directly connected, v0, 00:00:14
L>* 2001:db8:b::1/128 is directly connected, v0, 00:00:14
C * fe80::/64 is directly connected, v0, 00:00:13
"""
FRR_BGP = """\
BGP table version is 8, local router ID is 192.0.2.1, vrf id 0
Status codes:  s suppressed, d damped, h history, * valid, > best, = multipath,
               i internal, r RIB-failure, S Stale, R Removed

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
FRR_JSON = '{"2001:db8:1::/48":[{"prefix":"x"}],"2001:db8:2::/48":[],"fe80::/64":[],"2001:db8:3::/48":[],"::/0":[]}'
SAMPLES = {
    "a prefix a line": [PLAIN, PLAIN.replace("\n", "\r\n")],
    "ip -6 route": [IP_ROUTE, IP_ROUTE.replace("\n\tnexthop", "\\\tnexthop"), "# mine\n" + IP_ROUTE],
    "JSON": [IP_JSON, FRR_JSON, '{"default": {"vrfId": 0, "localAS": 64496, "routes": ' + FRR_JSON + "}}"],
    "bgpdump -m": [BGPDUMP],
    "BIRD's show route": [BIRD_SHOW, "bird> show route\n" + BIRD_SHOW.split("\n", 1)[1]],
    "FRR's show ipv6 route": [FRR_ROUTE, "r1# show ipv6 route\n" + FRR_ROUTE],
    "FRR's show bgp ipv6 unicast": [FRR_BGP],
}



def need_mrtparse():
    """Not by importing it, which gives SIGPIPE its default back: other tests write to processes that have ended."""
    if not importlib.util.find_spec("mrtparse"):
        pytest.skip("python3-mrtparse is not installed")


@pytest.fixture
def put(tmp_path):
    """put(text or bytes): the path of a file with that, whose name says nothing."""

    def write(data):
        (tmp_path / "table").write_bytes(data.encode() if isinstance(data, str) else data)
        return str(tmp_path / "table")

    return write


def mrt(*prefixes, subtype=4, kind=13):
    """A table of one peer, as RFC 6396 has it, with ADD-PATH if the subtype says so (RFC 8050)."""
    def record(sub, body):
        return struct.pack(">IHHI", 0, kind, sub, len(body)) + body

    attributes = bgp.attributes_of([64497])
    entry = bytes(10 if subtype > 6 else 6) + struct.pack(">H", len(attributes)) + attributes
    peers = record(1, struct.pack(">4sHHB4s16sI", bytes(4), 0, 1, 3, bytes(4), bytes(16), 64497))
    return peers + b"".join(record(subtype, bytes(4) + prefix + b"\0\1" + entry) for prefix in prefixes)


@pytest.mark.parametrize("kind, text", [(kind, text) for kind, texts in SAMPLES.items() for text in texts])
def test_formats(put, kind, text):
    path = put(text)
    assert files.kind_of(path) == kind
    assert sorted(files.read(path)) == sorted(ROUTES)


@pytest.mark.parametrize("subtype", [4, 10])
def test_mrt(put, subtype):
    """As the library decodes it; also with IPv4 and multicast RIBs in it."""
    need_mrtparse()
    others = mrt(b"\10\12", subtype=2) + mrt(b"\10\x20", subtype=5)
    path = put(mrt(*map(bgp.encode_prefix, ROUTES), subtype=subtype) + others)
    assert files.kind_of(path) == "MRT" and files.read(path) == ROUTES


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed(put, pack):
    assert sorted(files.read(put(pack(BIRD_SHOW.encode())))) == sorted(ROUTES)
    with pytest.raises(common.BenchError, match="table: "):
        files.read(put(pack(BIRD_SHOW.encode())[:-20]))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"2001:db8::/32\nx\n")))
    with pytest.raises(common.BenchError, match='^standard input:2: "x" is not an IPv6 prefix'):
        files.read("-")


def test_what_is_left_out(put, capsys):
    """One warning each, with a count."""
    files.read(put(IP_ROUTE))
    said = capsys.readouterr().err
    assert "IPv4 prefixes left out: 1\n" in said and "of the router left out: 3\n" in said and said.count("\n") == 2
    with pytest.raises(common.BenchError, match="has no prefixes: a table has one IPv6 prefix a line"):
        files.read(put("10.0.0.0/8\n" * 1000))
    assert "IPv4 prefixes left out: 1000" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["2001:db8::/129", "2001:db8::/", "2001:db8::/-1", "1.2.3.4.5", "fe80::1%eth0",
                                  "2001:db8::/32 x", "é", "2001:db8::/٣"])  # fmt: skip
def test_bad_lines(put, line):
    with pytest.raises(common.BenchError) as error:
        files.read(put(f"2001:db8::/32\n{line}\n::/0\n"))
    first, last = str(error.value).split("\n")
    assert first.endswith(f'table:2: "{line}" is not an IPv6 prefix; expected one a line, as 2001:db8::/32')
    assert "table: 1 bad line: " in last


@pytest.mark.parametrize("text, what", [
    (IP_ROUTE + "bogus\n", 'table:11: "bogus" is no line of ip -6 route; expected 2001:db8::/32 via'),
    (BIRD_SHOW + "Network not found\n", "table:13: .* is no line of BIRD's show route"),
    (FRR_ROUTE + "% error\n", "table:12: .* is no line of FRR's show ipv6 route"),
    (BGPDUMP + "BGP4MP|0|A|2001:db8::2|64497|::/0|64497|IGP|::|0|0||NAG||\n", "table:6: .* is an update"),
    ("2001:db8::/32\n" + "x\n" * 1000, "table:11: .*\n.*table: 10 bad lines, and the rest was not read"),
    (b"\x7fELF" + bytes(60), "neither text nor an MRT file"), ("", "has no prefixes"), ("{x", "is no JSON"),
    (mrt(b"\10\x20", kind=16), "type 16; expected TABLE_DUMP_V2.* bench churn --updates"),
    (mrt(b"\10\x20")[:-3], "record 2: .*; expected TABLE_DUMP_V2"),
])  # fmt: skip
def test_refused(put, text, what, tmp_path):
    with pytest.raises(common.BenchError, match=what):
        files.read(put(text))
    for path, why in ((str(tmp_path), "Is a directory"), (str(tmp_path / "none"), "No such file")):
        with pytest.raises(common.BenchError, match=why):
            files.kind_of(path)


@pytest.mark.parametrize("prefix, why", [
    ("fe80::/64", "is link-local"), ("febf::1", "is link-local"), ("ff02::/16", "is multicast"),
    ("::1", "is the loopback address"), ("f000::/4", "covers multicast"), ("8000::/1", "covers multicast"),
    ("fe80::/9", "covers link-local addresses"),
])  # fmt: skip
def test_unrouted(put, prefix, why):
    """Refused where a person made the table; all else of the address space is taken."""
    with pytest.raises(common.BenchError, match=f'"{prefix}" {why}, and nothing is forwarded there: leave it out'):
        files.read(put(f"2001:db8::/32\n::/0\n{prefix}\n"))
    routed = ["::/0", "::/1", "4000::/2", "::/96", "::/128", "::2/128", "fc00::/7", "fec0::/10"]
    assert files.read(put("\n".join(routed))) == routed


@pytest.mark.parametrize("before, said", [("", ""), ("sys.modules['mrtparse'] = None", "python3-mrtparse")])
def test_mrtparse_is_optional(put, before, said):
    """The error names the package. And where it is there, it does not change what a broken pipe does."""
    script = (f"import sys, signal; sys.path.insert(0, {os.path.dirname(files.__file__)!r}); import files\n{before}\n"
              "try: files.read(sys.argv[1])\nexcept files.BenchError as error: print(error)\n"
              "print(signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN)")  # fmt: skip
    argv = [sys.executable, "-c", script, put(mrt(*map(bgp.encode_prefix, ROUTES)))]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said in out and out.endswith("True\n")


def test_a_million_lines(put):
    """Seconds, not minutes: the bound is many times what it takes."""
    path = put("".join(f"2001:{number >> 16:x}:{number & 0xFFFF:x}::/48\n" for number in range(1_000_000)))
    start = time.monotonic()
    found = files.read(path)
    assert len(found) == 1_000_000 and found[-1] == "2001:f:423f::/48" and time.monotonic() - start < 60


# --- what is installed ------------------------------------------------------------------------------

BIRD = """log stderr all; router id 192.0.2.1; protocol device {{}} protocol direct {{ ipv6; interface "v0"; }}
protocol static {{ ipv6; route {0} via "v0"; route {1} blackhole; route {2} via fe80::1%v0 via fe80::2%v0; }}
protocol kernel {{ ipv6 {{ import none; export all; }}; }}
protocol bgp {{ local ::1 as 64496; neighbor 2001:db8::2 as 64497; passive; multihop;
	ipv6 {{ import all; export none; }}; }}
"""
ZEBRA = "ipv6 route {0} v0\nipv6 route {1} blackhole\nipv6 route {2} v0\nipv6 route {3} v0\n"


@pytest.fixture
def namespace():
    """A router with two devices and its own addresses."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with lab.Lab() as made:
        found = made.ns("r")
        made.link(found, "v0", found, "v1")
        found.addr("v0", "2001:db8:b::1/64")
        found.ip("link set dev v1 up")
        os.chmod(made.tmp, 0o755)
        yield found


def read_output(put, namespace, *argv):
    """The prefixes of what a command says there, but for the router's own."""
    return set(files.read(put(namespace.run(*argv).stdout))) - {"2001:db8:b::/64", "2001:db8::2/128"}


def test_iproute2(put, namespace):
    namespace.batch(f"route add {route}" for route in (
        "2001:db8:1::/48 via fe80::1 dev v0", "blackhole 2001:db8:2::/48",
        "default nexthop via fe80::1 dev v0 nexthop via fe80::2 dev v1",
        "2001:db8:3::/48 encap ip6 dst 2001:db8::9 dev v0 table 100"))  # fmt: skip
    for words in ((), ("-j",), ("-d",), ("-o",), ("-d", "-j", "-p")):
        assert read_output(put, namespace, "ip", *words, "-6", "route", "show", "table", "all") == set(ROUTES)


@pytest.mark.skipif(not shutil.which("birdc", path="/usr/sbin:/usr/bin"), reason="no BIRD")
def test_bird(put, namespace):
    """Its tables as text, and in the kernel; and what it was told by BGP as MRT, with ADD-PATH, also by bgpdump."""
    path = namespace.lab.path
    with open(path("bird.conf"), "w", encoding="ascii") as file:
        file.write(BIRD.format(*ROUTES))
    namespace.ip("addr add 2001:db8::2/128 dev lo nodad")
    namespace.popen("/usr/sbin/bird", "-f", "-c", path("bird.conf"), "-s", path("ctl"), stderr=subprocess.DEVNULL)
    birdc = ("/usr/sbin/birdc", "-s", path("ctl"))

    def connect():
        with contextlib.suppress(OSError), namespace.entered():
            return socket.create_connection(("::1", 179), 1, ("2001:db8::2", 0))

    session = bgp.Session(lab.wait_until(connect, what="BIRD listens"), updates.PEER_AS, "192.0.2.2")
    told = ["::/0", "2001:db8:4::/48", "2001:db8:4:1::/64"]
    update = bgp.Update(0, 0, tuple(map(bgp.encode_prefix, told)), (), bgp.attributes_of([updates.PEER_AS]))
    session.send(update.messages(socket.inet_pton(socket.AF_INET6, "2001:db8:b::2")))
    lab.wait_until(session.flush)
    lab.wait_until(lambda: read_output(put, namespace, "ip", "-6", "route") == {*ROUTES, *told}, what="BIRD exports")
    for words in ((), ("all",), ("primary",), ("table", "master6", "all")):
        assert read_output(put, namespace, *birdc, "show", "route", *words) == {*ROUTES, *told}
    namespace.run(*birdc, "mrt", "dump", "table", '"master6"', "to", f'"{path("mrt")}"', "where", "source = RTS_BGP")
    need_mrtparse()

    def is_dumped():
        with contextlib.suppress(common.BenchError):
            return set(files.read(path("mrt"))) == set(told)

    lab.wait_until(is_dumped, what="BIRD dumps its table")
    if shutil.which("bgpdump"):
        assert read_output(put, namespace, "bgpdump", "-m", path("mrt")) == set(told)


@pytest.mark.skipif(not os.path.exists("/usr/lib/frr/staticd"), reason="no FRR")
def test_frr(put, namespace):
    folder = namespace.lab.path("frr")
    os.mkdir(folder)
    shutil.chown(folder, "frr", "frr")
    with open(folder + "/conf", "w", encoding="ascii") as file:
        file.write(ZEBRA.format(*ROUTES))
    for name in ("zebra", "staticd"):
        namespace.popen(f"/usr/lib/frr/{name}", "-u", "frr", "-g", "frr", "-f", folder + "/conf",
                        "-i", f"{folder}/{name}", "-z", folder + "/zserv", "--vty_socket", folder,
                        stderr=subprocess.DEVNULL)  # fmt: skip
        lab.wait_until(lambda: os.path.exists(folder + "/zserv"), what="zebra listens")
    for words in ("show ipv6 route", "show ipv6 route json", "show ipv6 route vrf all", "show ipv6 route vrf all json"):
        def is_all():
            with contextlib.suppress(common.BenchError, lab.CommandError):
                return read_output(put, namespace, "vtysh", "--vty_socket", folder, "-c", words) == set(ROUTES)

        lab.wait_until(is_all, 30, words)
