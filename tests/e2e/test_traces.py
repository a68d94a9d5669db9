"""Conversations as traces: recorded while they go on, exported afterwards, and played again."""

import json

import pytest

from support import Chat
from support.engine import API_KEY
from support.limits import limit
from support.scripts import call, tools_then
from support.waiting import wait_until

ONE = {"model_name": "one", "turns": [{"user_input": "hello", "steps": [{"response": {"type": "text", "content": "Hi."}}],
                                       "expects": {"response_contains": ["hi"]}}]}


@pytest.fixture
def replay(engine, tmp_path):
    """Plays a trace strictly; gives exit code, stdout and stderr."""
    def play(trace, *args, name="trace.json"):
        file = tmp_path / name
        file.write_text(trace if isinstance(trace, str) else json.dumps(trace))
        return engine.cli("replay-trace", *args, file)
    return play


def exported(engine, thread):
    code, out, err = engine.cli("export-trace", thread)
    assert code == 0, err
    return out


def talk(chat, model):
    """A conversation with tools, approvals, a command and a failure."""
    model.set_script(tools_then("It said from afar.", call("echo", id="c1", message="from afar"), call("calculator", id="c2", expression="6*7")))
    assert chat.say("echo, please")["state"] == "completed"
    model.set_script(tools_then("Written.", call("write_file", id="c3", path="a.txt", content="x")))
    asked = chat.say("write it")
    assert chat.decide(asked["approval"]["request_id"], "approve").status_code < 300
    chat.wait_for_state("completed")
    asked = chat.say("and again")
    assert asked["state"] == "awaiting_approval"
    chat.say("no")
    chat.wait_for_state("completed")
    chat.send("/undo")
    model.set_script({"default": {"status": 401, "error": {"message": "another key, please"}}})
    assert chat.say("are you there?")["state"] == "failed"
    model.set_script({})
    chat.say("once more")


def test_a_thread_is_exported_and_holds_when_it_is_played(engine, chat, model, replay):
    talk(chat, model)
    text = exported(engine, chat.thread)
    trace = json.loads(text)
    assert [turn["user_input"] for turn in trace["turns"]] == ["echo, please", "write it", "yes", "and again", "no", "/undo", "are you there?", "once more"]
    assert trace["turns"][0]["expects"]["tools_used"] == ["echo", "calculator"]
    code, out, err = replay(text, "--strict")
    assert code == 0, out + err
    assert "8 turns" in out and "1 passed, 0 failed" in out
    assert engine.api.get(f"/api/threads/{chat.thread}/trace").json() == trace


def test_what_the_thread_had_found_goes_with_it(engine, chat, model, replay):
    workspace = engine.home / "workspace" / "default"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "found.txt").write_text("it was there\n")
    engine.api.post("/api/memory/write", json={"path": "kept.md", "content": "kept before"}).raise_for_status()
    model.set_script(tools_then("Both.", call("read_file", id="c1", path="found.txt"), call("memory_read", id="c2", path="kept.md")))
    chat.say("read both")
    trace = json.loads(exported(engine, chat.thread))
    assert trace["memory_snapshot"] == [{"path": "kept.md", "content": "kept before"}]
    assert [each["path"] for each in trace["files"]] == ["found.txt"]
    code, out, _ = replay(trace)
    assert code == 0, out


def test_a_forked_thread_brings_what_it_began_with(engine, chat, model, replay):
    model.set_script({})
    chat.say("first of all")
    chat.say("left behind")
    first = next(each["seq"] for each in chat.log() if each["kind"] == "TurnFinished")
    _, out, _ = engine.cli("fork", chat.thread, "--at", first)
    trace = json.loads(exported(engine, out.strip()))
    assert [turn["user_input"] for turn in trace["turns"]] == ["first of all"]
    assert replay(trace, "--strict")[0] == 0


def test_an_unknown_thread_is_none(engine):
    code, _, err = engine.cli("export-trace", "0199-nothing")
    assert code == 5 and "chela threads" in err


# --- Playing


def test_an_expectation_that_does_not_hold_is_named(replay):
    trace = {**ONE, "expects": {"tools_used": ["echo"]}}
    code, out, _ = replay(trace)
    assert code == 1 and "FAIL" in out and "tools_used: echo was not called; called were none" in out and "0 passed, 1 failed" in out
    code, out, _ = replay(trace, "--json")
    report = json.loads(out)["traces"][0]
    assert (code, report["failures"][0]["expectation"], report["turns"], report["model_calls"]) == (1, "tools_used", 1, 1)


@pytest.mark.parametrize("text, why", [("{", "JSON"), ("{}", "turns or steps"), ('{"turns": [{"user_input": "a", "steps": 1}]}', "turns[0].steps"),
                                       ('{"turns": [], "settings": {"log.file": "/x"}}', "settings.log.file"),
                                       ('{"turns": [], "settings": {"agent.busy": "sometimes"}}', "agent.busy"),
                                       ('{"turns": [], "files": [{"path": "../out", "content": ""}]}', "../out")])
def test_what_is_no_trace_is_told(replay, text, why):
    code, _, err = replay(text)
    assert code == 2 and why in err


def test_a_bad_file_does_not_hide_the_others(engine, tmp_path):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text(json.dumps(ONE))
    code, out, _ = engine.cli("replay-trace", tmp_path)
    assert code == 2 and "1 passed, 1 failed" in out
    code, _, err = engine.cli("replay-trace", tmp_path / "c")
    assert code == 2 and "cannot open" in err


def test_nothing_of_the_home_counts_or_changes(engine, chat, replay):
    """The engine runs meanwhile; settings, memory and threads of its home are not those of the replay."""
    before = engine.api.get("/api/chat/threads").json()
    trace = {"turns": [{"user_input": "/status", "steps": []}, *ONE["turns"]]}
    code, out, err = replay(trace)
    assert code == 0, out + err
    assert engine.api.get("/api/chat/threads").json() == before


def test_a_recorded_flat_trace_plays(replay):
    trace = {"model_name": "recorded-x", "memory_snapshot": [], "http_exchanges": [], "steps": [
        {"response": {"type": "user_input", "content": "hello"}},
        {"request_hint": {"last_user_message_contains": "hello", "min_message_count": 2},
         "response": {"type": "tool_calls", "tool_calls": [{"id": "c1", "name": "echo", "arguments": {"message": "a"}}], "input_tokens": 9, "output_tokens": 1}},
        {"response": {"type": "text", "content": "done", "input_tokens": 9, "output_tokens": 1},
         "expected_tool_results": [{"tool_call_id": "c1", "name": "echo", "content": "a"}]},
        {"response": {"type": "user_input", "content": "bye"}},
        {"response": {"type": "text", "content": "Bye.", "input_tokens": 9, "output_tokens": 1}}],
        "expects": {"tools_used": ["echo"], "min_responses": 2, "response_contains": ["done", "bye"]}}
    code, out, err = replay(trace, "--strict")
    assert code == 0, out + err
    assert "2 turns, 3 model calls, 1 tool calls" in out


# --- Recording


def recorded(engine, thread):
    """The trace of a thread as it is recorded, once it has so many turns."""
    file = engine.home / "traces" / f"{thread}.json"
    return json.loads(file.read_text()) if file.is_file() else {"turns": []}


def wait_recorded(engine, thread, turns):
    return wait_until(lambda: (trace := recorded(engine, thread)) and len(trace["turns"]) == turns and trace, f"{turns} turns are recorded")


def test_recording_is_switched_on_and_off_while_the_engine_runs(own_engine, model, tmp_path):
    own_engine.start()
    chat = Chat(own_engine)
    chat.say("before")
    assert own_engine.cli("record")[0] == 0
    assert "traces.record = true" in own_engine.cli("record", "status")[1]
    chat.say("meanwhile")
    trace = wait_recorded(own_engine, chat.thread, 2)
    file = own_engine.home / "traces" / f"{chat.thread}.json"
    assert file.stat().st_mode & 0o777 == 0o600 and trace["model_name"] == "recorded-scripted"
    assert own_engine.cli("record", "off")[0] == 0
    chat.say("afterwards")
    assert own_engine.stop() == 0
    assert len(recorded(own_engine, chat.thread)["turns"]) == 2
    code, out, err = own_engine.cli("replay-trace", "--strict", file)
    assert code == 0, out + err


def test_secrets_are_in_no_trace(own_engine, model):
    own_engine.start()
    own_engine.cli("record", "on")
    assert own_engine.cli("secret", "set", "boat", stdin="swordfish-0815")[0] == 0
    chat = Chat(own_engine)
    model.set_script(tools_then(f"The keys are {API_KEY} and swordfish-0815.", call("echo", id="c1", message=f"{API_KEY} swordfish-0815")))
    own_engine.api.get("/api/vault")
    chat.say(f"use {API_KEY} and swordfish-0815")
    wait_recorded(own_engine, chat.thread, 1)
    file = own_engine.home / "traces" / f"{chat.thread}.json"
    for text in (file.read_text(), exported(own_engine, chat.thread)):
        assert API_KEY not in text and "swordfish" not in text and "[redacted]" in text
    assert own_engine.cli("replay-trace", file)[0] == 0


def test_ironclaws_names_switch_it_on(own_engine, model, tmp_path):
    """Whatever the switch holds; one file for the whole process."""
    file = tmp_path / "trace.json"
    own_engine.env.update(IRONCLAW_RECORD_TRACE="please", IRONCLAW_TRACE_OUTPUT=str(file), IRONCLAW_TRACE_MODEL_NAME="mine")
    own_engine.start()
    first, second = Chat(own_engine), Chat(own_engine)
    first.say("one")
    second.say("two")
    first.say("three")
    own_engine.stop()
    trace = json.loads(file.read_text())
    assert trace["model_name"] == "mine"
    assert [turn["user_input"] for turn in trace["turns"]] == ["one", "three", "/new", "two"]
    assert own_engine.cli("replay-trace", "--strict", file)[0] == 0
    assert not (own_engine.home / "traces").exists()


def test_one_message_is_recorded_too(own_engine, model):
    """The process ends with its turn, and not before the trace is written."""
    own_engine.env.update(IRONCLAW_RECORD_TRACE="1")
    code, out, err = own_engine.cli("run", "-m", "hello")
    assert code == 0, err
    files = list((own_engine.home / "traces").glob("*.json"))
    assert len(files) == 1 and json.loads(files[0].read_text())["turns"][0]["user_input"] == "hello"


def test_a_full_folder_is_told_in_the_log(own_engine, model):
    folder = own_engine.home / "traces"
    folder.mkdir(parents=True)
    for number in range(limit("kMaxRecordedTraces")):
        (folder / f"{number}.json").touch()
    own_engine.env.update(IRONCLAW_RECORD_TRACE="1")
    own_engine.start()
    chat = Chat(own_engine)
    chat.say("hello")
    wait_until(lambda: "more threads recorded" in own_engine.log_text(), "the log says so")
    (folder / "0.json").unlink()
    chat.say("again")
    wait_recorded(own_engine, chat.thread, 2)


def test_one_file_holds_so_many_threads(own_engine, model, tmp_path):
    file = tmp_path / "trace.json"
    own_engine.env.update(IRONCLAW_RECORD_TRACE="1", IRONCLAW_TRACE_OUTPUT=str(file))
    own_engine.start()
    for number in range(limit("kMaxThreadsOfOneTrace") + 1):
        Chat(own_engine).say(f"number {number}")
    wait_until(lambda: "threads at most" in own_engine.log_text(), "the log says so")
    assert own_engine.stop() == 0
    inputs = [turn["user_input"] for turn in json.loads(file.read_text())["turns"]]
    assert inputs.count("/new") == limit("kMaxThreadsOfOneTrace") - 1
