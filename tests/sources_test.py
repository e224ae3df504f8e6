#!/usr/bin/env python3
"""Reads the source files for what the seam forbids: above the ports nothing reads a clock, draws randomness, starts a
thread or opens a socket of its own, so that the whole agent runs in virtual time; and nowhere is a shell called.

    sources_test.py [ROOT]     prints FILE:LINE: what, for each; exit code 1 when there is one
"""

import pathlib
import re
import sys

# The ports' real forms: base/ and the gRPC adapters.
PORTS = ("base/", "cri/grpc/", "devices/grpc/", "agent/volumes/csi/")
# Not the agent: the person's side is a process of its own, which may block; the fake runtime's server likewise.
OTHER_PROGRAMS = ("agent/cli/", "cri/fake/server/", "tests/")
PRODUCT = ("base/", "api/", "cri/", "pleg/", "probes/", "devices/", "agent/")

# (pattern, what is wrong, the folders where it may stand)
RULES = (
    (r"\b(system|steady|high_resolution|utc|tai|gps|file)_clock::now\b", "reads a clock: ask the Clock",
     PORTS + OTHER_PROGRAMS),
    (r"\b(clock_gettime|gettimeofday|timespec_get)\s*\(|\btime\s*\(\s*(nullptr|NULL|0)\s*\)",
     "reads a clock: ask the Clock", PORTS + OTHER_PROGRAMS),
    (r"\b(steady_timer|system_timer|high_resolution_timer|deadline_timer|basic_waitable_timer)\b",
     "an Asio timer: use the Clock's waits", PORTS + OTHER_PROGRAMS),
    (r"boost/asio/(ip|local|generic|posix|ssl|steady_timer|system_timer|read|write|connect)\b|"
     r"\basio::(ip|local|generic|posix|ssl)::", "an Asio socket or stream: use base/net", PORTS + OTHER_PROGRAMS),
    (r"\bstd::(jthread|thread|async)\b(?!::)|\bpthread_create\b", "starts a thread: use offload()",
     PORTS + OTHER_PROGRAMS),
    (r"\bthis_thread::|(?<![\w.>])(usleep|nanosleep|sleep)\s*\(", "blocks the loop",
     PORTS + OTHER_PROGRAMS),
    (r"\bstd::(random_device|mt19937(_64)?)\b|\b(getrandom|getentropy|rand|srand|drand48)\s*\(",
     "draws randomness: ask the Rng", PORTS + OTHER_PROGRAMS),
    (r"\bawaitable_operators\b|\basio::detached\b|\bco_spawn\s*\(",
     "flows start only through Scope::spawn", ("base/co/", "base/rpc/", "tests/")),
    (r"\b(fork|vfork|posix_spawnp?|clone3?|execv[pe]*|execl[pe]?|fexecve)\s*\(",
     "starts a process: use the Processes port", ("base/process/", "tests/")),
    (r"(?<![\w.>])(std::|::)?(system|popen|wordexp)\s*\(", "calls a shell", ()),
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|mktemp|tmpnam)\s*\(", "has no bound or is not safe", ()),
    (r"\bYAML::Load(File|All|AllFromFile)?\b", "the document reader of api/ has the limits", ()),
)

# (file, what a rule says of it): why the name is not what the rule is for. One that is needed no more is a fault too.
EXCEPTIONS = {
    ("agent/table/memory_vfs.cpp", "sleep(: blocks the loop"):
        "the name that SQLite gives to a member of its VFS; this one returns at once",
}

TEXT_RULES = ((r"\b(TODO|FIXME|XXX|HACK)\b", "an issue says it better"),)


def without_comments_and_strings(text):
    """The same text with comments and the insides of literals blanked; lines stay where they are."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

    def blank(found):
        whole = found.group(0)
        # An include's path is a string that the rules want to see.
        line_start = text.rfind("\n", 0, found.start()) + 1
        if whole[0] == '"' and text[line_start:found.start()].strip() == "#include":
            return whole
        return re.sub(r"[^\n]", " ", whole)

    # 1'000'000 is not a character literal.
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text)
    return pattern.sub(blank, text)


def problems_of(name, text, used=None):
    """What is wrong in a file; the exceptions that it needed are added to `used`."""
    found = []
    code = without_comments_and_strings(text)
    for pattern, wrong, allowed in RULES:
        if name.startswith(allowed) if allowed else False:
            continue
        for match in re.finditer(pattern, code):
            what = f"{match.group(0).strip()}: {wrong}"
            if (name, what) in EXCEPTIONS:
                if used is not None:
                    used.add((name, what))
                continue
            found.append((code.count("\n", 0, match.start()) + 1, what))
    for pattern, wrong in TEXT_RULES:
        for match in re.finditer(pattern, text):
            found.append((text.count("\n", 0, match.start()) + 1, f"{match.group(0)}: {wrong}"))
    return [f"{name}:{line}: {what}" for line, what in sorted(found)]


def self_check():
    """The rules find what they are for, and nothing in comments, literals and names that look alike."""
    bad = ("auto t = std::chrono::steady_clock::now();", "std::thread t(run);", 'std::system("ls");', 'popen("x", "r");',
           "#include <boost/asio/steady_timer.hpp>", "boost::asio::ip::tcp::socket s;", "co_spawn(a, b, c);",
           "pid_t p = fork();", "time(nullptr);", "std::mt19937 g;", "// TODO: later", "YAML::Load(text);")
    good = ("// std::thread is not used here", 'log("system(call)");', "filesystem(x);", "std::thread::id owner;",
            "clock.now();", "this->system(x);", "loop.spawn(co);", "auto big = 1'000; run_time(nullptr_t{});")
    for line in bad:
        assert problems_of("agent/sync/x.cpp", line), f"not found: {line}"
    for line in good:
        assert not problems_of("agent/sync/x.cpp", line), f"wrongly found: {line}"
    assert not problems_of("base/time/x.cpp", bad[0])
    for (name, what), why in EXCEPTIONS.items():
        line = f"static int {what.split('(')[0]}(int n) {{}}"
        assert why and not problems_of(name, line) and problems_of("agent/sync/x.cpp", line), what


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    self_check()
    found, files, used = [], 0, set()
    for folder in PRODUCT:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cc", ".c"):
                files += 1
                found += problems_of(str(path.relative_to(root)), path.read_text(errors="replace"), used)
    found += [f"tests/sources_test.py: {name}: the exception is not needed: {what}"
              for name, what in sorted(EXCEPTIONS.keys() - used)]
    print("\n".join(found) if found else f"{files} files: nothing that the seam forbids")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
