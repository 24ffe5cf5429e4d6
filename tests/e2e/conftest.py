# SPDX-License-Identifier: GPL-2.0-only
"""Where the modules of the end-to-end tests are. Their fixtures: e2e_fixtures.py."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lab")]

pytest_plugins = ["e2e_fixtures"]
