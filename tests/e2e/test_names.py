# SPDX-License-Identifier: GPL-2.0-only
"""Names of ports: alternative ones wherever a port is named, and those that no device has."""

import json

import frames as fr
import pytest
from lab import SIXLANE, wait_until
from topology import Net, host_addr

B = host_addr("b")
SHORT, LONG = "uplink", "l" + "o" * 98 + "ng"
NAMES = pytest.mark.parametrize("name", [SHORT, LONG])


def named(net, name, port="p0"):
    net.r.ip("link property add dev", port, "altname", name)
    return net


def frames():
    return fr.many(10, B)


def run(net, *argv):
    return net.r.run(SIXLANE, *argv, check=False)


def output(net, words):
    return run(net, "-j", *words).stdout


def start(net, settings, by_file, **kwargs):
    """With {setting: port}, by a configuration or on the command line."""
    if by_file:
        config = "".join('%s = [ "%s" ];\n' % item for item in settings.items())
        return net.start("--config", net.lab.write("sixlaned.conf", config), **kwargs)
    options = {"pass_ports": "--pass-port", "assume_ndo_xmit": "--assume-ndo-xmit"}
    words = ["%s=%s" % (options[key], name) for key, name in settings.items() if key in options]
    return net.start(*words, ports=[name for key, name in settings.items() if key == "ports"], **kwargs)


# --- alternative names ----------------------------------------------------------------------


@NAMES
def test_commands(net, name):
    """Each that takes a device takes any of its names."""
    named(net, name)
    for verb in ("detach", "attach"):
        assert run(net, verb, name).returncode == 0
        assert ("xdp" in net.r.link("p0")) == (verb == "attach")
    for own in (["lookup", B, "dev", "p0"], ["explain", host_addr("a"), B, "dev", "p0"], ["status", "p0"]):
        command = [name if word == "p0" else word for word in own]
        assert run(net, "-j", *command).returncode == 0
        # Both are read at different times, and may differ in counters.
        wait_until(lambda own=own, command=command: output(net, own) == output(net, command), 10, own)
    assert run(net, "exception", "add", B, "via", host_addr("a"), "dev", name).returncode == 0
    assert "dev p0" in net.router.sixlane("exception show").stdout
    done = run(net, "bench", "nic", "--check", name, "p0")
    assert done.returncode == 2 and "named twice" in done.stderr


@NAMES
def test_ports_of_the_daemon(make, name):
    net = named(make(Net), name)
    net.router.start(ports=[name, "p1"])
    net.assert_forwarded(frames(), to="b")


@NAMES
@pytest.mark.parametrize("by_file", [False, True])
def test_a_port_that_is_to_pass(make, name, by_file):
    net = named(make(Net), name)
    start(net, {"pass_ports": name}, by_file)
    net.assert_kernel_forwards(frames(), "pass_port")
    assert not net.router.status()["missing_ports"]


def test_a_name_that_comes_and_goes(make):
    """The setting stays with the device: else a port that is to pass would forward between two names."""
    net = make(Net).start("--pass-port", LONG)
    net.assert_forwarded(frames(), to="b")
    named(net, LONG)
    wait_until(lambda: "pass" in net.router.port_status("p0")["flags"], 5, net.router.log)
    net.assert_kernel_forwards(frames(), "pass_port")
    net.r.ip("link property del dev p0 altname", LONG)
    net.router.barrier()
    net.assert_kernel_forwards(frames(), "pass_port")


def test_a_port_that_gets_its_name_later(make):
    """The event of the name is enough."""
    net = make(Net)
    net.router.start(ports=["p1", SHORT])
    assert "xdp" not in net.r.link("p0")
    named(net, SHORT)
    net.router.wait_log("p0: the device appeared; attached")
    wait_until(lambda: (net.router.port_status("p0") or {}).get("program") == "sixlane", 5)
    net.assert_forwarded(frames(), to="b")


def test_a_port_that_was_detached_stays_so(make):
    """The daemon attaches a port once, whatever names it gets."""
    net = named(make(Net), SHORT)
    net.router.start(ports=[SHORT, LONG, "p1"])
    assert run(net, "detach", "p0").returncode == 0
    named(net, LONG)
    net.router.wait_log('"%s" exists now' % LONG)
    net.router.barrier()
    assert "xdp" not in net.r.link("p0")


# --- names that no device has ---------------------------------------------------------------

MISSING = {"ports": "nosuch0", "pass_ports": "nosuch1", "assume_ndo_xmit": LONG}


@pytest.mark.parametrize("by_file", [False, True])
def test_missing_names(make, by_file):
    """For each setting a warning is logged once, and stays in status as long as it is true."""
    net = start(make(Net), MISSING, by_file)
    net.assert_forwarded(frames(), to="b")
    net.router.barrier()
    for setting, name in MISSING.items():
        assert net.router.log().count('%s: no device is named "%s"' % (setting, name)) == 1
    done = run(net, "-j", "status")
    status = json.loads(done.stdout)
    assert done.returncode == 1
    assert {row["setting"]: row["name"] for row in status["missing_ports"]} == MISSING
    text = net.router.status_text()
    for setting, name in MISSING.items():
        warning = 'no device is named "%s" (%s, in sixlaned\'s settings or on its command line)' % (name, setting)
        assert warning in status["warnings"] and "warning: " + warning in text
    for name in MISSING.values():
        named(net, name)
        net.router.wait_log('"%s" exists now: p0' % name)
    assert not net.router.status()["missing_ports"]


def test_missing_names_are_of_the_daemon_that_runs(make):
    """Names of a daemon that was killed, or of one in another namespace, are not reported."""
    net = make(Net).start("--pass-port=nosuch1")
    assert net.router.status()["missing_ports"]
    done = net.lab.ns("elsewhere").run(SIXLANE, "-j", "status", check=False)
    assert not json.loads(done.stdout)["missing_ports"]
    net.router.restart(number=9)
    assert not net.router.status()["missing_ports"]


def test_a_device_that_goes_takes_its_names_along(make):
    net = named(make(Net), SHORT, "p2")
    net.start("--pass-port", SHORT)
    assert not net.router.status()["missing_ports"]
    net.r.ip("link delete dev p2")
    net.router.wait_log('pass_ports: no device is named "%s"' % SHORT)
    assert {"setting": "pass_ports", "name": SHORT} in net.router.status()["missing_ports"]


# --- the exit status of `status` ------------------------------------------------------------


def test_status_of_a_port_that_is_away(make):
    """Named on sixlaned's command line, and for `status` as well."""
    net = make(Net)
    net.start(ports=["away0"])
    done = run(net, "status")
    assert done.returncode == 1 and 'no device is named "away0"' in done.stdout and "command line" in done.stdout
    done = run(net, "status", "away0")
    assert done.returncode == 1
    assert 'cannot find device "away0": sixlaned waits for it to appear' in done.stderr


def test_status_of_ports(net):
    assert run(net, "status").returncode == 0
    done = run(net, "-j", "status", "p1", "p0")
    assert done.returncode == 0
    assert [port["name"] for port in json.loads(done.stdout)["ports"]] == ["p0", "p1"]
    done = run(net, "status", "nosuch0")
    assert "waits for it" not in done.stderr
    done = run(net, "status", "p0", "nosuch0")
    assert done.returncode == 1 and 'cannot find device "nosuch0"' in done.stderr
    assert "\np0 " in done.stdout and "\np1 " not in done.stdout
    done = run(net, "status", "lo")
    assert done.returncode == 1 and "warning: lo runs no XDP program" in done.stdout
    assert run(net, "status", "--nosuch").returncode == 2


def test_status_of_a_failure(net):
    net.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    wait_until(lambda: run(net, "status").returncode == 1, 5, net.router.status_text)
    assert "forwarding is off" in net.router.status_text()
    net.r.sysctl("net.ipv6.conf.all.forwarding", 1)
    wait_until(lambda: run(net, "status").returncode == 0, 5, net.router.status_text)
    net.router.stop()
    assert run(net, "status").returncode == 1 and "in sync     NO" in net.router.status_text()


def test_status_of_what_the_operator_wants(make):
    """A port that is to pass, and one in generic mode, are warned of and no failure."""
    net = make(Net).start("--pass-port", "p0")
    net.r.ip("link set dev p1 down")
    wait_until(lambda: "up" not in net.router.port_status("p1")["flags"], 5)
    done = run(net, "status")
    assert done.returncode == 0, done
    assert all("every packet that %s receives passes" % port in done.stdout for port in ("p0", "p1"))
