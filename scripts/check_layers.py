#!/usr/bin/env python3
"""Checks #include lines of src/ against what is declared, so that headers cannot cheat.

1. A folder includes only itself and what its chela_library(...) call reaches through DEPS and SIDEWAYS; tests (*_test.cc,
   and the fixtures and conformance suites that several of them share) also what TEST_DEPS reaches. CMake already refuses declarations that point upward.
2. A third-party header is included only where the table of docs/dependencies.md allows it; one without a line there is an error.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TEST_FILE = re.compile(r"(_test|_fixture|conformance)\.(h|cc)$")
KEYWORDS = {"LAYER", "SOURCES", "DEPS", "SIDEWAYS", "LIBS", "PRIVATE_LIBS", "TEST_DEPS"}
# Headers of the system that need no line in the table.
SYSTEM_FOLDERS = ("sys/", "linux/", "netinet/", "arpa/", "net/if", "asm/", "bits/")
SYSTEM_HEADERS = {"dirent.h", "dlfcn.h", "errno.h", "fcntl.h", "grp.h", "ifaddrs.h", "limits.h", "netdb.h", "poll.h", "pthread.h",
                  "pty.h", "pwd.h", "sched.h", "signal.h", "spawn.h", "stdio.h", "stdlib.h", "string.h", "termios.h", "time.h",
                  "unistd.h", "ucontext.h", "cxxabi.h", "execinfo.h", "malloc.h"}
SANITIZER_HEADERS = "sanitizer/"


class Folder:
    """One chela_library(...) call."""

    def __init__(self, path, arguments):
        self.path = path  # relative to src/, as text
        self.deps = arguments["DEPS"] + arguments["SIDEWAYS"]
        self.test_deps = arguments["TEST_DEPS"]


def read_folders():
    folders = {}
    for file in sorted(SRC.rglob("CMakeLists.txt")):
        text = re.sub(r"#.*", "", file.read_text())
        call = re.search(r"chela_library\(\s*([^)]*)\)", text)
        if not call:
            continue
        name, *words = call.group(1).split()
        arguments, current = {keyword: [] for keyword in KEYWORDS}, None
        for word in words:
            if word in KEYWORDS:
                current = word
            elif current:
                arguments[current].append(word.replace("/", "_"))
        folders[name] = Folder(file.parent.relative_to(SRC).as_posix(), arguments)
    return folders


def reachable(folders, start):
    """Names of all folders that the given ones reach, themselves included."""
    seen, todo = set(), list(start)
    while todo:
        name = todo.pop()
        if name in seen or name not in folders:
            continue
        seen.add(name)
        todo.extend(folders[name].deps)
    return seen


def owner(by_path, path):
    """The name of the library that a path relative to src/ belongs to: its nearest folder that is one."""
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in by_path:
            return by_path["/".join(parts)]
        parts.pop()
    return None


def read_confinement():
    """Rows of the table in docs/dependencies.md: (header prefixes, folders); folder `everywhere` and `tests` have their plain meaning."""
    rows = []
    columns = None
    for line in (ROOT / "docs" / "dependencies.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = {name.lower(): number for number, name in enumerate(cells)}
        elif "headers" in columns and "only in" in columns and not set(cells[0]) <= set("-: "):
            headers = re.findall(r"`([^`]+)`", cells[columns["headers"]])
            where = re.findall(r"`([^`]+)`", cells[columns["only in"]]) or [cells[columns["only in"]]]
            rows.append((tuple(headers), tuple(where)))
    return rows


def is_system(header):
    return ("." not in header and "/" not in header) or header.startswith(SYSTEM_FOLDERS + (SANITIZER_HEADERS,)) or header in SYSTEM_HEADERS


def confinement_error(rows, path, header, is_test):
    """Why this file may not include the third-party header, or None."""
    matching = [where for headers, where in rows if any(header == h or header.startswith(h.rstrip("/") + "/") for h in headers)]
    if not matching:
        return f"<{header}> has no line in docs/dependencies.md"
    for where in matching:
        if "everywhere" in where or (is_test and "tests" in where) or any(path.startswith(w) for w in where):
            return None
    return f"<{header}> is confined to {', '.join(matching[0])} (docs/dependencies.md)"


def main():
    folders, rows, errors, count = read_folders(), read_confinement(), [], 0
    by_path = {folder.path: name for name, folder in folders.items()}
    for file in sorted([*SRC.rglob("*.h"), *SRC.rglob("*.cc")]):
        path = file.relative_to(SRC).as_posix()
        name, is_test = owner(by_path, path), TEST_FILE.search(path)
        if name is None:
            continue  # not part of a library yet, so it is not built either
        allowed = reachable(folders, [name] + (folders[name].test_deps if is_test else []))
        count += 1
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            quote, header = found.groups()
            problem = None
            if quote == "<":
                problem = None if is_system(header) else confinement_error(rows, path, header, is_test)
            elif header.startswith("testing/"):
                problem = None if is_test else "only tests include testing/"
            else:
                target = owner(by_path, header)
                if target is None:
                    problem = f'"{header}" names no folder of src/ (includes start there)'
                elif target not in allowed:
                    problem = f'"{header}": {name} does not declare {target} in its CMakeLists.txt'
            if problem:
                errors.append(f"src/{path}:{number}: {problem}")
    print("\n".join(errors) or f"layers: {count} files, all includes are declared", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
