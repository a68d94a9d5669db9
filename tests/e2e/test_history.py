"""History, the log behind it, replay and fork over the API."""

import pytest

from support import Chat
from support.scripts import call, tools_then

KINDS_OF_A_PLAIN_TURN = ["TurnStarted", "ModelRequested", "ModelAnswered", "TurnFinished"]


@pytest.fixture
def talked(chat, model):
    """A thread with a turn that used two tools and one that failed to get its approval."""
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23"), call("echo", message="hi")))
    chat.say("compute")
    model.set_script(tools_then("as you like", call("write_file", path="h.txt", content="x")))
    request = chat.say("write")["approval"]["request_id"]
    chat.decide(request, "deny")
    chat.wait_for_state("completed")
    return chat


def test_history_shows_tool_calls(talked):
    first, second = talked.turns()
    assert [each["turn_number"] for each in (first, second)] == [0, 1]
    calculator, echo = first["tool_calls"]
    assert (calculator["name"], calculator["arguments"]) == ("calculator", {"expression": "17*23"})
    assert calculator["has_result"] and not calculator["has_error"] and "391" in calculator["result_preview"]
    assert echo["name"] == "echo"
    assert second["tool_calls"][0]["has_error"] and "declined" in second["tool_calls"][0]["error"]


def test_history_pages_backwards(chat):
    for n in range(5):
        chat.say(f"message {n}")
    newest = chat.history(limit=2)
    assert [turn["user_input"] for turn in newest["turns"]] == ["message 3", "message 4"]
    assert newest["has_more"]
    older = chat.history(limit=2, before=newest["oldest_timestamp"])
    assert [turn["user_input"] for turn in older["turns"]] == ["message 1", "message 2"]
    oldest = chat.history(limit=2, before=older["oldest_timestamp"])
    assert [turn["user_input"] for turn in oldest["turns"]] == ["message 0"] and not oldest["has_more"]


@pytest.mark.parametrize("params, status", [
    ({"limit": 0}, 422), ({"limit": "many"}, 422), ({"limit": 10**20}, 422), ({"before": "yesterday"}, 400)])
def test_wrong_pages_are_refused(chat, params, status):
    answer = chat.api.get("/api/chat/history", params={"thread_id": chat.thread, **params})
    assert answer.status_code == status and answer.json()["error"]["message"]


def test_the_log_has_every_step(chat):
    chat.say("hello")
    records = chat.log()
    assert [each["kind"] for each in records] == KINDS_OF_A_PLAIN_TURN
    assert [each["seq"] for each in records] == [1, 2, 3, 4]
    after = chat.api.get(f"/api/threads/{chat.thread}/log", params={"after": 2, "limit": 1}).json()["records"]
    assert [each["seq"] for each in after] == [3]


def test_a_replay_finds_no_difference(talked):
    report = talked.api.post(f"/api/threads/{talked.thread}/replay", json={}).json()
    assert report["differences"] == []
    assert report["records"] == len(talked.log()) and report["requests"] == 4
    part = talked.api.post(f"/api/threads/{talked.thread}/replay", json={"until": 3}).json()
    assert part["records"] == 3 and part["differences"] == []


def test_a_fork_goes_on_from_a_record(talked, model):
    model.set_script({})
    end_of_first = [each["seq"] for each in talked.log() if each["kind"] == "TurnFinished"][0]
    forked = talked.api.post(f"/api/threads/{talked.thread}/fork", json={"at": end_of_first}).json()
    assert forked["id"] != talked.thread
    accepted = talked.api.post("/api/chat/send", json={"content": "another way", "thread_id": forked["id"]}).json()
    assert talked.wait(accepted["turn_id"])["reply"].endswith("another way")
    turns = talked.api.get("/api/chat/history", params={"thread_id": forked["id"]}).json()["turns"]
    assert [turn["user_input"] for turn in turns] == ["compute", "another way"]
    seen = [each["content"] for each in model.bodies()[-1]["messages"] if each["role"] == "user"]
    assert seen[0].endswith("compute") and len(seen) == 2
    # The first thread is as it was.
    assert [turn["user_input"] for turn in talked.turns()] == ["compute", "write"]
    assert talked.api.post(f"/api/threads/{forked['id']}/replay", json={}).json()["differences"] == []


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/api/threads/nonsense/log", None), ("POST", "/api/threads/nonsense/replay", {}),
    ("POST", "/api/threads/nonsense/fork", {"at": 1})])
def test_threads_of_nobody_are_404(engine, method, path, body):
    assert engine.api.request(method, path, json=body).status_code == 404


@pytest.mark.parametrize("at, status", [(0, 422), (-1, 422), ("x", 422), (10**9, 400)])
def test_a_fork_needs_a_record_that_exists(chat, at, status):
    chat.say("hello")
    answer = chat.api.post(f"/api/threads/{chat.thread}/fork", json={"at": at})
    assert answer.status_code == status, answer.text


def test_history_is_the_same_after_a_restart(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    model.set_script(tools_then("it is 42", call("calculator", expression="6*7")))
    chat.say("compute")
    before, log = chat.history(), chat.log()
    own_engine.restart()
    assert chat.history() == before and chat.log() == log
    own_engine.kill9()
    own_engine.start()
    assert chat.history() == before
    assert chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()["differences"] == []


def test_steps_are_in_the_order_they_came_about(engine, chat, model):
    model.set_script({"rules": [{"when": {"last_role": "tool"}, "reply": {"text": "It is 4."}},
                                {"when": {"last_role": "user"}, "reply": {"text": "Let me see.", "tool_calls": [
                                    {"id": "sum", "name": "calculator", "arguments": {"expression": "2+2"}}]}}]})
    chat.say("sum")
    history = chat.history()
    assert history["turns"][-1]["steps"] == [{"text": "Let me see."}, {"call": "sum"}]
    assert history["turns"][-1]["response"] == "It is 4."
    with engine.events(last_event_id=history["last_event_id"]) as events:
        chat.say("more")
        assert events.next().type == "turn_started"
