"""/api/chat/send and what becomes of a message."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from support import Chat, wait_until
from support.scripts import HANG, call

MAX_MESSAGE_BYTES = 100_000


def test_a_message_is_accepted_and_answered(chat):
    accepted = chat.send("hello there")
    assert accepted["status"] == "accepted" and accepted["thread_id"] == chat.thread
    assert accepted["message_id"] != accepted["turn_id"]

    outcome = chat.wait(accepted["turn_id"])
    assert outcome["state"] == "completed"
    assert outcome["reply"].endswith("hello there")
    assert outcome["usage"]["input_tokens"] > 0

    turn = chat.last()
    assert turn["turn_id"] == accepted["turn_id"]
    assert (turn["user_input"], turn["state"]) == ("hello there", "completed")
    assert turn["response"] == outcome["reply"]
    assert turn["started_at"].endswith("Z") and turn["completed_at"] >= turn["started_at"]


def test_first_messages_at_once_come_to_one_thread(own_engine):
    own_engine.start()

    def send(n):
        return own_engine.api.post("/api/chat/send", json={"content": f"message {n}"})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["thread_id"] for answer in answers}) == 1


def test_the_model_sees_the_whole_thread(chat, model):
    chat.say("first")
    chat.say("second")
    roles = [each["role"] for each in model.bodies()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    contents = [each["content"] for each in model.bodies()[-1]["messages"]]
    assert contents[1].endswith("first") and contents[3].endswith("second")


@pytest.mark.parametrize("content, status", [("", 422), ("   \n", 400), ("zero \0 byte", 400), (None, 422), (5, 422)])
def test_messages_without_use_are_refused(chat, content, status):
    answer = chat.api.post("/api/chat/send", json={"content": content, "thread_id": chat.thread})
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] in ("invalid_argument", "unprocessable") and error["message"]
    assert chat.turns() == []


def test_the_largest_message_passes_and_one_byte_more_does_not(chat):
    assert chat.say("x" * MAX_MESSAGE_BYTES)["state"] == "completed"
    answer = chat.api.post("/api/chat/send", json={"content": "x" * (MAX_MESSAGE_BYTES + 1), "thread_id": chat.thread})
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
    assert len(chat.turns()) == 1


def test_unicode_survives(chat):
    text = "Grüße, 世界 — 👩‍👩‍👧 \u202eabc"
    assert chat.say(text)["reply"].endswith(text)
    assert chat.last()["user_input"] == text


@pytest.mark.parametrize("thread", ["nonsense", "01890000-0000-7000-8000-000000000000"])
def test_an_unknown_thread_is_404(engine, model, thread):
    answer = engine.api.post("/api/chat/send", json={"content": "hello", "thread_id": thread})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
    assert engine.api.get("/api/chat/history", params={"thread_id": thread}).status_code == 404
    assert model.requests() == []


def test_without_a_thread_the_active_one_is_used(engine, model):
    newest = engine.api.post("/api/chat/thread/new", json={}).json()["id"]
    accepted = engine.api.post("/api/chat/send", json={"content": "hello"}).json()
    assert accepted["thread_id"] == newest
    assert engine.api.get("/api/chat/threads").json()["active_thread"] == newest
    assert engine.api.get("/api/chat/history").json()["thread_id"] == newest


def test_an_unknown_agent_is_404(engine, model):
    assert engine.api.post("/api/chat/thread/new", json={"agent": "nobody"}).status_code == 404


def test_the_same_key_starts_no_second_turn(chat, model):
    first = chat.send("do it once", idempotency_key="key-1")
    chat.wait(first["turn_id"])
    again = chat.send("do it once", idempotency_key="key-1")
    assert again["message_id"] == first["message_id"] and again["duplicate"]
    assert len(chat.turns()) == 1 and len(model.requests()) == 1


def test_the_same_key_at_the_same_time_starts_one_turn(chat, model):
    with ThreadPoolExecutor(8) as pool:
        accepted = list(pool.map(lambda _: chat.send("once", idempotency_key="key-2"), range(8)))
    assert len({each["message_id"] for each in accepted}) == 1
    chat.wait_for_state("completed")
    assert len(chat.turns()) == 1 and len(model.requests()) == 1


def test_a_message_to_a_busy_thread_joins_the_running_turn(chat, model):
    # The model asks for an approval, so that the turn surely runs while the second message comes.
    model.set_script({"replies": [{"tool_calls": [call("write_file", path="steer.txt", content="x")]}, {"text": "done"}]})
    first = chat.send("write something")
    assert chat.wait(first["turn_id"])["state"] == "awaiting_approval"
    joined = chat.send("and make it short")
    assert joined["turn_id"] == first["turn_id"]
    pending = chat.history()["pending_approval"]
    assert chat.decide(pending["request_id"], "approve").status_code == 202
    turn = chat.wait_for_state("completed")
    assert turn["steered"] == ["and make it short"]
    assert len(chat.turns()) == 1
    last = model.bodies()[-1]["messages"]
    assert any(each["role"] == "user" and each["content"].endswith("and make it short") for each in last)


def test_turns_of_different_threads_run_side_by_side(engine, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    stuck, free = Chat(engine), Chat(engine)
    stuck.send("hang please")
    assert free.say("quick")["state"] == "completed"
    assert stuck.last()["state"] == "processing"
    assert stuck.interrupt().status_code == 200


def test_threads_are_listed_newest_first(engine, model):
    one, two = Chat(engine), Chat(engine)
    one.say("title of the first")
    two.say("title of the second")
    listed = engine.api.get("/api/chat/threads").json()["threads"]
    assert [each["id"] for each in listed[:2]] == [two.thread, one.thread]
    assert listed[1]["title"] == "title of the first"
    assert (listed[1]["turn_count"], listed[1]["state"]) == (1, "Idle")
    assert {"agent", "channel", "created_at", "updated_at"} <= listed[0].keys()


def test_external_threads_are_found_again(engine, model):
    body = {"external_thread": "room 7", "channel": "lobby"}
    first = engine.api.post("/api/chat/thread/new", json=body).json()
    assert engine.api.post("/api/chat/thread/new", json=body).json()["id"] == first["id"]
    assert first["external_thread"] == "room 7"


def test_a_turn_ends_even_if_nobody_waits(chat):
    chat.send("fire and forget")
    assert wait_until(lambda: chat.last()["state"] == "completed", "the turn ends")
