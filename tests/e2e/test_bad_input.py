# SPDX-License-Identifier: GPL-2.0-only
"""Wrong input, and programs that cannot be attached: a clear message, a failure status, and nothing changed."""

import os
import re
import shutil
import struct
import subprocess

import frames as fr
import pytest
from lab import BPFFS, OBJECT, PINS, REPO, RUN_DIR, SIXLANE, SIXLANED, wait_until
from netns import PATIENCE, CommandError
from bpf import (
    XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, bpftool, compile_bpf, element, entry, linked, load, other_object, route_key,
)  # fmt: skip
from test_jumbo import forget_limit, grow
from topology import Net, host_addr

OTHER_SOURCE = """
#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
SEC("xdp") int other(struct xdp_md *ctx) { return XDP_PASS; }
char other_license[] SEC("license") = "GPL";
"""


def snapshot(net):
    """All that a failed command must not change."""
    return {
        "pins": sorted(os.path.join(root, name) for root, _, files in os.walk(BPFFS) for name in files),
        "routes": [
            # without what a carrier that comes up late changes by itself
            {key: value for key, value in route.items() if key != "flags"}
            for route in net.r.ipj("route show table all")
        ],
        "links": net.r.ipj("link show"),  # their programs as well
    }


def attempt(net, *argv, code=1):
    """Run a command that must fail and change nothing. Returns its standard error."""
    before = snapshot(net)
    done = net.r.run("timeout", 20 * PATIENCE, *argv, check=False)
    assert done.returncode == code, (argv, done)
    assert done.stderr.strip() or done.stdout.startswith("Usage"), "failed without a message"
    assert "Segmentation" not in done.stderr and done.returncode < 124
    assert snapshot(net) == before
    return done.stderr


def assert_words(text, *words):
    for word in words:
        assert word.lower() in text.lower(), (word, text)


# --- interfaces -----------------------------------------------------------------------------


@pytest.mark.parametrize("argv, name", [
    (["attach", "nosuch0"], "nosuch0"),
    (["detach", "nosuch0"], "nosuch0"),
    (["attach", "nosuch0", "p0"], "nosuch0"),  # p0 is not attached either
    (["detach", "p0"], "p0"),  # which has no program
    (["status"], "attach"),  # there are no maps
    (["stats"], "attach"),
    (["routes"], "attach"),
    (["lookup", "::1"], "attach"),
])  # fmt: skip
def test_nothing_there(bystander, argv, name):
    assert_words(attempt(bystander, SIXLANE, *argv), name)


@pytest.mark.parametrize("device", ["lo", "br0"])
def test_no_native_xdp(idle, device):
    """Generic mode is never a silent fallback: the message names the option for it."""
    if device != "lo":
        idle.r.ip("link add", device, "type bridge")
    assert_words(attempt(idle, SIXLANE, "attach", device), device, "native", "generic")
    assert_words(attempt(idle, SIXLANED, device), device, "native", "generic")


def test_mtu_too_large_for_the_plain_flavour(make):
    """`ip link` refuses it; sixlane itself takes the other flavour (test_jumbo)."""
    net = make(Net, mtu={"a": 9000})
    done = net.router.attach("ip-native", ["p0"], check=False)
    assert done.returncode != 0 and net.r.ipj("link show dev p0")[0].get("xdp") is None


def test_other_program(idle):
    idle.r.ip("link set dev p0 xdp obj", compile_bpf(idle.lab.path("other.o"), OTHER_SOURCE), "sec xdp")
    for argv in ([SIXLANE, "attach", "p0"], [SIXLANE, "detach", "p0"], [SIXLANED, "p0"]):
        assert_words(attempt(idle, *argv), "p0", "other")


def test_other_program_on_another_port(idle):
    done = idle.r.run("xdp-loader", "load", "-m", "native", "p2", other_object(), check=False)
    if done.returncode != 0:
        pytest.skip("xdp-loader cannot load its own program here: " + done.stderr.strip())
    other = idle.r.link("p2")["xdp"]["prog"]["id"]
    idle.router.attach("ip", ["p0", "p1"])
    idle.router.start("--teardown")
    idle.assert_forwarded(fr.many(10, host_addr("b")), to="b")
    assert idle.router.stop() == 0
    assert idle.r.link("p2")["xdp"]["prog"]["id"] == other


def test_other_mode_is_there_already(idle):
    idle.router.attach("ip-generic", ["p0"])
    assert_words(attempt(idle, SIXLANE, "attach", "p0"), "p0", "generic")


# --- a program that a BPF link holds: messages name the link, as `ip link` cannot detach it ------


def refused_by_link(net, verb, *words):
    done = net.r.run(SIXLANE, verb, "p0", check=False)
    assert done.returncode == 1
    assert_words(done.stderr, *words)
    return done.stderr


@pytest.mark.parametrize("flags", [XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE])
def test_other_program_of_a_link(idle, flags):
    """A program with other maps than sixlane's is another program."""
    with linked(idle, "p0", load(idle, other_object()), flags) as link:
        message = refused_by_link(idle, "attach", "another XDP program", "bpftool link detach id %s'" % link)
        assert "xdp off" not in message and "xdpgeneric off" not in message
        idle.r.run("bpftool", "link", "detach", "id", link)
        idle.router.sixlane("attach p0")
        assert idle.router.port_status("p0")["link_id"] is None


def test_sixlane_of_a_link_with_other_maps(idle):
    """sixlane does not offer to replace it before the link is gone."""
    with linked(idle, "p0", load(idle, OBJECT)) as link:
        idle.router.attach("ip", ["p1"])
        idle.router.start()
        detach = "bpftool link detach id %s'" % link
        for verb in ("attach", "detach"):
            refused_by_link(idle, verb, "p0", detach)
        port = idle.router.port_status("p0")
        assert (port["program"], port["link_id"]) == ("other maps", int(link))
        (warning,) = [warning for warning in idle.router.status()["warnings"] if "p0" in warning]
        assert_words(warning, "maps of its own", detach)
        assert "to replace it" not in warning
        assert_words(idle.router.log(), detach)
        idle.r.run("bpftool", "link", "detach", "id", link)
        idle.router.sixlane("attach p0")
        wait_until(lambda: "ingress" in idle.router.port_status("p0")["flags"], 10, idle.router.log)
        idle.assert_forwarded(fr.many(5, host_addr("b")), to="b")


def test_sixlane_of_a_link_with_these_maps(idle):
    """It is served as any other, but not detached."""
    idle.router.attach("ip", ["p1"])
    with linked(idle, "p0", idle.r.link("p1")["xdp"]["prog"]["id"]) as link:
        idle.router.start()
        idle.assert_forwarded(fr.many(5, host_addr("b")), to="b")
        assert idle.router.port_status("p0")["link_id"] == int(link)
        refused_by_link(idle, "detach", "bpftool link detach id %s'" % link)


# --- pinned maps ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [True, False])
def test_pinned_map_of_another_size(idle, missing):
    os.makedirs(PINS)
    maps = [("sl_routes", "lpm_trie key 20 value 8 entries 16 flags 1"), ("sl_meta", "array key 4 value 8 entries 1")]
    for name, words in maps[: 1 if missing else 2]:
        bpftool(idle, "map create %s/%s type %s name %s" % (PINS, name, words, name))
    for argv in ([SIXLANED, "p0"], [SIXLANED], [SIXLANE, "attach", "p0"]):
        assert_words(attempt(idle, *argv), "sl_", "version")
    if not missing:
        assert_words(attempt(idle, SIXLANE, "status"), "sl_")


def abi():
    with open(os.path.join(REPO, "bpf", "abi", "meta.h"), encoding="utf-8") as header:
        return int(re.search(r"define SIXLANE_ABI (\d+)u", header.read())[1])


def test_pinned_maps_of_another_abi(idle):
    idle.router.attach("ip", ["p0"])
    idle.router.start()
    idle.router.stop()
    entry(idle, "update", "sl_meta", 0, struct.pack("<I", 99) + element(idle, "sl_meta", 0)[4:])
    for argv in ([SIXLANED], [SIXLANED, "p1"], [SIXLANE, "attach", "p1"], [SIXLANE, "status"],
                 [SIXLANE, "lookup", "::1"]):  # fmt: skip
        assert_words(attempt(idle, *argv), "99", "ABI %d" % abi())


def test_pinned_maps_with_garbage_inside(idle):
    """A daemon that adopts maps with wrong entries repairs them."""
    idle.router.attach("ip")
    idle.router.start()
    idle.sync()
    idle.router.stop()
    # the last one is shorter than a table's number, and matches what nothing else does
    wrong = {route_key("2001:db8:f::1/128"): b"\xff\xff\x0f\x80", route_key("2001:db8::/32"): bytes(4),
             struct.pack("<I", 8) + bytes(20): struct.pack("<I", 1)}  # fmt: skip
    for key, value in wrong.items():
        entry(idle, "update", "sl_routes", key, value)
    idle.router.start()
    for key in wrong:
        with pytest.raises(CommandError):
            entry(idle, "lookup", "sl_routes", key)
    idle.assert_forwarded(fr.many(20, host_addr("b")), to="b")


def test_no_bpffs(bystander):
    """Unmounted below: what is seen then is an empty directory of sysfs."""
    script = 'mount -t tmpfs none %s; "$@"' % BPFFS
    for argv in ([SIXLANED, "p0"], [SIXLANE, "attach", "p0"], [SIXLANE, "status"]):
        message = attempt(bystander, "unshare", "-m", "sh", "-c", script, "sh", *argv)
        assert_words(message, BPFFS, "mount -t bpf")


# --- rights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["net_admin", "bpf", "all"])
def test_missing_capability(bystander, missing):
    """CAP_SYS_ADMIN includes CAP_BPF, so it is dropped as well."""
    gone = {"net_admin": "-net_admin", "bpf": "-bpf,-sys_admin", "all": "-all"}[missing]
    drop = ["setpriv", "--bounding-set", gone, "--inh-caps", gone, "--"]
    for argv in ([SIXLANED, "p0"], [SIXLANE, "attach", "p0"]):
        assert_words(attempt(bystander, *drop, *argv), "cap_", "" if missing == "all" else missing)


# --- options, config, object ----------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        [SIXLANE], [SIXLANE, "nonsense"], [SIXLANE, "attach"], [SIXLANE, "lookup"],
        [SIXLANE, "lookup", "10.0.0.1"], [SIXLANE, "lookup", "2001:db8::g"], [SIXLANE, "--bogus"],
        [SIXLANE, "routes", "2001:db8::/129"], [SIXLANE, "attach", "p0", "sideways"],
        [SIXLANE, "stats", "-w", "soon"], *([SIXLANE, "fib", *words.split()] for words in (
            "fast", "trie now", "verify random", "verify random x", "verify 7 8")),
        [SIXLANED, "--bogus"], [SIXLANED, "--max-routes", "0"], [SIXLANED, "--max-routes", "many"],
        [SIXLANED, "--max-routes", "99999999999"], [SIXLANED, "--log-level", "loud"],
        [SIXLANED, "--mode", "fast"], [SIXLANED, "--poll-ms", "-5"], [SIXLANED, "--rcvbuf", ""],
        [SIXLANED, "--audit", "600"], [SIXLANED, "l" * 128],
    ],
    ids=lambda argv: " ".join([os.path.basename(argv[0])] + argv[1:]),
)  # fmt: skip
def test_usage(bystander, argv):
    attempt(bystander, *argv, code=2)


@pytest.mark.parametrize("program", [SIXLANE, SIXLANED])
def test_help_and_version(bystander, program):
    done = bystander.r.run(program, "-h")
    assert "sixlane" in done.stdout and not done.stderr
    version = bystander.r.run(program, "-V").stdout
    assert re.search(r"ABI %d, %s built by .*Clang \d+" % (abi(), re.escape(OBJECT)), version), version


def test_version_without_an_object(bystander):
    done = bystander.r.run(SIXLANED, "-o", "/nonexistent.o", "-V")
    assert_words(done.stdout, "no XDP object at /nonexistent.o")


@pytest.mark.parametrize("text, line, words", [
    ("poll_ms = 100;\n\nnonsense = 1;\n", 3, ["nonsense", "poll_ms"]),
    ("\npoll_ms = 0;\n", 2, ["poll_ms", "10"]),
    ('ports = [ "%s" ];\n' % ("l" * 128), 1, ["ports", "127"]),
    ("\0\1\2", 1, []),
])  # fmt: skip
def test_malformed_config(bystander, text, line, words):
    """The message names file, line, what is wrong and what would be right; all errors: unit test test_config."""
    path = bystander.lab.write("broken.conf", text)
    for argv, stdin, where in ((path, None, path), ("-", text, "standard input")):
        done = bystander.r.run("timeout", 10 * PATIENCE, SIXLANED, "-c", argv, stdin=stdin, check=False)
        assert done.returncode in (1, 2), done
        assert_words(done.stderr, "%s:%d" % (where, line), *words)


@pytest.mark.parametrize("option, path, words", [
    ("-c", "/nonexistent/sixlaned.conf", ["No such file"]), ("--object", "/nonexistent/object.o", []),
])  # fmt: skip
def test_file_that_is_not_there(bystander, option, path, words):
    assert_words(attempt(bystander, SIXLANED, option, path, "p0"), path, *words)


@pytest.mark.parametrize("content", [b"", b"not an ELF", "cut short", "of something else"])
def test_object_that_is_none(bystander, content):
    if content == "of something else":
        path = other_object("xdp-dispatcher.o")
    else:
        with open(OBJECT, "rb") as whole:
            path = bystander.lab.write("object.o", whole.read()[:2000] if content == "cut short" else content)
    assert_words(attempt(bystander, SIXLANED, "--object", path, "p0"), path)


def test_output_that_cannot_be_written(net):
    """A full disk under a redirected JSON is a failure, not a short success."""
    with open("/dev/full", "wb") as full, net.r.entered():
        done = subprocess.run([SIXLANE, "-j", "routes"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"write" in done.stderr, done


# --- a program that the verifier refuses: one line of the log has the whole reason, and so has status -----------

REFUSED_SOURCE = """
#include "maps.h"
SEC("xdp") int sixlane(struct xdp_md *ctx) { return *(volatile int *)(long)ctx->data_end; }
char LICENSE[] SEC("license") = "GPL";
"""
# The verifier logs every turn of the loop: some megabytes.
LONG_SOURCE = """
#include "maps.h"
SEC("xdp") int sixlane(struct xdp_md *ctx)
{
	volatile int sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += i;
	return *(volatile int *)(long)ctx->data_end;
}
char LICENSE[] SEC("license") = "GPL";
"""
REASON = "R1 invalid mem access 'pkt_end'"


@pytest.fixture
def refused(idle):
    """A folder of sixlane whose object reads behind the packet, and names no compiler."""
    return build_refused(idle, REFUSED_SOURCE)


def build_refused(net, text):
    folder = net.lab.path("refused")
    os.mkdir(folder)
    for program in (SIXLANE, SIXLANED):
        shutil.copy(program, folder)
    compile_bpf(folder + "/sixlane.bpf.o", text)
    return folder


def says_refusal(output, folder):
    """All of it in one line; the file has the whole log, and nobody else may read it."""
    lines = [line for line in output.splitlines() if "refused" in line]
    assert len(lines) == 1, output
    assert_words(lines[0], "p0", folder + "/sixlane.bpf.o", os.uname().release, "unknown compiler", REASON, "CLANG=")
    assert "denied" not in output, output
    log = re.search(r"its log is in (%s/\S+);" % RUN_DIR, lines[0])[1]
    assert os.stat(log).st_mode & 0o777 == 0o600
    with open(log, encoding="utf-8") as file:
        text = file.read()
    assert_words(text, "port: p0", "r1 +0", REASON, "processed 2 insns")
    return log


def test_refused_program(idle, refused):
    """Each command reports it and leaves nothing behind; status reports it though there are no maps."""
    says_refusal(attempt(idle, refused + "/sixlane", "attach", "p0"), refused)
    says_refusal(attempt(idle, refused + "/sixlane", "attach", "p0", "dispatcher"), refused)
    says_refusal(attempt(idle, SIXLANE, "status"), refused)
    says_refusal(attempt(idle, refused + "/sixlaned", "p0"), refused)


def test_refused_program_under_the_daemon(idle, refused):
    """status reports it until the port is served, in whatever way."""
    idle.router.start()
    assert idle.router.status()["refused"] == []
    for method in ("sixlane", "ip"):
        log = says_refusal(attach_refused(idle, refused, "p0")[0], refused)
        says_refusal(idle.router.status_text(), refused)
        status = idle.router.status()
        assert status["in_sync"] and status["ports"] == []
        (row,) = status["refused"]
        assert (row["port"], row["reason"], row["log"]) == ("p0", REASON, log)
        assert row["kernel"] in os.uname().release
        idle.router.attach(method, ["p0"])
        wait_until(lambda log=log: not os.path.exists(log), 10, "the log is gone")
        status = idle.router.status()
        assert status["refused"] == [] and not any("refused" in w for w in status["warnings"])
        idle.router.detach(["p0"])


def refused_ports(net):
    return sorted(row["port"] for row in net.router.status()["refused"])


def attach_refused(net, refused, port):
    """What the command reports, and the file that it names."""
    done = net.r.run(refused + "/sixlane", "attach", port, check=False)
    assert done.returncode == 1
    return done.stderr, re.search(r"its log is in (\S+);", done.stderr)[1]


def test_which_ports_status_reports(idle, refused):
    """Each until it is served, detached or gone, by its own name; a new device of that name has no refused program."""
    idle.router.start()
    idle.r.ip("link property add dev p0 altname west")
    idle.r.ip("link add q0 type veth peer name q1")
    assert "error: p0: " in attach_refused(idle, refused, "west")[0]
    for port in ("p1", "p2", "q0"):
        _, log = attach_refused(idle, refused, port)
    assert refused_ports(idle) == ["p0", "p1", "p2", "q0"]
    idle.router.sixlane("attach west")
    assert refused_ports(idle) == ["p1", "p2", "q0"]
    assert idle.r.run(SIXLANE, "detach", "p2", check=False).returncode == 1
    assert refused_ports(idle) == ["p1", "q0"]
    idle.r.ip("link del q0")
    wait_until(lambda: not os.path.exists(log), 10, "the log is gone")
    idle.r.ip("link add q0 type veth peer name q1")
    assert refused_ports(idle) == ["p1"]


def test_refused_program_of_a_port_that_is_detached(idle, refused):
    """Another tool attached a program, and no daemon saw it: the log is still there."""
    idle.router.attach_one(["p1"])
    log = says_refusal(attempt(idle, refused + "/sixlane", "attach", "p0"), refused)
    program = idle.r.link("p1")["xdp"]["prog"]["id"]
    idle.r.run("bpftool", "net", "attach", "xdp", "id", program, "dev", "p0")
    assert refused_ports(idle) == [] and os.path.exists(log)
    idle.router.sixlane("detach p0")
    assert refused_ports(idle) == [] and not os.path.exists(log)


def test_refused_program_of_explain(idle, refused):
    """It belongs to no port, and status does not report it."""
    idle.start()
    done = idle.r.run(refused + "/sixlane", "explain", host_addr("a"), host_addr("b"), check=False)
    assert done.returncode == 1
    assert_words(done.stderr, REASON, os.uname().release, "its log is in " + RUN_DIR + "/explain.")
    assert idle.router.status()["refused"] == []


def test_refused_log_where_nobody_else_may_write(idle, refused):
    """A directory that others may write to is not used."""
    logs = os.listdir(RUN_DIR)
    idle.r.run("chmod", "777", RUN_DIR)
    try:
        message = attempt(idle, refused + "/sixlane", "attach", "p0")
        assert os.listdir(RUN_DIR) == logs
    finally:
        idle.r.run("chmod", "700", RUN_DIR)
    assert_words(message, REASON, "could not be saved in " + RUN_DIR)


def test_refused_log_is_bounded(idle):
    """Its end, which has the reason, is kept."""
    folder = build_refused(idle, LONG_SOURCE)
    message = attempt(idle, folder + "/sixlane", "attach", "p0")
    log = re.search(r"its log is in (\S+);", message)[1]
    assert (1 << 20) - 4096 < os.path.getsize(log) < (1 << 20) + 4096
    with open(log, encoding="utf-8") as file:
        text = file.read()
    assert_words(text, "port: p0", "bytes are left out", "processed ")
    assert_words(message, text.split("reason: ", 1)[1].splitlines()[0])
    assert text.splitlines()[-1].startswith("processed "), text[-200:]


def test_refused_program_at_a_large_mtu(idle, refused):
    """A smaller one would not help, so the daemon does not wait for it."""
    idle.r.ip("link set dev p0 mtu 9000")
    says_refusal(attempt(idle, refused + "/sixlaned", "p0"), refused)


def test_refused_program_for_large_frames(idle, refused):
    """The log that the daemon names stays when it detaches the other program."""
    os.rename(refused + "/sixlane.bpf.o", refused + "/sixlane.frags.bpf.o")
    shutil.copy(OBJECT, refused)
    forget_limit(idle, ["p0"])
    idle.router.start("--object", refused + "/sixlane.bpf.o")
    grow(idle, hosts="a")
    idle.router.wait_log("detached until the MTU is lowered", 20)
    (row,) = idle.router.status()["refused"]
    assert row["log"] in idle.router.log() and os.path.exists(row["log"])
    idle.router.stop()
    assert "p0 runs no XDP program: run 'sixlane attach p0'" in idle.router.status()["warnings"]
