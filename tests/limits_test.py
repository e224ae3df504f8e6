#!/usr/bin/env python3
"""Every bound of base/limits.h has a comment that names its source, and a test that speaks of it."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
lines = (root / "base/limits.h").read_text().splitlines()
tests = "\n".join(path.read_text(errors="replace") for folder in ("tests",) for path in (root / folder).rglob("*")
                  if path.suffix in (".cpp", ".h", ".py", ".sh"))
code = {path: path.read_text(errors="replace")
        for folder in ("base", "api", "cri", "pleg", "probes", "devices", "agent")
        for path in (root / folder).rglob("*") if path.suffix in (".cpp", ".h") and path.name != "limits.h"}

problems, count, comment = [], 0, []
for number, line in enumerate(lines, 1):
    if line.startswith("//"):
        comment.append(line)
        continue
    found = re.match(r"inline constexpr .*?\b(k\w+)\s*(=|\{)", line)
    if found:
        name = found.group(1)
        count += 1
        if not re.search(r"[Ss]ource|RFC|man |upstream|kubelet|kernel|design|ours|our own", " ".join(comment)):
            problems.append(f"base/limits.h:{number}: {name}: its comment names no source")
        if not re.search(rf"\b{name}\b", tests):
            problems.append(f"base/limits.h:{number}: {name}: no test under tests/ speaks of it")
        if not any(re.search(rf"\b{name}\b", text) for text in code.values()):
            problems.append(f"base/limits.h:{number}: {name}: nothing uses it")
    comment = [] if not line.strip() else comment  # neighbours share a comment

if count == 0:
    problems.append("base/limits.h: no constant found")
print("\n".join(problems) if problems else f"{count} bounds, each with a source, a user and a test")
sys.exit(1 if problems else 0)
