# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane doctor`: what it finds before and after attaching, what it advises, and its exit status."""

import json
import os
import pathlib
import re

import frames as fr
import pytest
import raw_netlink as raw
from guard_rules import nft
from lab import REPO, SIXLANE, kernel_version, wait_for, wait_until
from bpf import linked, load, other_object
from topology import FAR, PREFIX, Net, host_addr

KEYS = {"check", "severity", "port", "text", "advice"}
ORDER = ["error", "warning", "note"]
COUNT = 200  # packets, enough for a finding
FORWARDING = "net.ipv6.conf.all.forwarding"
RULES = """table inet fw {
    chain forward {
        type filter hook forward priority 0; policy accept
        iifname "p0" oifname "p1" drop
    }
}
"""


def run(net, *args, ns=None, under=()):
    """under: a command that runs the one that follows its own arguments."""
    return (ns or net.r).run(*under, SIXLANE, *args, check=False)


def examine(net, *ports, options=(), **kwargs):
    """The findings, which are sorted by severity and decide on the exit status."""
    done = run(net, "-j", *options, "doctor", *ports, **kwargs)
    assert done.returncode in (0, 1) and not done.stderr, done
    findings = json.loads(done.stdout)
    assert all(set(each) == KEYS for each in findings)
    places = [ORDER.index(each["severity"]) for each in findings]
    assert places == sorted(places)
    assert done.returncode == (1 if "error" in {each["severity"] for each in findings} else 0)
    return findings


def find(findings, check, port=None):
    """The one finding of a check, of a port if one is named."""
    found = [f for f in findings if f["check"] == check and port in (None, f["port"])]
    assert len(found) == 1, (check, port, findings)
    return found[0]


def expect(findings, check, severity, *words, port=None):
    """The one finding of a check has this severity, and these words in its text or advice."""
    finding = find(findings, check, port)
    assert finding["severity"] == severity, finding
    for word in words:
        assert word in finding["text"] + "\n" + (finding["advice"] or ""), (word, finding)
    return finding


def has(findings, check, port=None):
    return any(each["check"] == check and port in (None, each["port"]) for each in findings)


def checks(findings, severity):
    return {each["check"] for each in findings if each["severity"] == severity}


def wait_found(net, *where):
    """Until there is such a finding (see has()), which the daemon may have to poll for. Returns all findings."""
    return wait_for(lambda: examine(net), lambda findings: has(findings, *where), what=where)


# --- the command ----------------------------------------------------------------------------


def test_usage(bystander):
    assert run(bystander, "doctor", "--nosuch").returncode == 2
    assert "  doctor    [PORT...]" in run(bystander, "help").stdout
    assert "doctor [PORT...]" in run(bystander, "help", "doctor").stdout


def test_text(net):
    """A line a finding, its advice below, and a summary."""
    findings = examine(net)
    done = run(net, "doctor")
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    for finding in findings:
        at = lines.index("%-7s %s" % (finding["severity"], finding["text"]))
        if finding["advice"]:
            assert lines[at + 1] == "        -> " + finding["advice"]
    counts = [sum(each["severity"] == severity for each in findings) for severity in ORDER]
    assert lines[-1] == "%d errors, %d warnings, %d notes" % tuple(counts)


# --- the machine ----------------------------------------------------------------------------

MEMBARRIER = {"x86_64": 324, "aarch64": 283}
# struct sock_filter: the number of the system call, if it is this one ERRNO with EPERM, else ALLOW.
REFUSE = """import ctypes, os, struct, sys
filters = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, int(sys.argv[1]),
                      6, 0, 0, 0x50001, 6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(filters, len(filters))
program = ctypes.create_string_buffer(struct.pack("@HP", 4, ctypes.addressof(buffer)))
if ctypes.CDLL(None).prctl(22, 2, program, 0, 0):
    sys.exit("no seccomp")
os.execv(sys.argv[2], sys.argv[2:])
"""


def masked(place, *files):
    """Prefix of a command that sees only these files, {name: text}, in a directory of the kernel."""
    lines = ["mount -t tmpfs none " + place, *("echo %s >%s/%s" % (text, place, name) for name, text in files)]
    return ["unshare", "--mount", "sh", "-ec", "\n".join([*lines, 'exec "$@"']), "masked"]


OLD = ["setarch", "--uname-2.6"]
LITTLE_LOCKED = ["prlimit", "--memlock=65536"]
# A command, a check, and the severity and words of its only finding then; None: no finding.
MACHINES = {
    "no BTF": (masked("/sys/kernel/btf"), "btf", "warning", "this kernel has no BTF"),
    "no JIT": (masked("/proc/sys/net/core", ("bpf_jit_enable", "0")), "jit", "error", "interprets BPF programs"),
    "JIT": (masked("/proc/sys/net/core", ("bpf_jit_enable", "1")), "jit", None, ""),
    "no bpffs": (masked("/sys/fs/bpf"), "bpffs", "error", "mount -t bpf -o mode=700 bpf /sys/fs/bpf"),
    "little locked memory": (OLD + LITTLE_LOCKED, "memlock", "error", "locked memory is 65536 bytes"),
    "little locked memory since 5.11": (LITTLE_LOCKED, "memlock", None, ""),
    "old kernel": (OLD, "kernel", "error", "older than Linux 5.15"),
    "no membarrier()": (["/usr/bin/python3", "-c", REFUSE, MEMBARRIER.get(os.uname().machine, 0)],
                        "membarrier", "warning", "refuses membarrier()"),
    "other calls refused": (["/usr/bin/python3", "-c", REFUSE, 0x7FFF], "membarrier", None, ""),
    "no capabilities": (["setpriv", "--bounding-set", "-all"], "capabilities", "error",
                        "lacks CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON, CAP_SYS_ADMIN: it cannot read"),
    "no CAP_NET_ADMIN": (["setpriv", "--bounding-set", "-net_admin"], "capabilities", "error",
                         "lacks CAP_NET_ADMIN: it cannot read"),
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
def test_machine(bystander, name):
    """Each condition is made for real, for this one process."""
    words, check, severity, text = MACHINES[name]
    assert not has(examine(bystander, "p0"), check)
    findings = examine(bystander, "p0", under=words)
    if not severity:
        assert not has(findings, check)
        return
    finding = expect(findings, check, severity, text)
    assert finding["advice"] or check == "bpffs"


# --- before attaching -----------------------------------------------------------------------


def test_nothing_attached(idle):
    findings = examine(idle)
    assert checks(findings, "error") == {"maps", "ports", "daemon"}
    assert "sixlane attach" in find(findings, "ports")["advice"]


def test_ports_before_attaching(make):
    net = make(Net, mtu={"a": 9000})
    nft(net.r, RULES)
    findings = examine(net, "p0", "p1")
    assert checks(findings, "error") == {"maps", "daemon", "program"}
    for port in ("p0", "p1"):
        program = find(findings, "program", port)
        assert program["text"] == port + " runs no XDP program"
        assert program["advice"] == "run 'sixlane attach %s'" % port
        assert find(findings, "checksums", port)["severity"] == "note"
    assert "at MTU 9000" in find(findings, "mtu", "p0")["text"]
    expect(findings, "guard", "note", "packets from p0 to p1 pass", "table inet fw, chain forward, rule handle")


def test_before_attaching(idle):
    idle.r.sysctl(FORWARDING, 0)
    idle.r.ip("link add br0 type bridge")
    idle.r.ip("link set dev p0 master br0")
    findings = examine(idle, "nosuch0", "p0")
    assert {"arguments", "forwarding", "upper_device"} <= checks(findings, "error")
    assert find(findings, "arguments")["port"] == "nosuch0"
    assert find(findings, "forwarding")["advice"] == "sysctl -w %s=1" % FORWARDING
    assert "the upper device br0 (bridge) takes its frames" in find(findings, "upper_device")["text"]


def test_gateways_before_attaching(idle):
    idle.r.route("add", PREFIX, "via 2001:db8:b::99 dev p1")
    idle.r.route("add 2001:db8:f01::/48 via", host_addr("b"), "dev p1")
    expect(examine(idle), "neighbours", "note", "gateway 2001:db8:b::99 on p1", port="p1")


def test_other_program(idle):
    """An error at a port that is named; elsewhere it may be intended."""
    other = load(idle, other_object())
    with linked(idle, "p0", other):
        expect(examine(idle, "p0"), "other_program", "error", "(id %s)" % other)
        expect(examine(idle), "other_program", "note")


# --- a router that is served ----------------------------------------------------------------


def test_as_it_should_be(net):
    net.assert_forwarded(fr.many(COUNT, host_addr("b")), to="b")
    assert checks(examine(net), "error") == set()
    assert "traffic" not in checks(examine(net), "warning")
    assert {f["port"] for f in examine(net, "p1")} <= {"p1", None}


def test_alternative_name(net):
    net.r.ip("link property add dev p0 altname uplink")
    # Both are read at different times.
    wait_until(lambda: examine(net, "uplink") == examine(net, "p0"), 10, "the same of both names")


def test_forwarding_off(net):
    """One finding, not one for each port."""
    net.r.sysctl(FORWARDING, 0)
    findings = wait_found(net, "forwarding")
    net.sync()
    assert checks(findings, "error") == checks(examine(net), "error") == {"forwarding"}


# How the router is started, what is done to it, a check, its severity, and words of its finding.
FINDINGS = {
    "no daemon": ({}, lambda net: net.router.stop(), "daemon", "error", "sixlaned does not run"),
    "unresolved gateway": ({}, lambda net: net.route("add", PREFIX, "via 2001:db8:b::99 dev p1"),
                           "neighbours", "warning", "2001:db8:b::99"),
    "port that passes": ({"pass_port": "p0"}, None, "port_passes", "note", "p0"),
    "missing port": ({"pass_port": "nosuch0"}, None, "port_names", "error", "nosuch0"),
    "generic mode": ({"attach": "sixlane-generic"}, None, "mode", "warning", "GENERIC"),
}  # fmt: skip


@pytest.mark.parametrize("name", FINDINGS)
def test_findings(make, name):
    settings, change, check, *wanted = FINDINGS[name]
    options = ["--pass-port", settings["pass_port"]] if "pass_port" in settings else []
    net = make(Net).start(*options, attach=settings.get("attach", "one"))
    assert change is None or not has(examine(net), check)
    if change:
        change(net)
    expect(examine(net, *(["p0"] if check == "mode" else [])), check, *wanted)


def test_guard(net):
    """The finding names the rule. A cause that is bypassed has no effect, which is a finding, too."""
    nft(net.r, RULES)
    expect(wait_found(net, "guard"), "guard", "note", "table inet fw, chain forward, rule handle")
    net.router.restart("--bypass", "netfilter")
    findings = examine(net)
    assert not has(findings, "guard")
    assert "netfilter is bypassed" in find(findings, "bypass")["text"]


def test_punted_routes_and_their_traffic(net):
    raw.add_seg6_route(net.r, PREFIX, "p2", "2001:db8:c::9")
    net.sync()
    expect(examine(net), "routes", "warning", "1 route is ", "punt_encap", PREFIX)
    assert not has(examine(net), "traffic")
    net.assert_passed(fr.many(COUNT, FAR), "punt_encap")
    net.assert_forwarded(fr.many(COUNT, host_addr("b")), to="b")
    findings = examine(net)
    (finding,) = (f for f in findings if f["check"] == "traffic" and "(punt_encap)" in f["text"])
    share = float(finding["text"].split()[0])
    assert finding["severity"] == "warning" and 45 < share <= 50, finding
    assert "receive %.1f %%" % share in find(findings, "routes")["text"]
    assert not any("(punt_encap)" in f["text"] for f in examine(net, "p1") if f["check"] == "traffic")


def test_few_packets_are_no_share(net):
    """With -s there is a finding for every verdict that is counted."""
    net.assert_passed(fr.many(2, "2001:db8:dead::1"), "pass_no_route")
    assert not has(examine(net), "traffic")
    findings = examine(net, options=["-s"])
    assert any("(pass_no_route)" in f["text"] and f["severity"] == "note" for f in findings)


def test_egress_that_takes_no_frames(make):
    """A port that is served, and one that packets only leave by."""
    if kernel_version() < (6, 3):
        pytest.skip("this kernel does not show which devices accept redirected frames (Linux 6.3)")
    net = make(Net, gro="ac").start(ports=["p0", "p1"], attach=None)
    expect(examine(net), "egress", "warning", port="p1")
    far = net.lab.ns("far")
    net.lab.link(net.r, "x0", far, "y0")
    far.run("ethtool", "-K", "y0", "gro", "off")
    far.ip("link set dev y0 up")
    net.r.ip("link set dev x0 up")
    wait_until(lambda: net.r.is_running("x0"), 10)
    net.route("add", PREFIX, "via fe80::1 dev x0")
    expect(wait_found(net, "egress", "x0"), "egress", "warning", "GRO", port="x0")


def test_queues(make):
    """Unused queues would help where there are more CPUs."""
    if os.cpu_count() < 2:
        pytest.skip("one CPU")
    net = make(Net, queues=2)
    net.r.run("ethtool", "-L", "p0", "rx", "1")
    expect(examine(net, "p0"), "queues", "warning", "ethtool -L p0 rx 2")
    net.r.run("ethtool", "-L", "p0", "rx", "2")
    assert not any(f["severity"] == "warning" for f in examine(net, "p0") if f["check"] == "queues")


def test_another_network_namespace(net):
    """Two share a bpffs: the daemon's ports are not those of the other."""
    findings = examine(net, ns=net.lab.ns("elsewhere"))
    expect(findings, "namespace", "error", "(process %d)" % net.router.daemon.pid)
    assert not has(examine(net), "namespace")


def test_a_port_of_another_network_namespace(net):
    """Its program reads the same maps, where its ifindex may be another port's."""
    elsewhere = net.lab.ns("elsewhere")
    net.lab.link(elsewhere, "e0", elsewhere, "e1")
    elsewhere.run(SIXLANE, "attach", "e0")
    program = elsewhere.link("e0")["xdp"]["prog"]["id"]
    expect(examine(net), "namespace", "error", "(id %d)" % program)
    elsewhere.run(SIXLANE, "detach", "e0")
    wait_until(lambda: not has(examine(net), "namespace"), 5)


def test_manual_names_all_checks():
    """And no others."""
    sources = [p for p in pathlib.Path(REPO, "user", "cli").glob("*.c") if "check" in p.name or "doctor" in p.name]
    names = {name for p in sources for name in re.findall(r'^\t{ "(\w+)", (?:\.run_port|check_)', p.read_text(), re.M)}
    manual = pathlib.Path(REPO, "user", "cli", "sixlane.8").read_text()
    listed = manual.partition(".Sh JSON OUTPUT\n")[2].partition(".It Cm status")[0].partition("is one of\n")[2]
    names -= {"attach_device"}  # only skips the others
    names -= {"default_route"}  # of status; doctor looks at all routes that expire
    assert names and set(re.findall(r"\w+", " ".join(re.findall(r"^\.Cm (.*)", listed, re.M)))) == names
