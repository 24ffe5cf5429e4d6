# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests here import modules of the harness directly."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "user" / "bench"), str(ROOT / "tests" / "lab")]
