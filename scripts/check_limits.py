#!/usr/bin/env python3
"""Checks the limits of src/**/limits.h: each is read by a source, and named by a test that reaches it (from Python: support.limits).

A comment names nothing. A name that several headers have means, in a folder, that of the nearest one; Python tests say which:
limit("kMaxMessages", "bus/queue"). What no test can reach stands in
OUT_OF_REACH with its reason.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = re.compile(r"^src/(\w+/)*limits\.h$")
DECLARED = re.compile(r"^inline constexpr [\w: ]+?\b(k[A-Z]\w*)\s*[={]", re.MULTILINE)
TESTS = re.compile(r"^src/.*(_test\.cc|_conformance\.h|_fixture\.h)$|^tests/.*\.py$|^fuzz/.*\.cc$")
IN_FOLDER = re.compile(r"""\blimit\("(k[A-Z]\w*)", "([\w/]+)"\)""")
SOURCES = re.compile(r"^src/.*\.(cc|h)$")
COMMENT = {".py": re.compile(r"(?<![\w\"'])#.*"), ".cc": re.compile(r"(?<![\w:\"])//.*"), ".h": re.compile(r"(?<![\w:\"])//.*")}

# name: why no test reaches it
OUT_OF_REACH = {
    "kSaveIntervalMs": "the default of a key that has no effect",
    "kPlainAnswerTokens": "a model takes minutes for an answer of so many tokens",
    "kVaultLockWait": "seconds of real time; the test of a lock that stays gives VaultFile a shorter one",
    "kLastRestart": "a command would have to fail for half a minute first",
    "kReadStallTimeout": "ten minutes; the tests of net::HttpServer give it a shorter one",
    "kInferPollInterval": "how often a start is looked at; nothing else depends on it",
    "kVaultLockPoll": "how often a lock is tried; nothing else depends on it",
}


def texts():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"], cwd=ROOT,
                         stdout=subprocess.PIPE, check=True)
    for name in out.stdout.decode().split("\0"):
        path = ROOT / name
        if path.suffix in COMMENT and path.is_file():
            yield name, COMMENT[path.suffix].sub("", path.read_text(encoding="utf-8"))


def nearest(headers, name):
    """Of the headers that declare a name, the one it means in a file: in its folder or the nearest above, else the shared one."""
    shared = "src/base/limits.h"
    above = [header for header in headers if header != shared and name.startswith(header.removesuffix("limits.h"))]
    if above:
        return max(above, key=len)
    return shared if shared in headers or len(headers) > 1 else headers[0]


def main():
    files = dict(texts())
    declared = {}
    for name in filter(HEADER.search, files):
        for constant in DECLARED.findall(files[name]):
            declared.setdefault(constant, []).append(name)
    read, tested, errors = set(), set(), []
    for name, text in files.items():
        if HEADER.search(name):
            continue
        into = tested if TESTS.search(name) else read if SOURCES.search(name) else set()
        for constant, folder in set(IN_FOLDER.findall(text)):
            into.add((f"src/{folder}/limits.h", constant))
        text = IN_FOLDER.sub("", text)
        into.update((nearest(declared[word], name), word) for word in set(re.findall(r"\bk[A-Z]\w*", text)) if word in declared)
    for constant, headers in declared.items():
        for header in headers:
            if (header, constant) not in read:
                errors.append(f"{header}: nothing reads {constant}")
            if (header, constant) not in tested and constant not in OUT_OF_REACH:
                errors.append(f"{header}: no test names {constant}; reach it in one (what is too large for a test is a parameter of its owner)")
    for constant in OUT_OF_REACH:
        if constant not in declared or any(word == constant for _, word in tested):
            errors.append(f"scripts/check_limits.py: {constant} is tested or gone; take it out of OUT_OF_REACH")
    if errors:
        print("\n".join(sorted(errors)), file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
