"""Tool calls that wait for a person."""

import pytest

from support import Chat
from support.scripts import call, tools_then

DENIED = "The person declined this call"


@pytest.fixture
def workspace(engine):
    return engine.home / "workspace" / "default"


def ask_for(chat, model, name, content="hello"):
    """Brings a turn to the point where write_file waits; gives the request."""
    model.set_script(tools_then("all done", call("write_file", id=f"id-{name}", path=name, content=content)))
    outcome = chat.say("write it")
    assert outcome["state"] == "awaiting_approval"
    return outcome["approval"]


def result_of(model):
    """What the model was told of the last tool call."""
    return [each for each in model.bodies()[-1]["messages"] if each["role"] == "tool"][-1]["content"]


def test_the_question_says_what_is_wanted(engine, chat, model, workspace):
    with engine.events(thread_id=chat.thread) as events:
        approval = ask_for(chat, model, "asked.txt")
        event = events.until("approval_needed")[-1].data
    assert approval["tool_name"] == event["tool_name"] == "write_file"
    assert '"asked.txt"' in approval["parameters"] and approval["description"]
    assert event["request_id"] == approval["request_id"]
    history = chat.history()
    assert history["pending_approval"]["request_id"] == approval["request_id"]
    assert history["turns"][-1]["state"] == "awaiting_approval"
    assert engine.api.get("/api/chat/threads").json()["threads"][0]["state"] == "AwaitingApproval"
    assert not (workspace / "asked.txt").exists()
    chat.decide(approval["request_id"], "deny")


def test_approve_runs_the_call(engine, chat, model, workspace):
    request = ask_for(chat, model, "yes.txt")["request_id"]
    with engine.events(thread_id=chat.thread) as events:
        answer = chat.decide(request, "approve")
        assert answer.status_code == 202 and answer.json()["status"] == "accepted"
        seen = events.until("turn_finished")
    resolved = [each.data for each in seen if each.type == "approval_resolved"]
    assert [(each["request_id"], each["approved"]) for each in resolved] == [(request, True)]
    assert (workspace / "yes.txt").read_text() == "hello"
    assert chat.last()["response"] == "all done"
    assert "pending_approval" not in chat.history()


def test_nobody_approves_what_they_may_not_do(engine, chat, model, workspace):
    request = ask_for(chat, model, "theirs.txt")["request_id"]
    token = engine.api.post("/api/tokens", json={"permissions": ["chat:*", "tools:core"]}).json()["token"]
    with engine.client(token=token) as client:
        for action in ("approve", "always"):
            refused = client.post("/api/chat/approval", json={"request_id": request, "action": action})
            assert refused.status_code == 403 and "tools:files" in refused.json()["error"]["message"]
        assert client.post("/api/chat/send", json={"content": "yes", "thread_id": chat.thread}).status_code == 403
        assert chat.history()["pending_approval"]["request_id"] == request
        assert client.post("/api/chat/approval", json={"request_id": request, "action": "deny"}).status_code == 202
    assert chat.wait_for_state("completed")["response"] == "all done"
    assert not (workspace / "theirs.txt").exists()


def test_deny_tells_the_model_once(chat, model, workspace):
    request = ask_for(chat, model, "no.txt")["request_id"]
    assert chat.decide(request, "deny").status_code == 202
    assert chat.wait_for_state("completed")["response"] == "all done"
    assert not (workspace / "no.txt").exists()
    assert DENIED in result_of(model)
    assert len(model.requests()) == 2
    assert chat.last()["tool_calls"][0]["has_error"]


@pytest.mark.parametrize("word, written", [("yes", True), (" Y ", True), ("no", False), ("/deny", False)])
def test_plain_words_answer(chat, model, workspace, word, written):
    name = f"word-{written}-{len(word)}.txt"
    ask_for(chat, model, name)
    chat.send(word)
    chat.wait_for_state("completed")
    assert (workspace / name).exists() == written
    assert len(chat.turns()) == 1


def test_an_answered_request_cannot_be_answered_again(chat, model):
    request = ask_for(chat, model, "once.txt")["request_id"]
    assert chat.decide(request, "deny").status_code == 202
    chat.wait_for_state("completed")
    assert chat.decide(request, "approve").status_code in (404, 409)


@pytest.mark.parametrize("body", [{"request_id": "nonsense", "action": "approve"},
                                  {"request_id": "01890000-0000-7000-8000-000000000000", "action": "deny"}])
def test_an_unknown_request_is_404(engine, body):
    answer = engine.api.post("/api/chat/approval", json=body)
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("body", [{"request_id": "x", "action": "maybe"}, {"request_id": "x"}, {"action": "approve"}, {}])
def test_an_answer_that_is_none_is_refused(engine, body):
    assert engine.api.post("/api/chat/approval", json=body).status_code == 422


def test_two_calls_in_one_answer_are_asked_one_by_one(chat, model, workspace):
    model.set_script(tools_then("done", call("write_file", path="a.txt", content="a"),
                                call("echo", message="meanwhile"), call("write_file", path="b.txt", content="b")))
    first = chat.say("write both")["approval"]
    assert '"a.txt"' in first["parameters"]
    turn = chat.decide(first["request_id"], "deny").json()["turn_id"]
    second = chat.wait(turn)
    assert second["state"] == "awaiting_approval" and '"b.txt"' in second["approval"]["parameters"]
    chat.decide(second["approval"]["request_id"], "approve")
    chat.wait_for_state("completed")
    assert not (workspace / "a.txt").exists() and (workspace / "b.txt").read_text() == "b"
    results = [each for each in model.bodies()[-1]["messages"] if each["role"] == "tool"]
    assert DENIED in results[0]["content"] and "meanwhile" in results[1]["content"] and "Wrote" in results[2]["content"]


def test_a_pending_request_survives_restarts(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    request = ask_for(chat, model, "later.txt")["request_id"]
    own_engine.restart()
    assert chat.history()["pending_approval"]["request_id"] == request
    own_engine.kill9()
    own_engine.start()
    assert chat.history()["pending_approval"]["request_id"] == request
    assert chat.decide(request, "approve").status_code == 202
    chat.wait_for_state("completed")
    assert (own_engine.home / "workspace/default/later.txt").read_text() == "hello"
    assert [each["kind"] for each in chat.log()].count("Asked") == 1


def test_always_is_remembered_for_the_tool(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    request = ask_for(chat, model, "first.txt")["request_id"]
    assert chat.decide(request, "always").status_code == 202
    chat.wait_for_state("completed")
    for n in range(2):
        model.set_script(tools_then("done", call("write_file", path=f"again-{n}.txt", content="x")))
        assert Chat(own_engine).say("write again")["state"] == "completed"
        own_engine.restart()
    assert (own_engine.home / "workspace/default/again-1.txt").exists()
