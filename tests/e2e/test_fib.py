# SPDX-License-Identifier: GPL-2.0-only
"""The compiled FIB beside the trie: the switch between them, its status, and its verification."""

import contextlib
import json
import mmap
import os
import resource
import struct

import bpf
import frames as fr
import kernel_reader as kr
import pytest
from test_explain import packet, where
from lab import wait_for, wait_until
from tables import wait_same
from test_changes import Numbered
from topology import COVER, FAR, PREFIX, host_addr

B, C = (host_addr(h) for h in "bc")
KEYS = {
    "configured", "active", "reason", "arena", "routes", "memory_bytes", "used_bytes", "free_bytes", "nodes",
    "builds", "failures", "replans", "built_at", "bytes_per_route", "build_ms",
}  # fmt: skip
CHUNK_BYTES = 4 << 20


def fib(net):
    return net.router.sixlane_json("fib")


def built(net, builds=1):
    """Until the compiled FIB answers and was built so often."""
    return wait_for(lambda: fib(net), lambda fib: fib["active"] == "compiled" and fib["builds"] >= builds, 20, "built")


def verify(net, *words, code=0):
    """`sixlane -j fib verify`, which is to end so; None: it printed nothing."""
    done = net.router.sixlane("-j", "fib", "verify", *words, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr, net.router.log())
    return json.loads(done.stdout) if done.stdout else None


@contextlib.contextmanager
def chunk(net):
    """The memory of the compiled FIB's first chunk, as the datapath reads it."""
    if fib(net)["arena"]:
        fd = bpf.pinned()
        with bpf.mapped(fd) as memory:
            os.close(fd)
            yield memory
        return
    fd = bpf.bpf(bpf.BPF_MAP_GET_FD_BY_ID, bpf.element(net, "sl_fib", 0))
    with mmap.mmap(fd, CHUNK_BYTES) as memory:
        os.close(fd)
        yield memory


def value_of(net, prefix):
    """Its value in sl_routes."""
    (row,) = [row for row in net.router.routes(prefix) if row["prefix"] == prefix]
    return row["id"] | int(prefix.partition("/")[2]) << 20


def plant(net, old, new):
    """Replace a leaf of the compiled FIB."""
    with chunk(net) as memory:
        words = memoryview(memory)[:CHUNK_BYTES].cast("B").cast("I")
        words[words.tolist().index(old)] = new
        words.release()


@pytest.fixture
def routed(net):
    net.add_routes().sync()
    built(net)
    return net


# --- which one answers ------------------------------------------------------------------------


def test_switch_under_traffic(routed):
    with Numbered(routed) as numbered:
        for _ in range(10):
            for engine in ("trie", "compiled"):
                routed.router.sixlane("fib", engine)
                assert fib(routed)["active"] == engine
                numbered.wait_more()
    numbered.assert_all_arrived("b")
    assert numbered.rise["forward"] == numbered.sent, numbered.rise


def test_each_engine_answers_by_what_it_holds(routed):
    """A leaf of the compiled FIB leads elsewhere than the trie. The daemon is stopped, as its parity check would
    find that."""
    plant(routed, value_of(routed, PREFIX), value_of(routed, COVER))
    routed.router.stop()
    for engine, host in (("trie", "b"), ("compiled", "c"), ("trie", "b")):
        routed.router.sixlane("fib", engine)
        routed.assert_forwarded(fr.many(20, FAR), to=host)


def test_changes_while_the_trie_answers(routed):
    """The compiled FIB is updated as well, and right at once when it is switched to."""
    routed.router.sixlane("fib trie")
    routed.route("replace", PREFIX, "via", C)
    routed.assert_forwarded(fr.many(20, FAR), to="c")
    routed.router.sixlane("fib compiled")
    routed.assert_forwarded(fr.many(20, FAR), to="c")
    assert verify(routed, "random", 1000)["wrong"] == 0


def test_setting_and_option(idle):
    idle.r.route("add", PREFIX, "via", B)
    idle.start("--config", idle.lab.write("sixlaned.conf", 'fib = "trie";\n'))
    wait_until(lambda: fib(idle)["builds"], 10, "it is built in any case")
    assert (fib(idle)["configured"], fib(idle)["active"]) == ("trie", "trie")
    idle.assert_forwarded(fr.many(20, FAR))
    idle.router.sixlane("fib compiled")
    assert built(idle)["configured"] == "compiled"
    idle.router.restart("--fib", "trie")
    assert fib(idle)["configured"] == "trie"
    idle.router.restart()
    assert built(idle)["configured"] == "compiled"


# --- what is shown of it -----------------------------------------------------------------------


def test_status(routed):
    shown = fib(routed)
    assert set(shown) == KEYS
    assert shown["reason"] is None and shown["builds"] == 1 and shown["failures"] == 0
    assert shown["memory_bytes"] == CHUNK_BYTES and 0 < shown["used_bytes"] < CHUNK_BYTES
    assert shown["nodes"] >= 2 and shown["build_ms"] > 0 and shown["built_at"] > 1.6e9
    assert shown["bytes_per_route"] == pytest.approx(shown["used_bytes"] / shown["routes"], abs=0.11)
    assert routed.router.status()["fib"].keys() == KEYS
    text = routed.router.status_text()
    assert "fib         lookups use compiled, compiled FIB of 4096 kB" in text
    assert "replans" in routed.router.status_text("-s") and "replans" not in text
    text = routed.router.sixlane("fib show").stdout
    assert "active      compiled\n" in text and "bytes for each of" in text
    routed.router.sixlane("fib trie")
    assert "fib         lookups use trie" in routed.router.status_text()
    assert routed.router.status()["warnings"] == []


def test_lookup_compares_both(routed):
    assert routed.router.lookup(FAR)["compiled"] == "same"
    assert "compiled FIB: the same" in routed.router.sixlane("-s lookup", FAR).stdout
    plant(routed, value_of(routed, PREFIX), value_of(routed, COVER))
    assert routed.router.lookup(FAR)["compiled"] == "differs"


def test_no_daemon_has_built_it(idle):
    idle.router.attach()
    shown = fib(idle)
    assert (shown["configured"], shown["active"], shown["builds"]) == ("compiled", "trie", 0)
    assert shown["reason"] == "sixlaned does not run, and has not built it"
    done = idle.router.sixlane("fib compiled", check=False)
    assert done.returncode == 0 and "the setting is stored, but lookups use the LPM trie" in done.stderr
    idle.router.sixlane("fib trie")
    assert fib(idle)["reason"] is None
    done = idle.router.sixlane("fib verify", check=False)
    assert done.returncode == 1 and "no compiled FIB to compare: sixlaned does not run" in done.stderr


# --- the proof --------------------------------------------------------------------------------


def test_verify_finds_nothing(routed):
    routed.r.route("add", PREFIX, "via", C, "table 100")
    routed.sync()
    shown = verify(routed, "random", 20000, "seed", 7)
    assert shown["wrong"] == 0 and shown["differences"] == [] and shown["seed"] == 7
    assert shown["addresses"] == shown["compared"] == 4 * shown["routes"] + 20000
    assert shown["tables"] >= 2 and shown["trie_lookups"] == shown["addresses"]
    assert shown["daemon"] == {"runs": True, "done": True, "compared": 4 * shown["routes"], "wrong": 0}
    text = routed.router.sixlane("fib verify random 1000").stdout
    assert "tables, seed" in text and text.count("no difference") == 2


def test_verify_while_routes_change(routed):
    """A route that changes between two reads is no difference, and other routes are not affected: see also
    tests/bpf/churn.c."""
    lines = ["route replace 2001:db8:%x::/48 via %s" % (i % 501, (B, C)[i % 2]) for i in range(2004)]
    with kr.written(routed.r, lines), Numbered(routed) as numbered:
        for _ in range(3):
            assert verify(routed, "random", 50000)["wrong"] == 0
        numbered.wait_more(1000)
    numbered.assert_all_arrived("b")
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    wait_same(routed.r, routed.router)
    assert verify(routed, "random", 50000)["wrong"] == 0


def test_verify_finds_what_is_wrong(routed):
    """The daemon then drops the compiled FIB, and builds it again."""
    old, new = value_of(routed, PREFIX), value_of(routed, COVER)
    plant(routed, old, new)
    shown = verify(routed, "random", 1000, code=1)
    assert shown["wrong"] >= 1 and shown["daemon"]["wrong"] >= 1
    (first, *_) = shown["differences"]
    assert first["table"] == 254 and first["address"].startswith("2001:db8:f00:")
    assert first["trie"].startswith(PREFIX) and first["compiled"].startswith("2001:db8::/32")
    assert "the compiled FIB is wrong at 2001:db8:f00:" in routed.router.log()
    routed.assert_forwarded(fr.many(20, FAR), to="b")
    assert built(routed, 2)["failures"] == 1
    assert verify(routed, "random", 1000)["wrong"] == 0
    routed.assert_forwarded(fr.many(20, FAR), to="b")


def test_verify_finds_a_wrong_trie(routed):
    """The daemon does not see it, as its table and the compiled FIB agree."""
    bpf.entry(routed, "update", "sl_routes", bpf.route_key(PREFIX), struct.pack("<I", value_of(routed, PREFIX) ^ 1))
    done = routed.router.sixlane("fib verify random 1000", check=False)
    assert done.returncode == 1 and "trie says 2001:db8:f00::/48 next hop" in done.stdout
    assert "own table: no difference" in done.stdout and "differ\n" in done.stdout


def test_verify_without_a_daemon(routed):
    routed.router.stop()
    shown = verify(routed, "random", 1000)
    assert shown["wrong"] == 0 and not shown["daemon"]["runs"] and shown["compared"] > 1000
    assert "only the trie" in routed.router.sixlane("fib verify random 10").stdout
    routed.assert_forwarded(fr.many(20, FAR), to="b")


# --- when it is not there ---------------------------------------------------------------------


def test_no_memory(routed):
    """The address space ends within the chunk: the trie answers, and the compiled FIB is built when there is room.
    Without an arena, whose addresses are taken at once (unit test_maps has one whose pages are refused)."""
    options = ("--object", routed.router.object_without_arena())
    routed.router.restart(*options)
    built(routed)
    pid = routed.router.daemon.pid
    with open("/proc/%d/statm" % pid, encoding="ascii") as file:
        size = int(file.read().split()[0]) * mmap.PAGESIZE
    limit = size - CHUNK_BYTES * 3 // 4
    routed.router.stop()
    routed.router.start(*options, under=("prlimit", "--as=%d:" % limit))  # the soft limit
    wait_until(lambda: fib(routed)["failures"], 10, lambda: str(fib(routed)))
    shown = fib(routed)
    assert (shown["active"], shown["builds"], shown["memory_bytes"]) == ("trie", 0, 0), shown
    assert "could not build" in shown["reason"] and "no compiled FIB: " in routed.router.log()
    assert any("lookups use the LPM trie" in text for text in routed.router.status()["warnings"])
    routed.assert_forwarded(fr.many(20, FAR), to="b")
    routed.route("replace", PREFIX, "via", C)
    routed.assert_forwarded(fr.many(20, FAR), to="c")
    _, hard = resource.prlimit(routed.router.daemon.pid, resource.RLIMIT_AS)
    resource.prlimit(routed.router.daemon.pid, resource.RLIMIT_AS, (hard, hard))
    assert built(routed)["failures"] >= 1
    assert routed.router.status()["warnings"] == []
    assert verify(routed, "random", 1000)["wrong"] == 0


# --- other tables -----------------------------------------------------------------------------


def test_tables_of_rules(tables):
    """Each has a root of its own, which comes and goes."""
    dns, other = packet(FAR, dport=53), packet(FAR)
    built(tables)
    for engine in ("trie", "compiled"):
        tables.router.sixlane("fib", engine)
        assert where(tables, dns) == ("c", "forward")
        assert where(tables, other) == ("b", "forward")
    tables.route("delete", PREFIX, "table 100")
    assert where(tables, dns) == ("b", "forward")
    tables.route("add", PREFIX, "via", C, "table 100")
    assert where(tables, dns) == ("c", "forward")
    assert fib(tables)["active"] == "compiled"
    assert verify(tables, "random", 1000)["tables"] >= 3
