# SPDX-License-Identifier: GPL-2.0-only
"""What is kept of a million peers: nothing but the thousand exceptions that there are."""

import os
import sys

from lab import REPO

sys.path.append(os.path.join(REPO, "tests", "bench"))

import flow as fl  # noqa: E402
import scale  # noqa: E402


def test_a_million_peers(capsys):
    """Prints the table. A part of the real routes is enough: what counts is beneath them."""
    with fl.Flow() as flow:
        found = scale.run(flow, fl.full_view()[:5000])
    assert found["exceptions"] == scale.SMALLER and found["peers"] > 1000000
    with capsys.disabled():
        # Beside others, a test's standard output goes nowhere.
        print("\n" + scale.table(found), file=sys.stderr)
    assert flow.lab.leftovers() == []
