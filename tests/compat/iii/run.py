"""Runs the tests that iii's published packages ship against `chela engine`, each suite on an engine of its own.

usage: run.py SUITES REPORTS [SUITE...]    SUITES is what scripts/compat_iii.sh made; reports are JUnit files.
Ends with 1 when a suite failed or could not run. What the suites need of ports is theirs: 49199, 49135, 3199 and 3112.
The crates are built in the cache beside SUITES; where Rust is missing or too old they count as skipped.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import xml.sax.saxutils as text
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHELA = Path(os.environ.get("CHELA_BUILD", HERE.parents[2] / "build/release")).resolve() / "bin" / "chela"
START_SECONDS = 20
SUITE_SECONDS = 600
BUILD_SECONDS = 1800  # of a crate with nothing cached on a busy machine
NO_RUST = "needs cargo and rustc 1.85 or newer"

NODE_FILES = ("bridge", "healthcheck", "api-triggers", "state", "stream", "pubsub", "kv-server")
PYTHON_FILES = ("api_triggers", "bridge", "data_channels", "healthcheck", "middleware", "pubsub", "rbac_workers", "state", "streams")
RUST_FILES = ("api_triggers", "bridge", "data_channels", "healthcheck", "http_external_functions", "middleware", "pubsub",
              "rbac_workers", "state", "stream")
# By suite: the test files that need an engine. The others prove nothing about it.
SUITES = {
    "node-0.2.1": NODE_FILES,
    "node-0.3.0": NODE_FILES,
    "python-0.11.6": (*PYTHON_FILES, "queue_integration"),
    "python-0.22.1": (*PYTHON_FILES, "trigger_type_lifecycle"),
    "rust-0.11.6": (*RUST_FILES, "queue_integration"),
    "rust-0.22.1": (*RUST_FILES, "trigger_type_lifecycle"),
}

# How a suite is run: `environment` is added to ours; `stdout` is where the output goes, None for ours.
Plan = namedtuple("Plan", "folder command config environment stdout", defaults=({}, None))


class SuiteError(Exception):
    """The suite could not run."""


def answers(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


class Engine:
    """`chela engine` in a folder of its own."""

    def __init__(self, config, folder):
        shutil.copy(config, Path(folder) / "config.yaml")
        self.log = open(Path(folder) / "engine.log", "w+b")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CHELA_", "III_", "OTEL_"))}
        if answers(49199):
            raise SuiteError("something else listens on port 49199; end it first")
        self.process = subprocess.Popen([CHELA, "engine", "--config", "config.yaml"], cwd=folder, env=environment, stdout=self.log,
                                        stderr=subprocess.STDOUT)

    def __enter__(self):
        end = time.monotonic() + START_SECONDS
        while not (answers(49199) and answers(3199)):
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise SuiteError("chela engine did not start:\n" + self.said())
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-4000:]


def node(suites, name, files, report):
    version = name.removeprefix("node-")
    package = suites / "node_modules" / f"iii-sdk-{version}"
    command = [suites / "node", suites / "node_modules/vitest/vitest.mjs", "run", "--reporter=default", "--reporter=junit",
               f"--outputFile={report}", *(f"tests/{each}.test.ts" for each in files)]
    return Plan(suites / name, command, package / "tests/fixtures/config-test.yaml", {"SUITE_DIST": package / "dist"})


def python(suites, name, files, report):
    version = name.removeprefix("python-")
    command = [suites / name / "venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=",
               f"--junitxml={report}", *(f"tests/test_{each}.py" for each in files)]
    return Plan(suites / name / "sdk/packages/python/iii", command, HERE / "configs" / f"{version}.yaml")


def rust(suites, name, files, report):
    """Builds the tests, so that the engine does not wait for a compiler."""
    version = name.removeprefix("rust-")
    folder, cache = suites / name / "sdk/packages/rust/iii", suites.parent
    # One target folder for both versions, which share most of what they depend on. Nobody debugs it.
    environment = {"CARGO_HOME": cache / "cargo", "CARGO_TARGET_DIR": cache / "iii-crates", "CARGO_PROFILE_DEV_DEBUG": "0",
                   "CARGO_INCREMENTAL": "0"}
    command = ["cargo", "test", "--quiet", "--locked", "--no-fail-fast", *(f"--test={each}" for each in files)]
    print(f"==> {name}: building its tests", flush=True)
    built = subprocess.run([*command, "--no-run"], cwd=folder, env=merged(environment), timeout=BUILD_SECONDS)
    if built.returncode != 0:
        raise SuiteError("cargo could not build the tests")
    return Plan(folder, [*command, "--", "--format=pretty"], HERE / "configs" / f"{version}.yaml", environment, report.with_suffix(".log"))


def merged(environment):
    return os.environ | {k: str(v) for k, v in environment.items()}


def single_case(name, case, inner):
    return f'<testsuite name="{name}"><testcase name="{case}">{inner}</testcase></testsuite>'


def report_of_libtest(name, output):
    """What Rust's test programs print, as JUnit: one `test NAME ... ok` a line, each program closed by its sums."""
    cases = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", output, re.M)
    sums = re.findall(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", output, re.M)
    if not cases or len(cases) != sum(int(each) for row in sums for each in row):
        raise SuiteError("the output of cargo test is not understood")
    inner = {"ok": "", "FAILED": "<failure/>", "ignored": "<skipped/>"}
    lines = (f'<testcase name="{case}">{inner[result]}</testcase>' for case, result in cases)
    return f'<testsuite name="{name}">' + "".join(lines) + "</testsuite>"


def execute(plan):
    """Runs a suite and gives its exit status."""
    environment = merged(plan.environment | {"III_URL": "ws://127.0.0.1:49199", "III_BRIDGE_URL": "ws://127.0.0.1:49199",
                                             "III_HTTP_URL": "http://127.0.0.1:3199", "III_RBAC_WORKER_URL": "ws://127.0.0.1:49135"})
    command = [str(each) for each in plan.command]
    if plan.stdout is None:
        return subprocess.run(command, cwd=plan.folder, env=environment, timeout=SUITE_SECONDS).returncode
    with open(plan.stdout, "wb") as out:
        done = subprocess.run(command, cwd=plan.folder, env=environment, timeout=SUITE_SECONDS, stdout=out)
    print(plan.stdout.read_text(errors="replace"), flush=True)
    return done.returncode


def run_on_engine(plan, name, report, place):
    with Engine(plan.config, place) as engine:
        print(f"==> {name}", flush=True)
        status = execute(plan)
        if plan.stdout:
            report.write_text(report_of_libtest(name, plan.stdout.read_text(errors="replace")))
        if status == 0 and engine.process.poll() is None:
            return True
        print(f"{name} failed; the engine said:\n{engine.said()}", file=sys.stderr)
        return False


def run(suites, reports, name):
    report, kind = reports / f"{name}.xml", name.split("-")[0]
    if kind == "rust" and not (suites / name).is_dir():
        print(f"==> {name}: skipped, {NO_RUST}", flush=True)
        report.write_text(single_case(name, "the suite runs", f'<skipped message="{NO_RUST}"/>'))
        return True
    try:
        plan = {"node": node, "python": python, "rust": rust}[kind](suites, name, SUITES[name], report)
        with tempfile.TemporaryDirectory(prefix="chela-compat-") as place:
            return run_on_engine(plan, name, report, place)
    except (SuiteError, subprocess.TimeoutExpired) as error:
        print(f"{name}: {error}", file=sys.stderr)
        report.write_text(single_case(name, "the suite runs", f"<failure>{text.escape(str(error))}</failure>"))
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", type=Path)
    parser.add_argument("reports", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    results = [run(options.suites, options.reports.resolve(), name) for name in options.names or SUITES]
    sys.exit(0 if all(results) else 1)


main()
