"""Commands beside the engine: in their order, supervised, anew when a watched file changes, gone with the engine."""

import json
import os
import time

import pytest
from support.limits import limit
from support.waiting import wait_until

CONFIG = """
port: 0
workers:
  - name: iii-exec
    config:
      exec:
        - echo prepared >> ran
        - echo $$ > pid; echo works >> ran; exec sleep 1000
      watch: ["src/**/*.txt"]
"""


def lines(engine):
    ran = engine.folder / "ran"
    return ran.read_text().split() if ran.exists() else []


def pid(engine):
    return int((engine.folder / "pid").read_text())


def is_gone(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def test_commands_run_in_order_and_anew_when_a_file_changes(bus_engine):
    engine = bus_engine(CONFIG)
    (engine.folder / "src" / "deep").mkdir(parents=True)
    (engine.folder / "src" / "deep" / "a.txt").write_text("1")
    started = time.monotonic()
    engine.start()
    wait_until(lambda: lines(engine) == ["prepared", "works"], "both ran")
    first = pid(engine)
    count = iter(range(2, 1000))

    def anew():
        (engine.folder / "src" / "deep" / "a.txt").write_text("x" * next(count))
        return len(lines(engine)) >= 4

    wait_until(anew, "they began anew")
    assert time.monotonic() - started >= limit("kWatchInterval")
    wait_until(lambda: is_gone(first), "the one before has ended")
    wait_until(lambda: not is_gone(pid(engine)), "the new one runs")
    last = pid(engine)
    assert engine.stop() == 0
    wait_until(lambda: is_gone(last), "it ends with the engine")


def test_a_command_that_fails_is_started_again(bus_engine):
    engine = bus_engine("port: 0\nworkers: [{name: iii-exec, config: {exec: ['date +%s.%N >> ran; exit 1']}}]").start()
    wait_until(lambda: len(lines(engine)) >= 2, "it was tried again")
    first, second = map(float, lines(engine)[:2])
    assert second - first >= limit("kFirstRestart")
    assert "is started again" in engine.errors()


def test_commands_end_with_a_killed_engine(bus_engine):
    engine = bus_engine(CONFIG).start()
    wait_until(lambda: "works" in lines(engine), "it runs")
    number = pid(engine)
    engine.kill9()
    wait_until(lambda: is_gone(number), "it is gone too")


@pytest.mark.parametrize("config, words", [("{}", "one command at least"), ("{exec: [a], shell: b}", "unknown key 'shell'"),
                                           ("{exec: ['']}", "a command has")])
def test_mistakes_are_named(bus_engine, config, words):
    code, said = bus_engine(f"port: 0\nworkers: [{{name: iii-exec, config: {config}}}]").fails()
    assert code == 2 and words in said


@pytest.mark.parametrize("most, config", [
    (limit("kMaxCommands"), lambda count: {"exec": ["true"] * count}),
    (limit("kMaxCommandBytes"), lambda count: {"exec": [": ".ljust(count, "x")]}),
    (limit("kMaxPatterns"), lambda count: {"exec": ["true"], "watch": ["a"] * count})], ids=["commands", "bytes", "patterns"])
def test_commands_and_patterns_have_limits(bus_engine, most, config):
    def engine(count):
        return bus_engine(json.dumps({"port": 0, "workers": [{"name": "iii-exec", "config": config(count)}]}))
    assert engine(most).start().stop() == 0
    code, said = engine(most + 1).fails()
    assert code == 2 and str(most) in said
