#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The structure of the sources, for make lint: calls and includes of C form no circle, headers are short, the packet
program is a list, and what Python imports exists.

Usage: lint_structure.py BUILD   (a build folder with the objects of user/)
       lint_structure.py --self-test

Calls are read from the objects of user/ (nm): file A calls file B where A needs a symbol that B defines. Each program of
user/ has its own main.c, whose symbols nobody else may need.
"""
from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

REPO = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "bpf/sixlane.bpf.c"
MAX_HEADER_LINES = 200
# Python packages that tests/deps.sh installs, and one that only its oracle needs.
PACKAGES = {"numpy", "matplotlib", "pytest", "scapy", "nftables", "MLRsearch"}

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
    """Which file includes which headers of the project, by their paths."""
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


def bound(tree: ast.Module) -> set[str]:
    """The names that a module binds, wherever it does."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    aliases = [a for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names]
    return names | {a.asname or a.name for a in aliases}


def import_complaints(texts: dict[str, str]) -> Iterator[str]:
    """Modules that no file here is, and names that a module of ours does not have. texts: of all Python files."""
    trees = {name: ast.parse(text) for name, text in texts.items()}
    modules: dict[str, set[str]] = {}
    for name, tree in trees.items():
        modules.setdefault(pathlib.PurePath(name).stem, set()).update(bound(tree))
    known = sys.stdlib_module_names | PACKAGES | modules.keys() | {pathlib.PurePath(n).parent.name for n in texts}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                wanted = [node.module or ""]
                lacks = {a.name for a in node.names} - modules.get(wanted[0], set())
            elif isinstance(node, ast.Import):
                wanted, lacks = [a.name for a in node.names], set()
            else:
                continue
            for module in wanted:
                if module.partition(".")[0] not in known:
                    yield "%s:%d: no module %s" % (name, node.lineno, module)
                elif module in modules and module not in sys.stdlib_module_names:
                    yield from ("%s:%d: no %s in %s" % (name, node.lineno, lack, module) for lack in sorted(lacks))


def check(build: pathlib.Path) -> list[str]:
    texts = {str(path.relative_to(REPO)): path.read_text(encoding="utf-8") for path in headers()}
    wrong = list(complaints(calls(build), "calls")) + list(complaints(includes(texts), "includes"))
    for name, text in texts.items():
        if text.count("\n") > MAX_HEADER_LINES:
            wrong.append("%s: %d lines; a header has at most %d" % (name, text.count("\n"), MAX_HEADER_LINES))
    wrong += program_complaints((REPO / PROGRAM).read_text(encoding="utf-8"))
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=REPO, check=True, capture_output=True, text=True)
    return wrong + list(import_complaints({n: (REPO / n).read_text("utf-8") for n in listed.stdout.split()}))


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
        (list(import_complaints({"a.py": "import os, b, gone", "b.py": "from a import os\nfrom a import c"})),
         ["a.py:1: no module gone", "b.py:2: no c in a"]),
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
