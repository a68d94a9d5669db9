"""Tests of Node's own runner, run once and reported as one."""

import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

from support.process import DIE_WITH_US, ROOT

FOLDER = ROOT / "tests" / "clients" / "node"
SCRIPTS = ROOT / "scripts"
SECONDS = 240


def run(*command, **more):
    return subprocess.run([*map(str, command)], check=True, text=True, capture_output=True, timeout=SECONDS, **more)


def environment():
    """Node of the pinned version on PATH, and the packages of package-lock.json beside the tests."""
    node = run(SCRIPTS / "node.sh").stdout.strip()
    made = {**os.environ, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}
    done = FOLDER / "node_modules" / ".package-lock.json"  # npm writes it last
    if not done.exists() or done.stat().st_mtime < (FOLDER / "package-lock.json").stat().st_mtime:
        run("npm", "ci", "--ignore-scripts", cwd=FOLDER, env=made)
    return made


def outcomes(report):
    """Name -> "" or what went wrong, of every test of a JUnit report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        found[case.get("name")] = "" if wrong is None else (wrong.text or wrong.get("message") or "failed")
    return found


def check(file, engine, model, node_environment, folder, **more):
    """Fails with what the tests of the file say."""
    report = Path(folder) / "report.xml"
    env = {**node_environment, "CHELA_ENGINE": engine.base_url, "CHELA_TOKEN": engine.token,
           "CHELA_MODEL": f"http://127.0.0.1:{model.port}", **more}
    done = subprocess.run([*DIE_WITH_US, "node", "--test", "--test-concurrency=1", "--test-reporter=junit",
                           f"--test-reporter-destination={report}", file],
                          cwd=FOLDER, env=env, text=True, capture_output=True, timeout=SECONDS)
    assert report.exists(), done.stdout + done.stderr
    found = outcomes(report)
    wrong = [f"{name}: {what.strip()}" for name, what in found.items() if what]
    assert not wrong, "\n\n".join(wrong)
    # A file that ended early has told of fewer tests than it has.
    written = len(re.findall(r"^test\(", (FOLDER / file).read_text(), re.M))
    assert done.returncode == 0 and len(found) >= written, done.stdout + done.stderr
