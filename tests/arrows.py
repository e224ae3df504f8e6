#!/usr/bin/env python3
"""Reads every #include "folder/file.h" against cmake/arrows.txt: none may point where no arrow does, and the arrows
have no cycle. The linker alone does not notice, since static archives resolve both ways."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
arrows = {}
for number, line in enumerate((root / "cmake/arrows.txt").read_text().splitlines(), 1):
    if not line.strip() or line.startswith("#"):
        continue
    folder, _, used = line.partition(":")
    if folder in arrows:
        sys.exit(f"cmake/arrows.txt:{number}: {folder} has two lines; join them")
    arrows[folder] = used.split()

problems = []
for folder, used in arrows.items():
    for other in used:
        if other not in arrows:
            problems.append(f"cmake/arrows.txt: {folder} uses {other}, which has no line")

state = {}


def visit(folder, path):
    if state.get(folder) == "done":
        return
    if state.get(folder) == "open":
        problems.append("cycle: " + " -> ".join(path[path.index(folder):] + [folder]))
        return
    state[folder] = "open"
    for other in arrows.get(folder, []):
        visit(other, path + [folder])
    state[folder] = "done"


for name in arrows:
    visit(name, [])

# Headers of contracts (.pb.h) are no folders' headers: a library links the contracts that it names.
include = re.compile(r'^\s*#\s*include\s+"([^"]+)/[^"/]+(?<!\.pb\.h)"')
files = 0
for top in ("base", "api", "cri", "pleg", "probes", "devices", "agent"):
    for path in sorted((root / top).rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        files += 1
        folder = path.parent.relative_to(root).as_posix()
        if folder not in arrows:
            problems.append(f"{path.relative_to(root)}: cmake/arrows.txt has no line for {folder}")
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = include.match(line)
            if not match:
                continue
            target = match.group(1)
            if target == folder or target in arrows[folder]:
                continue
            problems.append(f"{path.relative_to(root)}:{number}: {folder} may not use {target} (cmake/arrows.txt)")

if problems:
    sys.exit("\n".join(problems))
print(f"{files} files follow {len(arrows)} folders' arrows; no cycle")
