# SPDX-License-Identifier: GPL-2.0-only
"""The compiled FIB in an arena or in array maps: programs of either kind, in any order."""

import mmap
import os
import shutil
import struct

import bpf
import frames as fr
import pytest
from lab import BUILD, OBJECT, PINS, SIXLANE, SIXLANED, wait_for
from netns import CommandError
from bpf import load_unpinned
from test_changes import Numbered
from test_fib import built, fib, verify
from test_start import attach_or_skip, is_dispatched, map_ids, modes, program, serves
from topology import FAR, PREFIX, Net, host_addr

FRAGS = BUILD + "/sixlane.frags.bpf.o"
ARENA = BUILD + "/sixlane.arena.bpf.o"
B, C = (host_addr(h) for h in "bc")

pytestmark = pytest.mark.skipif(not bpf.kernel_has_them(), reason="this kernel has no arenas")


@pytest.fixture
def routed(idle):
    return idle.add_routes()


def reads_arena(net, port="p0"):
    """Whether the port's program does. None: another program came meanwhile."""
    prog_id = program(net, port)["prog"]["id"]
    try:
        return any(bpf.is_arena(number) for number in map_ids(net, prog_id))
    except CommandError:
        if program(net, port)["prog"]["id"] == prog_id:
            raise
        return None


def all_read(net, wanted=True):
    """Until every port runs a program that reads the arena, or does not."""
    wait_for(lambda: [reads_arena(net, port) for port in net.router.ports],
             lambda reads: set(reads) == {wanted}, what="programs that read an arena")  # fmt: skip


def assert_right(net, in_arena):
    """The compiled FIB answers from this memory, packets follow it through a change, and all agree."""
    all_read(net, in_arena)
    serves(net, *set(modes(net).values()))
    assert built(net)["arena"] == in_arena
    words = "in an arena" if in_arena else "in array maps"
    assert words in net.router.sixlane("fib").stdout
    assert not any("lookups use the LPM trie" in text for text in net.router.status()["warnings"])
    net.sync()
    net.assert_forwarded(fr.many(50, FAR), to="b")
    net.route("replace", PREFIX, "via", C)
    net.assert_forwarded(fr.many(50, FAR), to="c")
    net.route("replace", PREFIX, "via", B)
    assert verify(net, "random", 1000)["wrong"] == 0


@pytest.mark.parametrize("first", ["program", "daemon"])
def test_maps_made_by_ip_link(routed, first):
    """They have no arena. The daemon replaces programs that do not read it, whoever came first."""
    if first == "program":
        routed.router.attach("ip")
        assert not os.path.exists(bpf.PIN) and not reads_arena(routed)
    routed.router.start()
    if first == "daemon":
        routed.router.attach("ip")
    assert_right(routed, True)
    assert "p0: replaced its sixlane program by one that reads the arena" in routed.router.log()


def test_no_other_object(routed):
    """A daemon without sixlane.arena.bpf.o serves array maps, also to programs of `sixlane attach`."""
    routed.router.attach("ip", ["p0"])
    routed.router.start("--object", routed.router.object_without_arena())
    routed.router.attach("sixlane", ["p1", "p2"])
    assert_right(routed, False)


def test_attach_over_ip_link(routed):
    """Without a daemon, over maps that have an arena."""
    routed.router.attach("sixlane")
    routed.router.detach(["p0"])
    routed.router.attach("ip", ["p0"])
    assert not reads_arena(routed)
    assert any("or start sixlaned" in text for text in routed.router.status()["warnings"])
    routed.router.attach("sixlane", ["p0"])
    routed.router.start()
    assert_right(routed, True)


def test_maps_pinned_nowhere(routed):
    """Those of a program for arenas that was loaded without pins are the daemon's, arena and all."""
    load_unpinned(routed, ARENA)
    routed.router.start()
    serves(routed, ports=["p0"])
    assert map_ids(routed, program(routed, "p0")["prog"]["id"]) >= {bpf.pinned_id()}
    assert built(routed)["arena"]
    routed.sync()
    routed.assert_forwarded(fr.many(50, FAR), to="b")


def test_all_at_once(routed):
    """A daemon and commands that all find no maps."""
    for _ in range(5):
        attach = [routed.r.popen(SIXLANE, "attach", port) for port in routed.router.ports]
        routed.router.start()
        assert [process.wait(10) for process in attach] == [0, 0, 0]
        assert_right(routed, True)
        routed.router.stop()
        routed.router.sixlane("detach all")
        routed.router.sixlane("unpin")


def test_an_arena_that_nobody_writes(routed):
    """`ip link` pins it while the daemon writes array maps: its program is replaced, and the arena is not used."""
    routed.router.attach("ip", ["p0", "p2"])
    routed.router.start("--object", routed.router.object_without_arena())
    routed.r.ip("link set dev p1 xdpdrv obj", ARENA, "sec xdp")
    assert os.path.exists(bpf.PIN)
    assert_right(routed, False)
    routed.router.sixlane("fib trie")
    assert fib(routed)["active"] == "trie"
    routed.router.restart()
    assert_right(routed, True)


def test_half_of_the_objects(make):
    """Without sixlane.arena.frags.bpf.o these ports could not be served: arrays, then."""
    jumbo = make(Net, mtu={h: 9000 for h in "abc"}).add_routes()
    own = jumbo.router.object_without_arena()
    shutil.copy(ARENA, os.path.dirname(own))
    jumbo.router.start("--object", own, ports=jumbo.router.ports)
    assert_right(jumbo, False)


# By `ip link`: mode, object and section, and the port's MTU. The plain program would be refused at the last one.
BY_IP = {
    "the object for arenas": ("xdpdrv", ARENA, "xdp", 1500),
    "generic mode": ("xdpgeneric", OBJECT, "xdp", 1500),
    "several buffers": ("xdpdrv", FRAGS, "xdp.frags", 9000),
}


@pytest.mark.parametrize("mode, path, section, mtu", BY_IP.values(), ids=list(BY_IP))
def test_what_stays_of_a_program(make, mode, path, section, mtu):
    """Its mode and its flavour; a program that reads the arena is left as it is."""
    net = make(Net, mtu={h: mtu for h in "abc"}).add_routes()
    for port in net.router.ports:
        net.r.ip("link set dev", port, mode, "obj", path, "sec", section)
    before = program(net, "p0")
    net.router.start()
    assert_right(net, True)
    after = program(net, "p0")
    assert (after["mode"], after["prog"]["name"]) == (before["mode"], before["prog"]["name"])
    assert (after["prog"]["id"] == before["prog"]["id"]) == (path == ARENA)


def test_under_a_dispatcher(routed):
    """The daemon cannot replace a program under libxdp's dispatcher: the trie answers, which is reported."""
    routed.router.start()
    attach_or_skip(routed, "xdp-loader-pin")
    if not is_dispatched(routed, "p0"):
        pytest.skip("libxdp uses no dispatcher here")
    serves(routed, "dispatcher")
    routed.sync()
    routed.assert_forwarded(fr.many(50, FAR), to="b")
    assert "'sixlane attach p0 dispatcher'" in routed.router.log()
    assert any("lookups on p0 use the LPM trie" in text for text in routed.router.status()["warnings"])


# --- a daemon that has the other object than the one before -----------------------------------


def roots(fd):
    """The roots of the compiled FIB in the arena. 0: there is none, so that the trie answers."""
    with bpf.mapped(fd) as memory:
        return struct.unpack("=Q", bytes(memory[:8]))[0]


def roots_in_arrays():
    fd = bpf.pinned(PINS + "/sl_fib_first")
    with mmap.mmap(fd, mmap.PAGESIZE) as memory:
        os.close(fd)
        return struct.unpack("=Q", memory[:8])[0]


def test_from_arena_to_arrays_and_back(routed):
    """No packet is lost; and nothing is left in either that a program could follow."""
    routed.router.attach("sixlane")
    routed.router.start()
    assert_right(routed, True)
    fd = bpf.pinned()
    assert roots(fd)
    with Numbered(routed) as numbered:
        routed.router.restart("--object", routed.router.object_without_arena())
        numbered.wait_more()
    numbered.assert_all_arrived("b")
    assert_right(routed, False)
    assert not os.path.exists(bpf.PIN) and not roots(fd) and roots_in_arrays()
    os.close(fd)
    with Numbered(routed) as numbered:
        routed.router.restart()
        numbered.wait_more()
    numbered.assert_all_arrived("b")
    assert_right(routed, True)
    assert not roots_in_arrays()


def test_the_object_goes_while_the_daemon_runs(routed, tmp_path):
    """A port gets a program for arrays, and the object for arenas is gone: the trie answers, and the daemon logs
    it once for each port."""
    own = str(tmp_path / "sixlane.bpf.o")
    for suffix in (".bpf.o", ".arena.bpf.o"):
        os.symlink(BUILD + "/sixlane" + suffix, str(tmp_path / "sixlane") + suffix)
    routed.router.start("--object", own)
    os.unlink(str(tmp_path / "sixlane.arena.bpf.o"))
    routed.router.attach("ip")
    serves(routed)
    routed.sync()
    routed.assert_forwarded(fr.many(50, FAR), to="b")
    assert routed.router.log().count("install sixlane.arena.bpf.o and") == len(routed.router.ports)
    assert any("lookups on p0 use the LPM trie" in text for text in routed.router.status()["warnings"])
    assert routed.router.stop() == 0


def test_teardown_takes_the_arena_along(routed):
    routed.router.attach("sixlane")
    routed.router.start("--teardown")
    assert_right(routed, True)
    assert routed.router.stop() == 0
    assert not os.path.exists(bpf.PIN) and not program(routed, "p0")


def test_no_room_for_its_addresses(routed):
    """A process that may not map it uses array maps; if there is an arena, the error says what is missing."""
    under = ("prlimit", "--as=%d" % (100 << 20))
    routed.router.attach("ip")
    routed.router.start(under=under)
    assert not os.path.exists(bpf.PIN)
    assert_right(routed, False)
    routed.router.stop()
    routed.router.start()
    assert_right(routed, True)
    routed.router.stop()
    # what is written there must be emptied first
    for command in (SIXLANE, "fib"), (SIXLANED,):
        done = routed.r.run(*under, *command, check=False)
        assert done.returncode == 1 and "128 MiB of address space" in done.stderr, done
    fd = bpf.pinned()
    assert roots(fd)
    os.close(fd)


@pytest.mark.parametrize("megabytes,in_arena", [(144, False), (204, False), (4095, False), (4096, True)])
def test_little_room_for_its_addresses(routed, megabytes, in_arena):
    """There may be room for the arena, but not for all routes beside it."""
    routed.router.attach("sixlane")
    routed.router.start(under=("prlimit", "--as=%d" % (megabytes << 20)))
    assert_right(routed, in_arena)
    assert os.path.exists(bpf.PIN) == in_arena


def test_a_pin_left_alone(routed):
    """A start was interrupted. The arena of a program that was loaded without pins is used."""
    routed.router.attach("sixlane")
    routed.router.sixlane("detach all")
    for name in os.listdir(PINS):
        if name != "sl_fib_arena":
            os.unlink(os.path.join(PINS, name))
    load_unpinned(routed, ARENA)
    routed.router.start(ports=["p1", "p2"])
    assert_right(routed, True)
