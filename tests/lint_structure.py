#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The structure of the C sources, for make lint: calls and includes form no circle, headers are short, and the packet
program is a list.

Usage: lint_structure.py BUILD   (a build folder with the objects of user/)
       lint_structure.py --self-test

Calls are read from the objects of user/ (nm): file A calls file B where A needs a symbol that B defines. Each program of
user/ has its own main.c, whose symbols nobody else may need.
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

REPO = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "bpf/sixlane.bpf.c"
MAX_HEADER_LINES = 200

Graph = dict[str, dict[str, set[str]]]  # file -> file that it needs -> the symbols that it needs there


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one file (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for needed in graph.get(node, {}):
            if needed not in index:
                visit(needed)
                low[node] = min(low[node], low[needed])
            elif needed in stack:
                low[node] = min(low[node], index[needed])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def complaints(graph: Graph, what: str) -> Iterator[str]:
    for circle in circles(graph):
        yield "a circle of %s: %s" % (what, " ".join(circle))
        for file in circle:
            for needed in sorted(set(graph[file]) & set(circle)):
                yield "  %s needs %s: %s" % (file, needed, " ".join(sorted(graph[file][needed])))


def symbols(nm: str) -> tuple[set[str], set[str]]:
    """What an object defines, and what it needs, of the output of `nm -P`."""
    defined, needed = set(), set()
    for line in nm.splitlines():
        name, kind = line.split()[:2]
        if kind == "U":
            needed.add(name)
        elif kind in "TDBRVWC":
            defined.add(name)
    return defined, needed


def calls(build: pathlib.Path) -> Graph:
    needs: dict[str, set[str]] = {}
    owner: dict[str, str] = {}
    for source in sorted(REPO.glob("user/**/*.c")):
        name = str(source.relative_to(REPO))
        built = build / "obj" / pathlib.Path(name).with_suffix(".o")
        if name.endswith(".bpf.c") or "/peer_" in name:
            continue
        nm = subprocess.run(["nm", "-P", built], check=True, capture_output=True, text=True).stdout
        defined, needs[name] = symbols(nm)
        owner.update({symbol: name for symbol in defined if symbol != "main"})
    return link(needs, owner)


def link(needs: dict[str, set[str]], owner: dict[str, str]) -> Graph:
    graph: Graph = {name: {} for name in needs}
    for name, needed in needs.items():
        for symbol in needed:
            if owner.get(symbol, name) != name:
                graph[name].setdefault(owner[symbol], set()).add(symbol)
    return graph


def headers() -> list[pathlib.Path]:
    names = subprocess.run(["git", "ls-files", "*.h"], cwd=REPO, check=True, capture_output=True, text=True)
    return [REPO / name for name in names.stdout.split()]


def includes(texts: dict[str, str]) -> Graph:
    """Of headers, by their paths in the project."""
    graph: Graph = {}
    for name, text in texts.items():
        graph[name] = {}
        for path in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
            needed = (REPO / name).parent / path
            graph[name][str(needed.resolve().relative_to(REPO))] = {"#include"}
    return graph


def program_complaints(text: str) -> Iterator[str]:
    """The packet program has no labels, so it cannot jump to one."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(?!default\b)\w+:(?!:)\s*($|/\*)", line) or re.search(r"\bgoto\b", line):
            yield "%s:%d: a label or a jump to one: %s" % (PROGRAM, number, line.strip())


def check(build: pathlib.Path) -> list[str]:
    texts = {str(path.relative_to(REPO)): path.read_text(encoding="utf-8") for path in headers()}
    wrong = list(complaints(calls(build), "calls")) + list(complaints(includes(texts), "includes"))
    for name, text in texts.items():
        if text.count("\n") > MAX_HEADER_LINES:
            wrong.append("%s: %d lines; a header has at most %d" % (name, text.count("\n"), MAX_HEADER_LINES))
    return wrong + list(program_complaints((REPO / PROGRAM).read_text(encoding="utf-8")))


def self_test() -> list[str]:
    needs = {"a.c": {"b", "c", "printf"}, "b.c": {"c", "own"}, "c.c": {"a"}, "d.c": {"a"}}
    graph = link(needs, {"a": "a.c", "b": "b.c", "own": "b.c", "c": "c.c"})
    jumps = "\tgoto ended;\nended:\n\tdefault:\n\tx = y ? a : b;\n\tverdict = a ?:\n"
    tests = [
        (circles(graph), [["a.c", "b.c", "c.c"]]),
        (list(complaints({"a.c": {"b.c": {"f"}}, "b.c": {"a.c": {"h", "g"}}}, "calls")),
         ["a circle of calls: a.c b.c", "  a.c needs b.c: f", "  b.c needs a.c: g h"]),
        (circles({"a.c": {"b.c": {"f"}}, "b.c": {}}), []),
        (symbols("f T 0 1\nstatic_f t 0 1\ng U\n"), ({"f"}, {"g"})),
        (circles(includes({"bpf/a.h": '#include "abi/b.h"\n', "bpf/abi/b.h": '#include "../a.h"\n'})),
         [["bpf/a.h", "bpf/abi/b.h"]]),
        (len(list(program_complaints(jumps))), 2),
    ]  # fmt: skip
    return ["self-test: %r instead of %r" % (got, want) for got, want in tests if got != want]


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print("usage: lint_structure.py BUILD | --self-test", file=sys.stderr)
        return 2
    wrong = self_test()
    if not wrong and argv[0] != "--self-test":
        wrong = check(pathlib.Path(argv[0]))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
