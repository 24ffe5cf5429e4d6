# SPDX-License-Identifier: GPL-2.0-only
"""Who came first, how the program got onto the port, and restarts under traffic."""

import os
import re
import signal
import threading

import frames as fr
import pytest
from bpf import bpftool
from lab import BPFFS, OBJECT, PINS, SIXLANED, wait_until
from netns import CommandError
from test_changes import Numbered
from topology import COVER, FAR, HOST_MAC, PORT_MAC, PREFIX, WITHOUT_BTF, Net, host_addr, host_ll, router_addr

MAPS = [
    "sl_meta", "sl_routes", "sl_fib", "sl_fib_first", "sl_next_hops", "sl_neigh_index", "sl_neighbours",
    "sl_port_index", "sl_ports", "sl_counters", "sl_src_routes", "sl_nh_buckets", "sl_vlans", "sl_rules",
    "sl_exceptions", "sl_punted", "sl_fresh", "sl_operator", "sl_icmp_events", "sl_cpu", "sl_samples", "sl_guard",
    "sl_policies",
]  # fmt: skip
ARENA = "sl_fib_arena"  # beside them where the kernel has arenas


# These use libxdp's dispatcher, where the kernel supports it.
BY_LIBXDP = ("xdp-loader", "xdp-loader-pin", "sixlane-dispatcher")


@pytest.fixture
def routed(idle):
    idle.r.route("add", PREFIX, "via", host_addr("b"))
    return idle


def modes(net):
    """{port: mode} of the ports that the daemon serves; it may notice a program later than the CLI."""
    ports = net.router.status()["ports"]
    return {port["name"]: port["mode"] for port in ports if "ingress" in port["flags"]}


def program(net, port):
    """The port's program as the kernel shows it: {"mode": 1 native / 2 generic, "prog": {"id": …}}, or None."""
    return net.r.link(port).get("xdp")


def map_ids(net, prog_id):
    return set(bpftool(net, "prog show id", prog_id).get("map_ids", []))


# Maps of a single program.
PRIVATE = {"sl_scratch"}


def map_name(net, map_id):
    return bpftool(net, "map show id", map_id)["name"]


def pinned_ids(net):
    names = MAPS + [ARENA] * os.path.exists("%s/%s" % (PINS, ARENA))
    return {bpftool(net, "map show pinned %s/%s" % (PINS, name))["id"] for name in names}


def attach_or_skip(net, method, ports=None):
    try:
        net.router.attach(method, ports)
    except CommandError as error:
        if "dispatcher" in method and "EPERM" in str(error) or "not permitted" in str(error):
            pytest.skip("this kernel refuses libxdp's dispatcher (freplace)")
        if method in BY_LIBXDP and "Invalid argument" in str(error):
            pytest.skip("this libxdp does not fit the kernel: " + str(error).splitlines()[-1])
        raise


def serves(net, *wanted, ports=None):
    wanted = wanted or ("native",)
    wait_until(
        lambda: all(modes(net).get(port) in wanted for port in ports or net.router.ports),
        10,
        lambda: "ports %s: %s" % (" or ".join(wanted), net.router.status()["ports"]),
    )


def is_dispatched(net, port):
    return (net.r.link(port).get("xdp") or {}).get("prog", {}).get("name") == "xdp_dispatcher"


# --- who came first -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ip", "ip-native", "sixlane", *BY_LIBXDP])
@pytest.mark.parametrize("first", ["program", "daemon"])
def test_program_and_daemon_in_any_order(routed, method, first):
    if first == "program":
        attach_or_skip(routed, method)
        # Without a daemon every packet passes to the kernel.
        routed.assert_forwarded_by_kernel(fr.many(10, FAR))
        routed.router.start()
    else:
        routed.router.start()
        attach_or_skip(routed, method)
    # Without -p each program gets maps of its own, and the daemon cannot replace one under libxdp's dispatcher: it
    # adopts the maps of the first if it has none yet.
    apart = method == "xdp-loader" and is_dispatched(routed, "p0")
    if apart and first == "daemon":
        assert {port["program"] for port in routed.router.status()["ports"]} == {"other maps"}
        routed.assert_forwarded_by_kernel(fr.many(10, FAR))
        return
    wanted = ("native", "dispatcher") if method in BY_LIBXDP else ("native",)
    serves(routed, *wanted, ports=["p0"] if apart else None)
    routed.sync()
    routed.assert_forwarded(fr.many(50, FAR), to="b")
    routed.route("replace", PREFIX, "via", host_addr("c"))
    routed.assert_forwarded(fr.many(50, FAR), to="c")


@pytest.mark.parametrize("how", ["native", "generic", "config"])
def test_daemon_attaches_to_the_ports_it_is_given(routed, how):
    """On its command line, or in its configuration."""
    if how == "config":
        config = routed.lab.write("sixlaned.conf", 'ports = [ "p0", "p1" ];\nlog_level = "debug";\npoll_ms = 100;\n')
        routed.router.start("--config", config)
    else:
        routed.router.start("--mode", how, ports=["p0", "p1"])
    assert modes(routed) == dict.fromkeys(("p0", "p1"), "generic" if how == "generic" else "native")
    routed.assert_forwarded(fr.many(50, FAR), to="b")
    assert not program(routed, "p2")


def test_one_port_now_another_later(routed):
    """Traffic that comes in by a port without the program passes to the kernel."""
    routed.router.attach("ip", ["p0"])
    routed.router.start()
    routed.assert_forwarded(fr.many(10, FAR), to="b")
    back = [fr.udp(host_addr("a"), src=host_addr("b"), src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"])]
    routed.assert_forwarded(back, to="a", source="b", by="kernel")
    routed.router.attach("ip", ["p1"])
    wait_until(lambda: modes(routed).get("p1") == "native", 5, "p1 served")
    routed.assert_forwarded(back, to="a", source="b")


@pytest.mark.parametrize("method, first", [("ip", "program"), ("ip", "daemon"), ("sixlane", "program"),
                                          ("xdp-loader-pin", "program")])  # fmt: skip
def test_ports_share_one_set_of_maps(idle, method, first):
    """Whoever is first pins it. The daemon gets an object without an arena, or it would replace the programs."""
    if first == "daemon":
        idle.router.start("--object", idle.router.object_without_arena())
        before = pinned_ids(idle)
    attach_or_skip(idle, method)
    if is_dispatched(idle, "p0"):
        pytest.skip("the program hides behind a dispatcher")
    sets, pinned = [map_ids(idle, program(idle, port)["prog"]["id"]) for port in idle.router.ports], pinned_ids(idle)
    assert first == "program" or pinned == before
    assert all(len(ids & pinned) >= 7 for ids in sets), (sets, pinned)
    assert all({map_name(idle, number) for number in ids - pinned - {0}} == PRIVATE for ids in sets)


def test_detach_and_attach(net):
    """Attaching again does nothing."""
    before = program(net, "p0")
    net.router.sixlane("attach p0")
    assert program(net, "p0")["prog"]["id"] == before["prog"]["id"]
    net.router.sixlane("detach p0")
    assert not program(net, "p0") and program(net, "p1")
    net.assert_forwarded(fr.many(5, host_addr("b")), to="b", by="kernel")
    net.router.sixlane("attach p0")
    serves(net)
    net.assert_forwarded(fr.many(5, host_addr("b")), to="b")


# --- modes ----------------------------------------------------------------------------------


def test_silently_generic_is_shown(idle):
    """`ip link` falls back to generic on a device without native XDP without a message."""
    idle.r.ip("link add br7 type bridge")
    idle.r.ip("link set dev br7 up")
    idle.router.attach("ip", ["br7", "p0"])
    idle.router.start()
    assert modes(idle)["br7"] == "generic" and modes(idle)["p0"] == "native"


# --- restarts -------------------------------------------------------------------------------


def single_paths(net):
    """The trie without fe80::/64, which is on every port: groups are made again and repointed."""
    link_local = ["0xfe", "0x80"] + ["0x00"] * 14
    return [entry for entry in bpftool(net, "map dump pinned", PINS + "/sl_routes") if entry["key"][8:] != link_local]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_restart_under_traffic(net, number):
    """No packet is lost, no route is written again, and the kernel forwards only until the new daemon has read the
    guard's rules."""
    net.r.batch("route add 2001:db8:%x::/48 via %s" % (0x2000 + i, host_addr("bc"[i % 2])) for i in range(500))
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.sync()
    routes = single_paths(net)
    with Numbered(net, rate=2000) as numbered:
        numbered.wait_more()
        net.router.stop(number)
        numbered.wait_more(500)
        net.router.start(passes=net.router.status()["exception_passes"])
        numbered.wait_more()
    numbered.assert_all_arrived("b")
    numbered.assert_restarted_over()
    assert single_paths(net) == routes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_changes_while_the_daemon_is_away(net, number):
    """The new daemon applies what the kernel changed meanwhile, and writes nothing else."""
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.r.route("add 2001:db8:e00::/48 via", host_addr("b"))
    net.sync()
    net.router.stop(number)
    net.assert_forwarded(fr.many(5, FAR), to="b")
    net.r.route("delete", PREFIX)
    net.r.route("replace 2001:db8:e00::/48 via", host_addr("c"))
    net.r.route("add 2001:db8:d00::/48 via", host_addr("c"))
    net.router.start()
    net.assert_passed(fr.many(3, FAR), "pass_no_route")
    net.assert_forwarded(fr.many(5, "2001:db8:e00::1"), to="c")
    net.assert_forwarded(fr.many(5, "2001:db8:d00::1"), to="c")


def test_changes_while_the_daemon_starts(idle):
    """Every route that changes while tables are read is right in the end."""
    ways = ["via " + host_addr(host) for host in "bc"]
    idle.r.batch("route add 2001:db9:%x:%x::/64 dev p0" % (i >> 12, i & 0xFFF) for i in range(100_000))
    idle.r.batch("route add 2001:dba:%x::/48 %s" % (i, ways[0]) for i in range(20_000))
    changed, started = [], threading.Event()

    def change():
        while not started.is_set() and len(changed) < 20_000:
            some = range(len(changed), len(changed) + 50)
            idle.r.batch("route replace 2001:dba:%x::/48 %s" % (i, ways[1]) for i in some)
            changed.extend(some)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        idle.start()
    finally:
        started.set()
        changer.join()
    idle.router.barrier()
    found = idle.router.lookup_many("2001:dba:%x::1" % i for i in changed)
    assert {row["next_hop"] for row in found} == {host_addr("c")}


def test_rules_changed_while_the_daemon_is_away(net):
    """Packets to the router itself never leave, though its local table is written after the new rules."""
    net.r.route("add", COVER, "via", host_addr("c"), "table 100")
    net.fill(20000)
    net.sync()
    with Numbered(net, dst=router_addr("b"), rate=20000) as stream:
        net.router.stop()
        net.r.ip("rule add from 2001:db8:a::/64 lookup 100 pref 1000")
        net.router.start()
        stream.wait_more()
    assert "forward" not in stream.rise, stream.rise
    net.assert_forwarded(fr.many(5, FAR), to="c")


def test_port_put_on_while_the_daemon_is_away(make):
    """Its own address is not in the maps yet when it is served."""
    net = make(Net)
    net.r.route("add", COVER, "via", host_addr("c"))
    net.fill(20000)
    net.router.attach("ip", ["p1", "p2"])
    net.router.start()
    net.router.stop()
    net.r.addr("p0", "2001:db8:ffff::1/64")
    net.router.attach("ip", ["p0"])
    with Numbered(net, dst="2001:db8:ffff::1", rate=20000) as stream:
        net.router.start()
        stream.wait_more()
    assert "forward" not in stream.rise and stream.rise["pass_local"], stream.rise
    net.assert_forwarded(fr.many(5, FAR), to="c")


def test_teardown(routed):
    routed.router.attach("ip")
    routed.router.start("--teardown")
    routed.assert_forwarded(fr.many(10, FAR), to="b")
    assert routed.router.stop() == 0
    assert not any(program(routed, port) for port in routed.router.ports)
    assert not [name for _, _, files in os.walk(BPFFS) for name in files if name.startswith("sl_")]
    routed.assert_forwarded_by_kernel(fr.many(10, FAR))


def test_a_second_daemon_is_refused(net):
    done = net.r.run("timeout", "10", SIXLANED, check=False)
    assert done.returncode == 1 and "another sixlaned" in done.stderr, done
    net.assert_forwarded(fr.many(10, host_addr("b")), to="b")


def test_program_loaded_anew_over_the_old_one(net):
    """`ip -force link set … xdp obj` under the daemon: the port goes on."""
    old = program(net, "p0")["prog"]["id"]
    net.r.run("ip", "-force", "link", "set", "dev", "p0", "xdp", "obj", OBJECT, "sec", "xdp")
    assert program(net, "p0")["prog"]["id"] != old
    serves(net)
    net.assert_forwarded(fr.many(20, host_addr("b")), to="b")


@pytest.mark.parametrize("method", ["ip", "sixlane", "xdp-loader-pin", "stripped"])
def test_status_names_the_compiler(idle, method):
    """The compiler of the running program is named whoever loaded it, also without debug information."""
    if method == "stripped":
        stripped = idle.lab.path("stripped.bpf.o")
        idle.r.run("llvm-strip", "-g", "-o", stripped, OBJECT)
        idle.r.ip("link set dev p0 xdp obj", stripped, "sec xdp")
    else:
        attach_or_skip(idle, method)
    idle.router.start()
    built = {port["name"]: port["compiler"] for port in idle.router.status()["ports"]}
    for port in ["p0"] if method == "stripped" or is_dispatched(idle, "p0") else idle.router.ports:
        assert re.search(r"Clang \d+", built[port]), built
    assert "built by " + built["p0"] in idle.router.status_text("-s")


@pytest.mark.parametrize("under", [(), WITHOUT_BTF])
def test_status_of_a_default_route_by_advertisement(idle, under):
    """If its lifetime cannot be read, nearly every packet of such a router passes to the kernel."""
    idle = idle.start(under=under)

    def warnings():
        return [text for text in idle.router.status()["warnings"] if "default route expires" in text]

    idle.r.route("add default via", host_ll("b"), "dev p1 proto ra expires 1800")
    idle.sync()
    if not under:
        assert not warnings()
        return
    assert warnings() and "punt_expires" in warnings()[0]
    assert "ip -6 route replace default via" in idle.router.sixlane("status", check=False).stdout
    idle.r.route("add 2000::/3 via", host_ll("b"), "dev p1 expires 1800")
    idle.r.route("replace default via", host_ll("b"), "dev p1")
    idle.sync()
    assert not warnings()
