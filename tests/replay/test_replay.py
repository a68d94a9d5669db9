"""The traces of this folder, played by `chela replay-trace`: each holds, and each would fail if something else were expected.

After a change that is meant: `build/release/bin/chela replay-trace --rewrite tests/replay`, and look at what `git diff` says.
"""

import copy
import json
import subprocess
from pathlib import Path

import pytest

from support.process import BUILD, DIE_WITH_US, clean_environment
from support.waiting import DEADLINE

FOLDER = Path(__file__).resolve().parent
TRACES = {str(file.relative_to(FOLDER)): json.loads(file.read_text()) for file in sorted(FOLDER.rglob("*.json"))}
LEAST = 40
NOWHERE = "nothing holds this"

# Of each expectation, a value that does not hold where the present one does.
FALSE = {
    "response_contains": lambda value: [*value, NOWHERE],
    "response_not_contains": lambda value: [*value, ""],
    "response_matches": lambda value: NOWHERE,
    "tools_used": lambda value: [*value, "nothing"],
    "tools_failed": lambda value: [*value, "nothing"],
    "max_tool_calls": lambda value: value - 1 if value else None,
    "min_responses": lambda value: value + 1000,
    "tool_results_contain": lambda value: {**value, next(iter(value)): NOWHERE},
    "state": lambda value: "refused" if value != "refused" else "failed",
    "error_contains": lambda value: NOWHERE,
    "model_calls": lambda value: value + 1,
    "requests_contain": lambda value: [*value, NOWHERE],
    "requests_not_contain": lambda value: [*value, ""],
}


def replay(*args, home):
    """Gives the exit code, and the reports by file."""
    done = subprocess.run([*DIE_WITH_US, str(BUILD / "bin" / "chela"), "replay-trace", "--json", *map(str, args)],
                          env=clean_environment(HOME=home, TMPDIR=home), capture_output=True, text=True, timeout=10 * DEADLINE)
    assert done.stdout, done.stderr
    return done.returncode, {each["file"]: each for each in json.loads(done.stdout)["traces"]}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Every trace, in one run of the program."""
    code, reports = replay("--strict", FOLDER, home=tmp_path_factory.mktemp("replay"))
    return code, {str(Path(file).relative_to(FOLDER)): report for file, report in reports.items()}


@pytest.mark.parametrize("name", TRACES)
def test_it_holds(name, reports):
    report = reports[1][name]
    assert report.get("error") is None and report["failures"] == [], report


def test_there_are_enough_and_all_were_played(reports):
    code, by_name = reports
    assert code == 0 and by_name.keys() == TRACES.keys() and len(TRACES) >= LEAST


def all_falsified():
    for name, trace in TRACES.items():
        for place in [*range(len(trace["turns"])), None]:
            expects = (trace if place is None else trace["turns"][place]).get("expects", {})
            for key, value in expects.items():
                other = falsify(trace, place, key, value)
                if other is not None:
                    yield name, key, place, other


def falsify(trace, place, key, value):
    """The trace with this expectation turned around; None where there is nothing that would not hold."""
    other = copy.deepcopy(trace)
    expects = (other if place is None else other["turns"][place])["expects"]
    steps = [step for turn in other["turns"] for step in turn["steps"]] if place is None else other["turns"][place]["steps"]
    called = [call["name"] for step in steps for call in step["response"].get("tool_calls", [])]
    if key == "response_not_contains" and expects.get("state") == "interrupted":
        return None  # nothing was answered
    if key == "tools_not_used":
        # Whatever the turn or the one before it has asked for and is run here.
        expects[key] = sorted({*called} - {*value}) or ["echo"]
        return other if called and expects.get("state") != "awaiting_approval" else None
    if key == "all_tools_succeeded":
        for step in steps:
            for call in step["response"].get("tool_calls", []):
                call["arguments"] = {"no": "such argument"}
        return other if called else None
    expects[key] = FALSE[key](value)
    return None if expects[key] is None else other


def test_each_expectation_fails_when_it_does_not_hold(tmp_path):
    wanted, kinds = {}, set()
    for number, (name, key, place, trace) in enumerate(all_falsified()):
        file = tmp_path / "false" / f"{number:04}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(trace))
        wanted[str(file)] = name, key, "" if place is None else f"turns[{place}]"
        kinds.add(key)
    code, reports = replay(tmp_path / "false", home=tmp_path)
    assert code == 1
    for file, (name, key, where) in wanted.items():
        failures = reports[file].get("failures", [])
        assert any(each["expectation"] == key and each["where"] == where for each in failures), (name, key, where, reports[file])
    assert kinds == {*FALSE, "tools_not_used", "all_tools_succeeded"}


def test_rewritten_expectations_hold_and_true_ones_stay(tmp_path):
    name = "tools/file_write_read.json"
    good = (FOLDER / name).read_text()
    (tmp_path / "good.json").write_text(good)
    trace = json.loads(good)
    trace["comment"] = "stays"
    trace["turns"][0]["expects"] = {"response_contains": [NOWHERE], "tools_used": ["nothing"], "max_tool_calls": 0,
                                    "tool_results_contain": {"read_file": NOWHERE}, "state": "failed"}
    (tmp_path / "bad.json").write_text(json.dumps(trace))
    assert replay(tmp_path / "bad.json", home=tmp_path)[0] == 1
    code, _ = replay("--rewrite", tmp_path / "good.json", tmp_path / "bad.json", home=tmp_path)
    assert code == 0
    assert (tmp_path / "good.json").read_text() == good
    again = json.loads((tmp_path / "bad.json").read_text())
    assert again["comment"] == "stays"
    assert again["turns"][0]["expects"] == {"response_contains": ["It says one, two."], "tools_used": ["write_file", "read_file"],
                                            "max_tool_calls": 2, "tool_results_contain": {"read_file": "one\ntwo"}, "state": "completed"}
    assert replay("--strict", tmp_path / "bad.json", home=tmp_path)[0] == 0


def test_the_files_are_laid_out_as_the_program_writes_them(tmp_path):
    """So that a rewritten file differs where it was rewritten and nowhere else."""
    for name in TRACES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (FOLDER / name).read_text()
        (tmp_path / name).write_text(text)
    code, _ = replay("--rewrite", tmp_path, home=tmp_path)
    assert code == 0
    changed = [name for name in TRACES if (tmp_path / name).read_text() != (FOLDER / name).read_text()]
    assert changed == []
