"""Taking turns back, beginning anew, saying something again."""

from support import Chat
from support.scripts import HANG


def talk(chat, *texts):
    for text in texts:
        assert chat.say(text)["state"] == "completed"


def command(chat, content, **more):
    return chat.send(content, **more)["reply"]


def inputs(chat):
    return [turn["user_input"] for turn in chat.turns()]


def said_to(model):
    """User texts of the newest request, without the engine's context blocks."""
    return [message["content"].split("</context>\n\n")[-1]
            for message in model.bodies()[-1]["messages"] if message["role"] == "user"]


def replays(chat):
    report = chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).raise_for_status().json()
    return report["differences"] == []


def test_undo_and_redo(engine, chat, model):
    talk(chat, "one", "two", "three")
    with engine.events(thread_id=chat.thread) as events:
        assert command(chat, "/undo") == "Undone to turn 2. 2 undo(s) remaining."
        assert events.until("thread_changed")[-1].data["reason"] == "undone"
    assert inputs(chat) == ["one", "two"]
    assert command(chat, "/redo") == "Redone to turn 3."
    assert command(chat, "/redo") == "Nothing to redo."
    command(chat, "/undo")
    command(chat, "/undo")
    talk(chat, "four")
    assert said_to(model) == ["one", "four"]
    assert inputs(chat) == ["one", "four"]
    assert replays(chat)


def test_twenty_turns_can_be_undone(chat):
    talk(chat, *(str(n) for n in range(21)))
    for left in range(19, -1, -1):
        assert command(chat, "/undo") == f"Undone to turn {left + 1}. {left} undo(s) remaining."
    assert command(chat, "/undo") == "Nothing to undo."
    assert inputs(chat) == ["0"]


def test_clear(chat, model):
    talk(chat, "one", "two")
    assert command(chat, "/clear") == "Thread cleared."
    assert inputs(chat) == []
    assert command(chat, "/undo") == "Nothing to undo."
    talk(chat, "three")
    assert said_to(model) == ["three"]
    assert len([r for r in chat.log() if r["kind"] == "TurnStarted"]) == 3
    assert replays(chat)


def test_undo_survives_a_restart(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    talk(chat, "one", "two")
    command(chat, "/undo", idempotency_key="undo-1")
    own_engine.restart()
    assert inputs(chat) == ["one"]
    assert command(chat, "/undo", idempotency_key="undo-1") == "Done already."
    assert inputs(chat) == ["one"]
    assert command(chat, "/redo") == "Redone to turn 2."


def test_not_while_a_turn_runs(engine, chat, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    with engine.events(thread_id=chat.thread) as events:
        chat.send("hang please")
        events.until("stream_chunk")
        assert "a turn is in progress" in command(chat, "/undo")
        assert chat.api.post("/api/chat/retry", json={"thread_id": chat.thread}).status_code == 409
        assert command(chat, "/stop") == "Interrupted."
    assert command(chat, "/undo").startswith("Undone to turn 0.")


def test_compact_and_summarize(chat, model):
    talk(chat, *(f"{n} " + "x" * 800 for n in range(4)))
    model.set_script({"rules": [{"when": {"system_contains": "shorten conversations"}, "reply": {"text": "- four numbers"}}]})
    reply = command(chat, "/summarize")
    assert "2 turn(s) became a summary" in reply and "four numbers" in reply
    talk(chat, "more")
    messages = model.bodies()[-1]["messages"]
    assert any(m["role"] == "system" and "four numbers" in m["content"] for m in messages)
    assert "turn(s) removed" in command(chat, "/compact")
    assert len(inputs(chat)) == 5 and replays(chat)


def test_retry(chat, model):
    talk(chat, "one")
    model.set_script({"default": {"text": "better"}})
    body = {"thread_id": chat.thread, "idempotency_key": "retry-1"}
    answer = chat.api.post("/api/chat/retry", json=body)
    assert answer.status_code == 202, answer.text
    assert chat.wait(answer.json()["turn_id"])["reply"] == "better"
    assert chat.api.post("/api/chat/retry", json=body).json()["turn_id"] == answer.json()["turn_id"]
    assert [(turn["user_input"], turn["response"]) for turn in chat.turns()] == [("one", "better")]
    assert replays(chat)


def test_edit_and_resend(engine, chat, model):
    talk(chat, "one", "two", "three")
    body = {"thread_id": chat.thread, "turn_number": 1, "content": "zwei", "idempotency_key": "edit-1"}
    answer = engine.api.post("/api/chat/edit", json=body)
    assert answer.status_code == 202, answer.text
    chat.wait(answer.json()["turn_id"])
    assert said_to(model) == ["one", "zwei"]
    fork = engine.api.get("/api/chat/history", params={"thread_id": answer.json()["thread_id"]}).json()
    assert [turn["user_input"] for turn in fork["turns"]] == ["one", "zwei"]
    assert inputs(chat) == ["one", "two", "three"]
    assert engine.api.get("/api/chat/threads").json()["active_thread"] == fork["thread_id"]
    assert engine.api.post("/api/chat/edit", json=body).json()["thread_id"] == fork["thread_id"]
    assert engine.api.post("/api/chat/edit", json=body | {"turn_number": 7, "idempotency_key": "edit-2"}).status_code == 404
