# SPDX-License-Identifier: GPL-2.0-only
"""The daemon follows changes that never end, and those that the kernel announces in part."""

import frames as fr
import kernel_reader as kr
from lab import wait_for, wait_until
from tables import differences
from topology import FAR, PREFIX, Net, host_addr


def test_in_sync_though_routes_never_rest(make):
    net = make(Net)
    net.r.batch("route add 2001:db8:%x::/48 via %s" % (0x1000 + i, host_addr("bc"[i % 2])) for i in range(8000))
    net.router.attach("ip")
    churn = ["route %s 2001:db8:c%03x::/48 via %s" % (verb, i, host_addr("b"))
             for verb in ("add", "delete") for i in range(200)]  # fmt: skip
    with kr.written(net.r, churn):
        net.router.start(timeout=20)
        net.assert_forwarded([fr.udp("2001:db8:1001::1")], to="c")
    net.router.barrier()
    wait_until(lambda: net.router.status()["in_sync"], 20, "in sync after the churn")
    assert differences(net.r, net.router) == []


def test_one_hop_of_a_set_goes_without_a_dump(net):
    generation = net.router.status()["generation"]
    net.route("add", PREFIX, "nexthop via", host_addr("b"), "dev p1 nexthop via", host_addr("c"), "dev p2")
    assert len(net.router.lookup(FAR)["group"]) == 2
    net.route("delete", PREFIX, "via", host_addr("b"), "dev p1")
    net.assert_forwarded([fr.udp(FAR)], to="c")
    assert net.router.status()["generation"] == generation


def test_xdp_features_of_new_devices(net):
    """The kernel announces a tap's XDP features before the device, and on another socket."""
    taps = ["x%d" % i for i in range(40)]
    for tap in taps:
        net.r.ip("tuntap add dev", tap, "mode tap")
    net.router.sixlane("attach", *taps)

    def lacking():
        flags = {port["name"]: port["flags"] for port in net.router.status()["ports"]}
        return [tap for tap in taps if "ndo_xmit" not in flags.get(tap, [])]

    wait_for(lacking, lambda taps: not taps, 5, "taps without ndo_xmit")


def flags(net, port):
    return (net.router.port_status(port) or {}).get("flags", [])


def test_a_port_that_is_to_pass_does_so_under_a_new_name(make):
    net = make(Net).start("--pass-port", "p0")
    frame = [fr.udp(host_addr("b"))]
    net.assert_kernel_forwards(frame, "pass_port")
    for names in (("p0", "lan0"), ("lan0", "p0")):
        net.rename_or_skip(*names)
        wait_until(lambda name=names[1]: "ingress" in flags(net, name), 5, "the new name served")
        net.router.barrier()
        net.assert_kernel_forwards(frame, "pass_port")


def test_a_configured_port_that_comes_back(make):
    net = make(Net)
    net.router.start(ports=["p0", "p1", "p2", "--poll-ms=50"])
    back = net.lab.ns("back")
    net.r.ip("link delete dev p2")
    wait_until(lambda: not net.router.port_status("p2"), 5, "p2 gone")
    net.router.wait_log("p2: the device was removed; sixlaned attaches again")
    net.lab.link(net.r, "p2", back, "h0")
    wait_for(lambda: net.router.port_status("p2"), lambda port: port and port["program"] == "sixlane", 5, "p2")
    net.router.wait_log("the device appeared; attached")


def test_a_port_that_is_gone(net):
    """As when a driver is unbound. A device that takes its name is not served before it runs the program."""
    net.r.ip("link delete dev p2")
    net.router.wait_log("'sixlane attach p2' when it reappears")
    assert "p2: the device was removed" in net.router.log()
    net.lab.link(net.r, "p2", net.lab.ns("back"), "h0")
    net.sync()
    assert "ingress" not in flags(net, "p2")
    net.router.sixlane("attach p2")
    wait_until(lambda: "ingress" in flags(net, "p2"), 5, net.router.log)


def test_a_port_that_moves_away(net):
    net.r.ip("link set dev p2 netns", net.lab.ns("far").name)
    net.router.wait_log("p2: the device moved to another network namespace")
