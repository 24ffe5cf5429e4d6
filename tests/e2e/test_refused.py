# SPDX-License-Identifier: GPL-2.0-only
"""A program that the kernel's verifier refuses: one line of the log has the whole reason, and so has status."""

import os
import re
import shutil

import pytest
from lab import OBJECT, RUN_DIR, SIXLANE, SIXLANED, wait_until
from bpf import compile_bpf
from test_bad_input import assert_words, attempt
from test_jumbo import forget_limit, grow
from topology import host_addr

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
    return build(idle, REFUSED_SOURCE)


def build(net, text):
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
    folder = build(idle, LONG_SOURCE)
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
