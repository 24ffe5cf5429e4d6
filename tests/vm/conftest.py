# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of tests with devices that not every kernel has. `net` is a LanNet with sixlane.

They use the modules of the end-to-end tests with other nets.
"""

import importlib.util
import os
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, name) for name in ("vm", "e2e", "lab")]

from bonds import add_bond  # noqa: E402
from lans import LanNet, LanTwins  # noqa: E402
from nics import NicNet  # noqa: E402


def _end_to_end():
    """tests/e2e/conftest.py, whose name is taken by this file."""
    path = os.path.join(TESTS, "e2e", "conftest.py")
    spec = importlib.util.spec_from_file_location("e2e_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


end_to_end = _end_to_end()
make_shared = end_to_end.make_shared
pytest_sessionstart = end_to_end.pytest_sessionstart
pytest_runtest_makereport = end_to_end.pytest_runtest_makereport
pytest_terminal_summary = end_to_end.pytest_terminal_summary
make = end_to_end.make
tear_down = end_to_end.tear_down


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
def nic_net():
    """A router between two NICs, served by sixlane, for all of a file's tests."""
    net = NicNet(hosts="ab")
    try:
        yield net.start()
    finally:
        end_to_end.tear_down([net])
