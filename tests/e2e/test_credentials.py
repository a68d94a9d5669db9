"""A turn that asks for a credential: its value goes to the vault and is seen nowhere else."""

from pathlib import Path

import pytest
from support import Chat
from support.scripts import tools_then, with_text

VALUE = "tok-9f8e7d6c5b4a-THE-SECRET-VALUE"
SCRIPT = tools_then("thank you", with_text("request_secret", {"name": "weather_key", "reason": "Get one at the weather office."}))


def asked(engine, model):
    model.set_script(SCRIPT)
    chat = Chat(engine)
    accepted = chat.send("the weather please")
    waiting = chat.wait(accepted["turn_id"])
    assert waiting["state"] == "awaiting_auth", waiting
    assert waiting["auth"] == {"extension_name": "weather_key", "instructions": "Get one at the weather office."}
    return chat, accepted["turn_id"]


def nowhere(engine, model):
    """The value is in no file of the home (the vault is sealed) and in no request."""
    for file in Path(engine.home).rglob("*"):
        if file.is_file():
            assert VALUE.encode() not in file.read_bytes(), file
    assert VALUE not in str(model.bodies())


def stored(engine):
    code, out, err = engine.cli("secret", "list", "--json")
    assert code == 0, err
    return "weather_key" in out


@pytest.fixture
def running(own_engine):
    return own_engine.start()


def test_the_next_message_is_the_credential(running, model):
    chat, turn = asked(running, model)
    assert chat.history()["pending_auth"]["extension_name"] == "weather_key"
    with running.events(thread_id=chat.thread) as events:
        assert chat.send(VALUE, idempotency_key="cred-1")["turn_id"] == turn
        seen = events.until("turn_finished")
    completed = next(event.data for event in seen if event.type == "auth_completed")
    assert completed["success"] and VALUE not in str([event.data for event in seen])
    assert chat.wait(turn)["reply"] == "thank you"
    assert "credential stored" in model.bodies()[-1]["messages"][-1]["content"]
    assert chat.send(VALUE, idempotency_key="cred-1")["duplicate"]
    assert "pending_auth" not in chat.history() and VALUE not in str(chat.history())
    assert stored(running)
    running.stop()
    nowhere(running, model)


def test_by_its_route_after_a_restart(running, model):
    chat, turn = asked(running, model)
    running.restart()
    assert chat.history()["pending_auth"]["extension_name"] == "weather_key"
    wrong = chat.api.post("/api/chat/auth-token", json={"extension_name": "other", "token": VALUE}).raise_for_status().json()
    assert wrong["success"] is False and VALUE not in str(wrong)
    answer = chat.api.post("/api/chat/auth-token", json={"extension_name": "weather_key", "token": VALUE})
    assert answer.json()["success"] is True
    assert chat.wait(turn)["reply"] == "thank you"
    assert stored(running)
    assert chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()["differences"] == []
    running.stop()
    nowhere(running, model)


def test_a_secret_of_the_person_is_replaced_only_when_they_approve(running, model):
    code, _, err = running.cli("secret", "set", "weather_key", stdin="the-key-of-the-person\n")
    assert code == 0, err
    model.set_script(SCRIPT)
    chat = Chat(running)
    turn = chat.send("the weather please")["turn_id"]
    waiting = chat.wait(turn)
    assert waiting["state"] == "awaiting_approval", waiting
    assert "weather_key" in waiting["approval"]["description"] and "REPLACED" in waiting["approval"]["description"]
    chat.send("no")
    assert chat.wait(turn)["reply"] == "thank you"
    assert "auth" not in chat.wait(turn) and VALUE not in str(model.bodies())


def test_cancelled(running, model):
    chat, turn = asked(running, model)
    assert chat.send("/ping")["reply"] == "pong!"
    assert chat.history()["pending_auth"]["extension_name"] == "weather_key", "looking declines nothing"
    answer = chat.api.post("/api/chat/auth-cancel", json={"extension_name": "weather_key"})
    assert answer.json()["success"] is True
    assert chat.wait(turn)["reply"] == "thank you"
    assert "cancelled" in model.bodies()[-1]["messages"][-1]["content"]
    assert not stored(running)


def test_over_v1_the_question_is_told_and_no_value_taken(running, model):
    model.set_script(SCRIPT)
    ask = [{"role": "user", "content": "the weather please"}]
    first = running.api.post("/v1/chat/completions", json={"model": "chela", "messages": ask}).raise_for_status().json()
    text = first["choices"][0]["message"]["content"]
    assert "weather_key" in text and first["choices"][0]["finish_reason"] == "stop"
    then = [*ask, {"role": "assistant", "content": text}, {"role": "user", "content": VALUE}]
    answer = running.api.post("/v1/chat/completions", json={"model": "chela", "messages": then})
    assert answer.status_code == 409, answer.text
    running.stop()
    nowhere(running, model)
