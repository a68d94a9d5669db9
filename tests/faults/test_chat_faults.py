"""Faults of the model as the chat API shows them: the right events, the right history, and the thread goes on."""

import pytest

from support import Chat, Engine, ScriptedModel
from support.faults import AFTER_TEXT, BEFORE_TEXT, TEXT
from support.scripts import call, tools_then, with_text


def assert_goes_on(chat, model):
    """The thread takes the next message; what failed is still in its history."""
    before = chat.turns()
    model.set_script({})
    assert chat.say("are you there?")["reply"].endswith("are you there?")
    assert chat.turns()[:len(before)] == before
    assert chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()["differences"] == []


@pytest.mark.parametrize("fault", BEFORE_TEXT)
def test_before_any_text(engine, chat, model, fault):
    reply, _, _, code = BEFORE_TEXT[fault]
    model.set_script({"default": reply})
    with engine.events(thread_id=chat.thread) as events:
        accepted = chat.send("hello")
        seen = events.until("turn_finished")
    assert [each.type for each in seen] == ["turn_started", "thinking", "error", "turn_finished"]
    assert seen[2].data["code"] == code and seen[2].data["message"]
    assert seen[3].data["state"] == "failed" and seen[3].data["error"]["code"] == code
    outcome = chat.wait(accepted["turn_id"])
    assert outcome["state"] == "failed" and outcome["error"]["code"] == code
    turn = chat.last()
    assert (turn["state"], turn["response"], turn["error"]) == ("failed", None, seen[2].data["message"])
    assert_goes_on(chat, model)


@pytest.mark.parametrize("fault", AFTER_TEXT)
def test_after_some_text(engine, chat, model, fault):
    reply, code = AFTER_TEXT[fault]
    model.set_script({"default": reply})
    with engine.events(thread_id=chat.thread) as events:
        chat.send("hello")
        seen = events.until("turn_finished")
    text = "".join(each.data["content"] for each in seen if each.type == "stream_chunk")
    assert text and TEXT.startswith(text.strip())
    assert seen[-1].data["error"]["code"] == code
    assert chat.last()["state"] == "failed"
    assert_goes_on(chat, model)


@pytest.mark.parametrize("fault", ["cut", "500", "garbage", "429"])
def test_after_a_tool_has_run(engine, chat, model, fault):
    model.set_script({"replies": [{"tool_calls": [call("memory_write", target="notes/fault.md", content=f"kept {fault}")]}],
                      "default": BEFORE_TEXT[fault][0]})
    assert chat.say("remember")["state"] == "failed"
    assert [each["has_error"] for each in chat.last()["tool_calls"]] == [False]
    note = engine.api.get("/api/memory/read", params={"path": "notes/fault.md"}).json()["content"]
    assert note.count(f"kept {fault}") == 1
    # The next turn shows the model what was done.
    assert_goes_on(chat, model)
    assert any(each["role"] == "tool" for each in model.bodies()[-1]["messages"])


def test_two_at_the_same_time_do_not_share_their_fault(engine, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "break"}, "reply": {"text": TEXT, "cut_after": 2}}]})
    broken, whole = Chat(engine), Chat(engine)
    first, second = broken.send("break please"), whole.send("hello")
    assert broken.wait(first["turn_id"])["state"] == "failed"
    assert whole.wait(second["turn_id"])["state"] == "completed"


@pytest.mark.parametrize("arguments", ["", "{", "[1, 2]", '"text"', "null", '{"message": "a"', '{"message": 1}', "{'message': 'a'}",
                                       '{"message": "a"} trailing', '{"message": "' + "a" * 200_000 + '"}', '{"a":' * 200 + "1" + "}" * 200])
def test_arguments_of_any_kind_lead_to_an_answer(chat, model, arguments):
    model.set_script(tools_then("never mind", with_text("echo", arguments)))
    assert chat.say("go")["reply"] == "never mind"
    assert len(chat.last()["tool_calls"]) == 1
    assert_goes_on(chat, model)


@pytest.mark.parametrize("name", ["no_such_tool", "", "weird name!", "../../etc/passwd", "x" * 5000, "écho"])
def test_tools_that_are_none_lead_to_an_answer(chat, model, name):
    model.set_script(tools_then("never mind", call(name, id="c1")))
    outcome = chat.say("go")
    assert outcome["state"] in ("completed", "failed")
    if outcome["state"] == "completed":
        assert chat.last()["tool_calls"][0]["has_error"]
        told = [each for each in model.bodies()[-1]["messages"] if each["role"] == "tool"][0]
        assert "no tool named" in told["content"]
    assert_goes_on(chat, model)


def test_a_loop_of_calls_ends(chat, model):
    model.set_script({"default": {"tool_calls": [call("echo", message="again")]}})
    outcome = chat.say("go")
    assert outcome["state"] == "failed" and outcome["error"]["code"] == "upstream"
    assert len(model.requests()) == 4  # three equal results, then the answer without tools
    assert_goes_on(chat, model)


def test_an_answer_without_content_is_a_failure(chat, model):
    model.set_script({"default": {"text": ""}})
    outcome = chat.say("go")
    assert outcome["state"] == "failed" and "empty answer" in outcome["error"]["message"]
    assert_goes_on(chat, model)


def test_a_model_that_is_not_there(tmp_path, engine):
    with Engine(tmp_path / "home", env={"CHELA_LLM_MAX_RETRIES": "0"}, model_port=9) as lonely:
        chat = Chat(lonely)
        outcome = chat.say("hello")
        assert outcome["state"] == "failed" and outcome["error"]["code"] == "unavailable"
        for model_id in ("chela", "anything"):
            answer = lonely.api.post("/v1/chat/completions", json={"model": model_id, "messages": [{"role": "user", "content": "hi"}]})
            assert answer.status_code == 503 and answer.json()["error"]["code"] == "unavailable"
        names = [each["id"] for each in lonely.api.get("/v1/models").json()["data"]]
        assert names == ["chela", "chela/default", "scripted"]
        assert lonely.api.get("/readyz").status_code == 200


def test_a_model_that_comes_back(tmp_path, engine):
    first = ScriptedModel()
    with Engine(tmp_path / "home", env={"CHELA_LLM_MAX_RETRIES": "0"}, model_port=first.port) as other:
        chat = Chat(other)
        assert chat.say("one")["state"] == "completed"
        first.stop()
        assert chat.say("two")["state"] == "failed"
        with ScriptedModel(port=first.port):
            assert chat.say("three")["state"] == "completed"
        assert [turn["state"] for turn in chat.turns()] == ["completed", "failed", "completed"]
