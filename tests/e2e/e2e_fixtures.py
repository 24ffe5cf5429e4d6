# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of the end-to-end tests, in virtual machines as well. `net` is a router with sixlane in step with the
kernel."""

import os

import lab as lab_module
import pytest
from topology import COVER, PREFIX, SEED, Net, Twins, host_addr

NETS = pytest.StashKey()
# The daemon logs this where the kernel is newer than its tables of attributes.
UNKNOWN = "has an unsupported attribute"


def pytest_sessionstart(session):
    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests need root (network namespaces, BPF)", 1)
    for path in (lab_module.OBJECT, lab_module.SIXLANED, lab_module.SIXLANE):
        if not os.path.exists(path):
            pytest.exit("%s is missing: run make first" % path, 1)
    lab_module.enter_private_mounts()


def pytest_terminal_summary(terminalreporter):
    if terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line("SIXLANE_SEED=%d" % SEED)


def pytest_collection_modifyitems(items):
    """Short files come last, so that no worker ends with a long one: those of the guard's readers."""
    items.sort(key=lambda item: item.path.name.startswith("test_guard"))


def tear_down(made):
    nets = [net for item in made for net in ([item.plain, item.fast] if isinstance(item, Twins) else [item])]
    logs = [net.router.log() for net in nets]
    for net in reversed(nets):
        net.close()
    for net in nets:
        assert net.lab.leftovers() == []
    for log in logs:
        assert UNKNOWN not in log, "an attribute is missing in the parsers' tables:\n" + log


def _make(request):
    """make(Net, …) or make(Twins, …): built now, torn down and checked for leftovers at the end."""
    made = request.node.stash.setdefault(NETS, [])

    def build(kind, *args, **kwargs):
        made.append(kind(*args, **kwargs))
        return made[-1]

    yield build
    tear_down(made)


make = pytest.fixture(_make)
# The same for all tests of a file.
make_shared = pytest.fixture(_make, scope="module")


@pytest.fixture
def idle(make):
    """The topology without sixlane."""
    return make(Net)


@pytest.fixture(scope="module")
def bystander(make_shared):
    """One topology without sixlane for all of a file's tests that change nothing in it."""
    return make_shared(Net)


@pytest.fixture
def net(make):
    """The topology, with a program on each port and served by the daemon."""
    return make(Net).start()


@pytest.fixture
def twins(make):
    """net beside the kernel alone."""
    pair = make(Twins)
    pair.fast.start()
    return pair


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the daemon's log and status to each failure."""
    report = (yield).get_result()
    if call.when != "call" or not report.failed:
        return
    for made in item.stash.get(NETS, []) + item.getparent(pytest.Module).stash.get(NETS, []):
        router = getattr(made, "fast", made).router
        text = router.log()
        for args in (["-j", "status"], ["-j", "stats"]):
            done = router.ns.run(lab_module.SIXLANE, *args, check=False)
            text += "\nsixlane %s: %s%s" % (" ".join(args), done.stdout, done.stderr)
        report.sections.append(("sixlaned", text))


@pytest.fixture
def tables(net):
    """Main by b, table 100 by c, asked for UDP port 53."""
    net.r.route("add", COVER, "via", host_addr("b"))
    net.r.route("add", PREFIX, "via", host_addr("c"), "table 100")
    net.r.ip("rule add from 2001:db8:a::/64 ipproto udp dport 53 lookup 100 pref 1000")
    net.sync()
    return net
