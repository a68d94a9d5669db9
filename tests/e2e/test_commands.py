"""Slash commands: every way in understands them, none reaches the model."""

import pytest
from support import Chat


def command(chat, content, **more):
    answer = chat.send(content, **more)
    assert "turn_id" not in answer
    return answer["reply"]


def test_looking_commands(engine, chat, model):
    assert command(chat, "/ping") == "pong!"
    assert command(chat, " /PING\n") == "pong!"
    version = engine.api.get("/api/status").json()["version"] if engine.api.get("/api/status").status_code == 200 else ""
    assert command(chat, "/version").startswith("Chela ") and version in command(chat, "/version")
    assert "write_file" in command(chat, "/tools")
    assert chat.thread in command(chat, "/status")
    assert "only the terminal" in command(chat, "/quit").lower()
    assert model.requests() == [] and chat.turns() == []


def test_help_and_the_completion_list_name_the_same_commands(engine, chat):
    listed = engine.api.get("/api/chat/commands").raise_for_status().json()["commands"]
    text = command(chat, "/help")
    assert {"/help", "/new", "/status"} <= {each["name"] for each in listed}
    for each in listed:
        assert each["usage"] in text and each["help"] in text
        assert set(each) <= {"name", "synonyms", "argument", "usage", "help"}


@pytest.mark.parametrize("word", ["/heartbeat", "/skills", "/job", "/cancel", "/suggest", "/hlep"])
def test_an_unknown_command_is_an_error_and_no_message(chat, model, word):
    reply = command(chat, word + " something")
    assert reply.startswith("Error: there is no command " + word)
    assert model.requests() == [] and chat.turns() == []


def test_a_path_is_a_message(chat, model):
    assert chat.say("/etc/passwd is a file")["state"] == "completed"
    assert len(model.requests()) == 1


def test_new_and_thread(engine):
    chat = Chat(engine, new=False)
    first = chat.send("/new")["thread_id"]
    second = chat.send("/thread new")["thread_id"]
    assert first != second
    assert chat.send("hello")["thread_id"] == second
    assert chat.send(f"/thread {first}")["thread_id"] == first
    assert chat.send("hello")["thread_id"] == first
    assert "Error" in chat.send("/thread 00000000-0000-7000-8000-000000000000")["reply"]


def test_a_repeated_new_makes_one_thread(engine):
    chat = Chat(engine, new=False)
    first = chat.send("/new", idempotency_key="new-1")
    again = chat.send("/new", idempotency_key="new-1")
    assert (again["thread_id"], again["message_id"], again["duplicate"]) == (first["thread_id"], first["message_id"], True)


def test_watchers_see_the_answer(engine, chat):
    with engine.events(thread_id=chat.thread) as events:
        chat.send("/ping")
        event = events.until("response")[-1]
    assert (event.data["content"], event.data["command"], event.data["thread_id"]) == ("pong!", True, chat.thread)


def test_over_v1(engine, model):
    for stream in (False, True):
        answer = engine.api.post("/v1/chat/completions", json={
            "model": "chela", "stream": stream, "messages": [{"role": "user", "content": "/ping"}]})
        assert answer.status_code == 200, answer.text
        assert "pong!" in answer.text and '"stop"' in answer.text
    assert model.requests() == []


def test_from_the_command_line(engine, model):
    code, out, err = engine.cli("run", "-m", "/ping")
    assert (code, out.strip()) == (0, "pong!"), err
    code, out, _ = engine.cli("run", "-m", "/nonsense")
    assert "there is no command /nonsense" in out
    assert model.requests() == []


def test_the_model_changes_from_the_next_turn_on(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    assert "Active: scripted" in command(chat, "/model")
    assert "another-one" in command(chat, "/model another-one")
    chat.say("hello")
    own_engine.restart()
    chat.say("hello")
    command(chat, "/model default")
    chat.say("hello")
    assert [body["model"] for body in model.bodies()] == ["another-one", "another-one", "scripted"]


def test_over_v1_the_conversation_goes_on_after_commands(engine, model):
    messages = []

    def say(text):
        messages.append({"role": "user", "content": text})
        answer = engine.api.post("/v1/chat/completions", json={"model": "chela", "messages": messages})
        assert answer.status_code == 200, answer.text
        messages.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})
        return answer.headers["x-chela-thread"], messages[-1]["content"]

    thread, _ = say("one of v1")
    assert say("two of v1")[0] == thread
    assert say("/ping") == (thread, "pong!")
    assert say("/undo")[1] == "Undone to turn 1. 1 undo(s) remaining."
    assert say("three of v1")[0] == thread
    said = [m["content"].split("</context>\n\n")[-1] for m in model.bodies()[-1]["messages"] if m["role"] == "user"]
    assert said == ["one of v1", "three of v1"]
