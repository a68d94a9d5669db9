"""Ending a running turn."""

from support.scripts import HANG, call, tools_then


def test_a_running_model_call_ends_at_once(engine, chat, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    with engine.events(thread_id=chat.thread) as events:
        accepted = chat.send("hang please")
        events.until("stream_chunk")
        answer = chat.interrupt()
        assert (answer.status_code, answer.json()["status"]) == (200, "interrupted")
        assert events.until("turn_finished")[-1].data["state"] == "interrupted"
    assert chat.wait(accepted["turn_id"])["state"] == "interrupted"
    turn = chat.last()
    assert turn["state"] == "interrupted" and turn["response"] is None and turn["completed_at"]


def test_the_thread_goes_on_after_an_interrupt(chat, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    chat.send("hang please")
    assert chat.interrupt().status_code == 200
    assert chat.say("better now?")["reply"].endswith("better now?")
    assert [turn["state"] for turn in chat.turns()] == ["interrupted", "completed"]


def test_nothing_to_interrupt_is_a_conflict(chat):
    assert chat.interrupt().status_code == 409
    chat.say("hello")
    answer = chat.interrupt()
    assert answer.status_code == 409 and answer.json()["error"]["code"] == "conflict"


def test_a_pending_approval_ends_with_its_turn(chat, model):
    model.set_script(tools_then("done", call("write_file", path="never.txt", content="x")))
    accepted = chat.send("write")
    request = chat.wait(accepted["turn_id"])["approval"]["request_id"]
    assert chat.interrupt().status_code == 200
    assert "pending_approval" not in chat.history()
    assert chat.decide(request, "approve").status_code in (404, 409)
    # The call that never ran has a result in what the model sees next: providers refuse conversations with open calls.
    model.set_script({})
    chat.say("go on")
    messages = model.bodies()[-1]["messages"]
    open_calls = {each["id"] for message in messages for each in message.get("tool_calls") or []}
    assert open_calls == {message["tool_call_id"] for message in messages if message["role"] == "tool"} != set()


def test_interrupting_a_thread_of_nobody_is_404(engine):
    answer = engine.api.post("/api/chat/interrupt", json={"thread_id": "nonsense"})
    assert answer.status_code == 404
