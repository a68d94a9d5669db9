#!/usr/bin/env python3
"""Checks what reviewers should not have to: leftovers, machine paths and registry hosts in any text file, Python syntax;
and that the tests that docs/promises.md names are there.

Files over 500 lines are reported as a question, not as an error.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONG_FILE_LINES = 500
# Made by tools, or other people's words.
NOT_OURS = re.compile(r"(^|/)(Cargo\.lock|LICENSE|requirements\.txt|package-lock\.json)$|(^|/)testdata/|(^|/)corpus/")
TEXT = re.compile(r"\.(cc|h|py|sh|md|txt|cmake|json|toml|yaml|yml|sql|ts|js|css|html|in|tsv)$|^(dev|\.ci/run)$")

# (what, pattern, files it applies to)
RULES = [
    ("unfinished work belongs in an issue", re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"), TEXT),
    ("a host of a package registry", re.compile(r"\b(crates\.io|pypi\.org|pythonhosted\.org|npmjs\.(org|com)|ghcr\.io|docker\.io|proxy\.golang\.org)\b"), TEXT),
    ("a path of one machine", re.compile(r"(?<![\w.$}])/(root|work|home/[a-z]\w*)/"), TEXT),
    ("white space at the end of the line", re.compile(r"[ \t]+$"), TEXT),
    ("a tab", re.compile(r"\t"), re.compile(r"\.(cc|h|py|sh|cmake)$")),
    ("a picture character", re.compile("[\U0001F300-\U0001FAFF\u2600-\u27BF]"), re.compile(r"^(?!.*_test\.cc$|tests/|testing/|fuzz/).*\.(cc|h|md|sh|py)$")),
    ("#pragma once is missing", None, re.compile(r"\.h$")),
]


def repository_files():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"], cwd=ROOT,
                         stdout=subprocess.PIPE, check=True)
    return [name for name in out.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def promised_tests():
    """What docs/promises.md names and is not there: `file` Test, `file` Suite.* or Suite.Test, `folder/`, `pattern_*.h`."""
    page = "docs/promises.md"
    errors = []
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            continue
        for path, names in re.findall(r"`([\w./*-]+/[\w./*-]*)`((?:,? [A-Z]\w+(?:\.(?:\*|\w+))?)*)", line.split("|")[2]):
            files = [file for file in ROOT.glob(path.rstrip("/")) if file.exists()]
            if not files:
                errors.append(f"{page}:{number}: there is no {path}")
            text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
            for name in re.findall(r"[A-Z][\w.*]+", names):
                suite, _, test = name.rpartition(".")
                suite, test = suite or r"\w+", test.replace("*", r"\w+")
                if not re.search(rf"TEST\w*\(\s*{suite},\s*{test}\)", text):
                    errors.append(f"{page}:{number}: {path} has no test {name}")
    return errors


def main():
    errors, long_files = promised_tests(), []
    for name in repository_files():
        if NOT_OURS.search(name) or not TEXT.search(name):
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            errors.append(f"{name}: not UTF-8")
            continue
        lines = text.splitlines()
        if len(lines) > LONG_FILE_LINES and name.endswith((".cc", ".h", ".py", ".sh", ".ts")):
            long_files.append(f"{name} ({len(lines)})")
        for what, pattern, where in RULES:
            if not where.search(name):
                continue
            if pattern is None:
                if not re.search(r"^#pragma once$", text, re.MULTILINE):
                    errors.append(f"{name}: {what}")
                continue
            errors.extend(f"{name}:{number}: {what}" for number, line in enumerate(lines, 1) if pattern.search(line))
        if name.endswith(".py"):
            try:
                compile(text, name, "exec")
            except SyntaxError as error:
                errors.append(f"{name}:{error.lineno}: {error.msg}")
    if long_files:
        print(f"text: over {LONG_FILE_LINES} lines, could it be split? {', '.join(long_files)}", file=sys.stderr)
    if errors:
        print("\n".join(errors), file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
