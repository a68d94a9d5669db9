"""Rust programs among the tests, built on first use; what is compiled stays in the cache."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

WANTED = (1, 85)  # iii's crates are of the edition 2024; Debian's own Rust is older
TARGET = Path(os.environ.get("CHELA_CACHE", Path.home() / ".cache" / "chela")) / "example-workers"


def is_new_enough():
    if shutil.which("cargo") is None:
        return False
    said = subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"(\d+)\.(\d+)", said)
    return version is not None and tuple(map(int, version.groups())) >= WANTED


def build(folder, name):
    """The program `name` of the package in `folder`; skips the test where no Rust can build it."""
    if not is_new_enough():
        pytest.skip("needs Rust {}.{} or newer".format(*WANTED))
    built = subprocess.run(["cargo", "build", "--quiet", "--locked", "--target-dir", str(TARGET)], cwd=folder, capture_output=True,
                           text=True)
    assert built.returncode == 0, built.stderr
    return TARGET / "debug" / name
