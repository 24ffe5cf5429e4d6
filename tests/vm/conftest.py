# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of tests with devices that not every kernel has. `net` is a LanNet with sixlane.

They use the modules of the end-to-end tests with other nets.
"""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / name) for name in ("vm", "e2e", "lab")]

from lans import LanNet, LanTwins, add_bond  # noqa: E402
from nics import NicNet  # noqa: E402

pytest_plugins = ["e2e_fixtures"]


@pytest.fixture
def idle(make):
    """The topology without sixlane."""
    return make(LanNet)


@pytest.fixture
def net(make):
    """The topology, with a program on each port and served by the daemon."""
    return make(LanNet).start("--poll-ms", "20")


@pytest.fixture
def twins(make):
    """net beside the kernel alone."""
    pair = make(LanTwins)
    pair.fast.start("--poll-ms", "20")
    return pair


@pytest.fixture
def make_bonded(make):
    """make_bonded(mode, …): a net with a bond, served by sixlane."""

    def build(mode, *options, **kwargs):
        net = make(LanNet)
        add_bond(net, mode, *options, **kwargs)
        return net.start_on("p0", "bond0")

    return build


@pytest.fixture(scope="module")
def nic_net(make_shared):
    """A router between two NICs, served by sixlane, for all of a file's tests."""
    net = make_shared(NicNet)
    net.in_order = sorted  # a NIC of several queues keeps the order of each flow only
    return net.start()
