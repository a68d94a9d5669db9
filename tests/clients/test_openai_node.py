"""The official `openai` client of Node.js: the tests of node/, run once and reported one by one."""

import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.process import DIE_WITH_US

NODE = Path(__file__).parent / "node"
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SECONDS = 240
FILES = sorted(each.name for each in NODE.glob("*.test.mjs"))


def run(*command, **more):
    return subprocess.run([*map(str, command)], check=True, text=True, capture_output=True, timeout=SECONDS, **more)


@pytest.fixture(scope="module")
def node_environment():
    """Node of the pinned version on PATH, and the packages of node/package-lock.json beside the tests."""
    node = run(SCRIPTS / "node.sh").stdout.strip()
    environment = {**os.environ, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}
    done = NODE / "node_modules" / ".package-lock.json"  # npm writes it last
    if not done.exists() or done.stat().st_mtime < (NODE / "package-lock.json").stat().st_mtime:
        run("npm", "ci", "--ignore-scripts", cwd=NODE, env=environment)
    return environment


def outcomes(report):
    """Name -> "" or what went wrong, of every test of a JUnit report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        found[case.get("name")] = "" if wrong is None else (wrong.text or wrong.get("message") or "failed")
    return found


@pytest.mark.parametrize("file", FILES)
def test_the_node_client(engine, module_model, node_environment, tmp_path, file):
    report = tmp_path / "report.xml"
    environment = {**node_environment, "CHELA_ENGINE": engine.base_url, "CHELA_TOKEN": engine.token,
                   "CHELA_MODEL": f"http://127.0.0.1:{module_model.port}"}
    done = subprocess.run([*DIE_WITH_US, "node", "--test", "--test-concurrency=1", "--test-reporter=junit", f"--test-reporter-destination={report}",
                           file], cwd=NODE, env=environment, text=True, capture_output=True, timeout=SECONDS)
    assert report.exists(), done.stdout + done.stderr
    found = outcomes(report)
    wrong = [f"{name}: {what.strip()}" for name, what in found.items() if what]
    assert not wrong, "\n\n".join(wrong)
    # A file that ended early has told of fewer tests than it has.
    assert done.returncode == 0 and len(found) >= len(re.findall(r"^test\(", (NODE / file).read_text(), re.M)), done.stdout + done.stderr
