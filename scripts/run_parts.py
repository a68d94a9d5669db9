#!/usr/bin/env python3
"""Runs parts of the test suites, sums up their reports and ends with one line: `N passed, N failed`.

usage: run_parts.py [--started SECONDS] test | check [part...] | ci

`ci` runs the parts of `test`, then those of `check` that fit into 75 minutes counted from --started (now, unless told),
those not run longest first, and says which it left out. Each part is `scripts/part.sh NAME` and leaves JUnit files, from
which the tests that really ran are counted. The exit status is 0 only if every part succeeded and at least one test ran.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("CHELA_CACHE", Path.home() / ".cache" / "chela"))
RECORDS = CACHE / "ci-parts"  # one file a part: when it last ended and how long it took
CI_SECONDS = 75 * 60
# What a part is expected to take before it was ever timed on this machine.
UNKNOWN_SECONDS = 12 * 60
# Parts that hold no single tests: asked for alone, their exit status is all there is.
WITHOUT_TESTS = {"lint", "fuzz"}
# A part is begun only when its last duration and this share of it on top still fit.
MARGIN = 1.15


def say(text):
    print(f"\033[1m==>\033[0m {text}" if sys.stdout.isatty() else f"==> {text}", flush=True)


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def count_cases(root):
    """Counts the test cases of one JUnit tree (GoogleTest's and pytest's dialects)."""
    counts = Counts()
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed += 1
        elif case.find("skipped") is not None or case.get("result") == "skipped" or case.get("status") == "notrun":
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def failed_programs(root):
    """The test programs that ctest saw fail."""
    return [case.get("name") for case in root.iter("testcase") if case.get("status") == "fail" or case.find("failure") is not None]


def collect(folder):
    """Sums up the reports of one part. A program that crashed left no report of its own: ctest's counts as one failure."""
    counts, seen_failures, crashed = Counts(), set(), []
    for report in sorted(folder.glob("*.xml")):
        try:
            root = xml.parse(report).getroot()
        except xml.ParseError:
            continue  # cut short by a crash; ctest reports the program
        if report.name == "ctest.xml":
            crashed = failed_programs(root)
            continue
        here = count_cases(root)
        if here.failed:
            seen_failures.add(report.stem.removesuffix("_test"))
        counts.add(here)
    counts.failed += sum(1 for name in crashed if name.removesuffix("_test") not in seen_failures)
    return counts


def list_parts(kind):
    out = subprocess.run([ROOT / "scripts/part.sh", "list", kind], stdout=subprocess.PIPE, text=True, check=True)
    return out.stdout.split()


def record_of(part):
    """(time of the last run, its seconds), or None when there is no usable record."""
    try:
        record = json.loads((RECORDS / part).read_text())
        return float(record["ended"]), float(record["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep_record(part, seconds):
    try:
        RECORDS.mkdir(parents=True, exist_ok=True)
        part_file = RECORDS / f".{part}.new"
        part_file.write_text(json.dumps({"ended": time.time(), "seconds": round(seconds, 1)}))
        part_file.replace(RECORDS / part)
    except OSError as error:
        say(f"note: the record of {part} could not be kept ({error})")


class Run:
    """The parts run so far and what came of them."""

    def __init__(self):
        self.counts, self.names, self.broken, self.cut = Counts(), set(), [], []

    def part(self, name, deadline=None):
        """Runs one part, at most until `deadline` (seconds since the epoch)."""
        results = ROOT / "build" / "results" / name
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        self.names.add(name)
        say(f"{name}: started")
        began = time.time()
        # A session of its own: what a cut-off part started ends with it.
        process = subprocess.Popen([ROOT / "scripts/part.sh", name], cwd=ROOT, env=os.environ | {"CHELA_RESULTS": str(results)},
                                   start_new_session=True)
        try:
            status = process.wait(None if deadline is None else max(1.0, deadline - began))
        except subprocess.TimeoutExpired:
            stop(process)
            # It goes to the end of the line, else it would take the time of all others again and again.
            keep_record(name, time.time() - began)
            say(f"{name}: cut off, no time left")
            self.cut.append(name)
            return
        except BaseException:
            stop(process)
            raise
        seconds = time.time() - began
        keep_record(name, seconds)
        counts = collect(results)
        if status != 0 and counts.failed == 0:
            counts.failed = 1  # a build, lint or fuzz failure has no test to count
        if status != 0:
            self.broken.append(name)
        self.counts.add(counts)
        say(f"{name}: {'ok' if status == 0 else 'FAILED'}, {counts} in {seconds / 60:.1f} min")

    def finish(self, left_out=()):
        if self.broken:
            say(f"failed parts: {' '.join(self.broken)} (again: ./dev check {' '.join(self.broken)})")
        if left_out or self.cut:
            say(f"left out: {' '.join([*left_out, *self.cut])}")
        if self.counts.skipped:
            say(f"{self.counts.skipped} tests were skipped")
        nothing_ran = self.counts.passed == 0 and not self.names <= WITHOUT_TESTS
        if nothing_ran and not self.broken:
            say("no test ran: that is a failure")
        print(f"{self.counts.passed} passed, {self.counts.failed} failed", flush=True)
        return 1 if self.broken or self.counts.failed or nothing_ran else 0


def stop(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def oldest_first(parts):
    """Never-run parts first, then by the time of their last run. Without any record, as on a machine that keeps no cache,
    the start moves on with every commit, so that each part still gets its turn."""
    known = {part: record_of(part) for part in parts}
    if not any(known.values()):
        commits = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True).stdout.strip()
        turn = int(commits or 0) % len(parts)
        return parts[turn:] + parts[:turn]
    return sorted(parts, key=lambda part: known[part][0] if known[part] else 0.0)


def run_ci(started):
    run, left_out, deadline = Run(), [], started + CI_SECONDS
    for part in list_parts("test"):
        run.part(part)
    for place, part in enumerate(oldest_first(list_parts("check"))):
        record = record_of(part)
        expected = MARGIN * record[1] if record else UNKNOWN_SECONDS
        # The first in line is tried in any case: a slow part must not be passed over for ever.
        if time.time() + (expected if place else 0) > deadline:
            left_out.append(part)
        else:
            run.part(part, deadline)
    return run.finish(left_out)


def run_named(parts):
    run = Run()
    for part in parts:
        run.part(part)
    return run.finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--started", type=float, default=time.time())
    parser.add_argument("what", choices=["test", "check", "ci"])
    parser.add_argument("part", nargs="*")
    args = parser.parse_args()
    if args.what == "ci":
        return run_ci(args.started)
    if args.part:
        unknown = set(args.part) - set(list_parts("test")) - set(list_parts("check"))
        if unknown:
            print(f"dev: unknown part {' '.join(sorted(unknown))}. Next step: parts are "
                  f"{' '.join(list_parts('test') + list_parts('check'))}", file=sys.stderr)
            return 2
    everything = list_parts("test") + (list_parts("check") if args.what == "check" else [])
    return run_named(args.part or everything)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
