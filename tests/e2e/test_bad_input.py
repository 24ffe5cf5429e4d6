# SPDX-License-Identifier: GPL-2.0-only
"""What a person or a machine can get wrong: a clear word, a failure, and nothing changed."""

import json
import os
import re
import subprocess

import frames as fr
import pytest
from lab import BPFFS, BUILD, OBJECT, PINS, REPO, SIXLANE, SIXLANED, command
from netns import PATIENCE
from topology import Net, host_addr

FOREIGN_SOURCE = """
#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
SEC("xdp") int stranger(struct xdp_md *ctx) { return XDP_PASS; }
char stranger_license[] SEC("license") = "GPL";
"""


def snapshot(net):
    """All that a failed command must leave alone."""
    return {
        "pins": sorted(
            os.path.join(root, name) for root, _, files in os.walk(BPFFS) for name in files
        ),
        "routes": [
            # without what a carrier that comes up late changes by itself
            {key: value for key, value in route.items() if key != "flags"}
            for route in net.r.ipj("route show table all")
        ],
        "links": net.r.ipj("link show"),  # their programs as well
    }


def attempt(net, *argv, code=1):
    """Run a command that must fail and change nothing. Returns what it said."""
    before = snapshot(net)
    done = net.r.run("timeout", 20 * PATIENCE, *argv, check=False)
    assert done.returncode == code, (argv, done)
    assert done.stderr.strip() or done.stdout.startswith("Usage"), "failed without a word"
    assert "Segmentation" not in done.stderr and done.returncode < 124
    assert snapshot(net) == before
    return done.stderr


def says(text, *words):
    for word in words:
        assert word.lower() in text.lower(), (word, text)


# --- interfaces -----------------------------------------------------------------------------


def test_unknown_interface(bystander):
    says(attempt(bystander, SIXLANE, "attach", "nosuch0"), "nosuch0")
    says(attempt(bystander, SIXLANE, "detach", "nosuch0"), "nosuch0")


def test_unknown_interface_beside_a_good_one(bystander):
    """Nothing is half done: the good port is not attached either."""
    says(attempt(bystander, SIXLANE, "attach", "nosuch0", "p0"), "nosuch0")


def test_detach_where_nothing_is(bystander):
    says(attempt(bystander, SIXLANE, "detach", "p0"), "p0")


@pytest.mark.parametrize("device", ["lo", "br0"])
def test_no_native_xdp(idle, device):
    """Never silently generic: the message says how to ask for it."""
    if device != "lo":
        idle.r.ip("link add", device, "type bridge")
    says(attempt(idle, SIXLANE, "attach", device), device, "native", "generic")
    says(attempt(idle, SIXLANED, device), device, "native", "generic")


def test_mtu_too_large_for_the_plain_flavour(make):
    """Said by whoever asks for that one; sixlane itself takes the other (test_jumbo)."""
    net = make(Net, mtu={"a": 9000})
    done = net.router.attach("ip-native", ["p0"], check=False)
    assert done.returncode != 0 and net.r.ipj("link show dev p0")[0].get("xdp") is None


def test_foreign_program(idle):
    source, program = idle.lab.path("stranger.c"), idle.lab.path("stranger.o")
    with open(source, "w", encoding="ascii") as file:
        file.write(FOREIGN_SOURCE)
    arch = command(["gcc", "-print-multiarch"]).stdout.strip()
    command(["clang", "-O2", "-g", "-target", "bpf", "-I/usr/include/" + arch,
             "-c", source, "-o", program])  # fmt: skip
    idle.r.ip("link set dev p0 xdp obj", program, "sec xdp")
    says(attempt(idle, SIXLANE, "attach", "p0"), "p0", "stranger")
    says(attempt(idle, SIXLANE, "detach", "p0"), "p0", "stranger")
    says(attempt(idle, SIXLANED, "p0"), "p0", "stranger")


def test_foreign_program_on_another_port_is_no_hindrance(idle):
    done = idle.r.run(
        "xdp-loader", "load", "-m", "native", "p2",
        "/usr/lib/%s/bpf/xdpfilt_alw_all.o" % command(["gcc", "-print-multiarch"]).stdout.strip(),
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip("xdp-loader cannot load its own program here: " + done.stderr.strip())
    foreign = idle.r.link("p2")["xdp"]["prog"]["id"]
    idle.router.attach("ip", ["p0", "p1"])
    idle.router.start("--teardown")
    idle.assert_forwarded(fr.many(10, host_addr("b")), to="b")
    assert idle.router.stop() == 0
    assert idle.r.link("p2")["xdp"]["prog"]["id"] == foreign


def test_other_mode_is_there_already(idle):
    idle.router.attach("ip-generic", ["p0"])
    says(attempt(idle, SIXLANE, "attach", "p0"), "p0", "generic")


# --- pinned maps ----------------------------------------------------------------------------


def test_no_maps_at_all(bystander):
    for verb in (["status"], ["stats"], ["routes"], ["lookup", "::1"]):
        says(attempt(bystander, SIXLANE, *verb), "attach")


@pytest.mark.parametrize("missing", [True, False])
def test_pinned_map_of_another_size(idle, missing):
    os.makedirs(PINS)
    pin = PINS + "/sl_routes"
    idle.r.run(
        "bpftool", "map", "create", pin, "type", "lpm_trie", "key", "20", "value", "8",
        "entries", "16", "name", "sl_routes", "flags", "1",
    )  # fmt: skip
    if not missing:
        idle.r.run(
            "bpftool", "map", "create", PINS + "/sl_meta", "type", "array", "key", "4",
            "value", "8", "entries", "1", "name", "sl_meta",
        )  # fmt: skip
    for argv in ([SIXLANED, "p0"], [SIXLANED], [SIXLANE, "attach", "p0"]):
        says(attempt(idle, *argv), "sl_", "version")
    if not missing:
        says(attempt(idle, SIXLANE, "status"), "sl_")


def abi():
    with open(os.path.join(REPO, "bpf", "abi", "meta.h"), encoding="utf-8") as header:
        return int(re.search(r"define SIXLANE_ABI (\d+)u", header.read())[1])


def test_pinned_maps_of_another_abi(idle):
    idle.router.attach("ip", ["p0"])
    idle.router.start()
    idle.router.stop()
    shown = idle.r.run("bpftool", "-j", "map", "dump", "pinned", PINS + "/sl_meta").stdout
    value = [int(byte, 16) for byte in json.loads(shown)[0]["value"]]
    value[0:4] = [99, 0, 0, 0]
    idle.r.run("bpftool", "map", "update", "pinned", PINS + "/sl_meta", "key", "0", "0", "0", "0",
               "value", *value)  # fmt: skip
    for argv in ([SIXLANED], [SIXLANED, "p1"], [SIXLANE, "attach", "p1"], [SIXLANE, "status"],
                 [SIXLANE, "lookup", "::1"]):  # fmt: skip
        says(attempt(idle, *argv), "99", "ABI %d" % abi())


def test_pinned_maps_with_garbage_inside(idle):
    """A daemon that adopts maps someone scribbled on repairs them and does not fall over."""
    idle.router.attach("ip")
    idle.router.start()
    idle.sync()
    idle.router.stop()
    key = "160 0 0 0 0 0 0 254 32 1 13 184 0 15 0 0 0 0 0 0 0 0 0 1".split()
    idle.r.run("bpftool", "map", "update", "pinned", PINS + "/sl_routes", "key", *key,
               "value", "255", "255", "15", "128")  # fmt: skip
    key[1], key[0] = "0", "64"
    idle.r.run("bpftool", "map", "update", "pinned", PINS + "/sl_routes", "key", *key,
               "value", "0", "0", "0", "0")  # fmt: skip
    generation = idle.router.status()["generation"]
    idle.router.start(sync=False)
    idle.router.wait_in_sync(after=generation)
    assert not [r for r in idle.router.routes() if r["prefix"].startswith("2001:db8:f:")]
    idle.assert_forwarded(fr.many(20, host_addr("b")), to="b")


def test_no_bpffs(bystander):
    """Unmounted below: what is seen then is an empty directory of sysfs."""
    script = 'mount -t tmpfs none %s; "$@"' % BPFFS
    for argv in ([SIXLANED, "p0"], [SIXLANE, "attach", "p0"], [SIXLANE, "status"]):
        said = attempt(bystander, "unshare", "-m", "sh", "-c", script, "sh", *argv)
        says(said, BPFFS, "mount -t bpf")


# --- rights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["net_admin", "bpf", "all"])
def test_missing_capability(bystander, missing):
    """CAP_SYS_ADMIN stands in for CAP_BPF, so it goes as well."""
    gone = {"net_admin": "-net_admin", "bpf": "-bpf,-sys_admin", "all": "-all"}[missing]
    drop = ["setpriv", "--bounding-set", gone, "--inh-caps", gone, "--"]
    named = "net_admin" if missing == "net_admin" else "bpf"
    for argv in ([SIXLANED, "p0"], [SIXLANE, "attach", "p0"]):
        said = attempt(bystander, *drop, *argv)
        says(said, "cap_")
        if missing != "all":
            says(said, named)


# --- options, config, object ----------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        [SIXLANE], [SIXLANE, "nonsense"], [SIXLANE, "attach"], [SIXLANE, "lookup"],
        [SIXLANE, "lookup", "10.0.0.1"], [SIXLANE, "lookup", "2001:db8::g"], [SIXLANE, "--bogus"],
        [SIXLANE, "routes", "2001:db8::/129"], [SIXLANE, "attach", "p0", "sideways"],
        [SIXLANE, "stats", "-w", "soon"],
        [SIXLANED, "--bogus"], [SIXLANED, "--max-routes", "0"], [SIXLANED, "--max-routes", "many"],
        [SIXLANED, "--max-routes", "99999999999"], [SIXLANED, "--log-level", "loud"],
        [SIXLANED, "--mode", "fast"], [SIXLANED, "--poll-ms", "-5"], [SIXLANED, "--rcvbuf", ""],
        [SIXLANED, "--audit", "600"], [SIXLANED, "l" * 128],
    ],
    ids=lambda argv: " ".join([os.path.basename(argv[0])] + argv[1:]),
)  # fmt: skip
def test_usage(bystander, argv):
    attempt(bystander, *argv, code=2)


@pytest.mark.parametrize("argv", [[SIXLANE, "-h"], [SIXLANED, "-h"], [SIXLANED, "-V"]])
def test_help(bystander, argv):
    done = bystander.r.run(*argv)
    assert "sixlane" in done.stdout and not done.stderr


@pytest.mark.parametrize("program", [SIXLANE, SIXLANED])
def test_version_names_the_compiler(bystander, program):
    done = bystander.r.run(program, "-V")
    assert re.search(r"ABI %d, %s built by .*Clang \d+" % (abi(), re.escape(OBJECT)), done.stdout), (
        done.stdout
    )


def test_version_without_an_object(bystander):
    done = bystander.r.run(SIXLANED, "-o", "/nonexistent.o", "-V")
    says(done.stdout, "no XDP object at /nonexistent.o")


def read_config(net, path):
    """The daemon with a configuration that it must refuse."""
    done = net.r.run("timeout", 10 * PATIENCE, SIXLANED, "-c", path, check=False)
    assert done.returncode in (1, 2), done
    return done


@pytest.mark.parametrize(
    "text, line, words",
    [
        ('ports = [ "p0" ;\n', 1, ["error"]),
        ("poll_ms = 100;\n\nnonsense = 1;\n", 3, ["nonsense", "poll_ms"]),
        ('poll_ms = "often";\n', 1, ["poll_ms", "number"]),
        ("\npoll_ms = 0;\n", 2, ["poll_ms", "10"]),
        ("max_routes = -1;\n", 1, ["max_routes"]),
        ("max_routes = 1.5;\n", 1, ["max_routes", "whole"]),
        ('log_level = "loud";\n', 1, ["log_level", "debug"]),
        ('mode = "fast";\n', 1, ["mode", "native"]),
        ("ports = 5;\n", 1, ["ports", "list"]),
        ("ports = [ 1, 2 ];\n", 1, ["ports", "quotes"]),
        ('ports = [ "" ];\n', 1, ["ports", "name"]),
        ('ports = [ "%s" ];\n' % ("l" * 128), 1, ["ports", "127"]),
        ("teardown = 1;\n", 1, ["teardown", "true"]),
        ("poll_ms 100;\n", 1, ["="]),
        ("\0\1\2", 1, []),
    ],
)
def test_malformed_config(bystander, text, line, words):
    """File, line, what is wrong and what would be right."""
    path = bystander.lab.path("broken.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    done = read_config(bystander, path)
    says(done.stderr, "%s:%d" % (path, line), *words)


def test_config_from_standard_input(bystander):
    done = bystander.r.run("timeout", 10 * PATIENCE, SIXLANED, "-c", "-", stdin="\npoll_ms = 0;\n", check=False)
    assert done.returncode == 1
    says(done.stderr, "standard input:2", "poll_ms")


def test_config_that_is_not_there(bystander):
    done = read_config(bystander, "/nonexistent/sixlaned.conf")
    says(done.stderr, "/nonexistent/sixlaned.conf", "No such file")


@pytest.mark.parametrize("content", [b"", b"not an ELF", None])
def test_object_that_is_none(bystander, content):
    path = bystander.lab.path("nosuch.o" if content is None else "object.o")
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)
    says(attempt(bystander, SIXLANED, "--object", path, "p0"), path)


def test_object_of_something_else(bystander):
    path = "/usr/lib/%s/bpf/xdp-dispatcher.o" % command(["gcc", "-print-multiarch"]).stdout.strip()
    if not os.path.exists(path):
        pytest.skip("libxdp's objects are not installed")
    says(attempt(bystander, SIXLANED, "--object", path, "p0"), path)


def test_object_cut_short(bystander):
    path = bystander.lab.path("cut.o")
    with open(OBJECT, "rb") as whole, open(path, "wb") as cut:
        cut.write(whole.read()[:2000])
    says(attempt(bystander, SIXLANED, "--object", path, "p0"), path)


def test_output_that_cannot_be_written(net):
    """A full disk under a redirected JSON is a failure, not a short success."""
    with open("/dev/full", "wb") as full, net.r.entered():
        done = subprocess.run(
            [SIXLANE, "-j", "routes"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1 and b"write" in done.stderr, done


def test_tools_are_where_the_build_says():
    for name in ("sixlane", "sixlaned", "sixlane.bpf.o"):
        assert os.path.exists(os.path.join(BUILD, name))
