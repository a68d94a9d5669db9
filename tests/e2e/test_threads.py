"""The list of threads: the pinned one, search, titles, which one is active; agents, models, and what was used."""

from datetime import datetime, timezone

import pytest

from support import Chat
from support.scripts import call, tools_then


def listed(engine, **params):
    answer = engine.api.get("/api/chat/threads", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(engine, path, **body):
    return engine.api.post(f"/api/chat/thread/{path}", json=body)


@pytest.fixture
def fresh(own_engine):
    return own_engine.start()


def test_a_new_home_has_the_pinned_thread_only(fresh):
    first = listed(fresh)
    pinned = first["assistant_thread"]
    assert pinned["thread_type"] == "assistant" and pinned["turn_count"] == 0 and first["threads"] == [] and first["active_thread"] is None
    assert listed(fresh)["assistant_thread"]["id"] == pinned["id"]
    fresh.restart()
    assert listed(fresh)["assistant_thread"]["id"] == pinned["id"]


def test_the_pinned_thread_is_a_thread_like_others(fresh, model):
    pinned = listed(fresh)["assistant_thread"]["id"]
    chat = Chat(fresh, new=False)
    chat.thread = pinned
    assert chat.say("hello there")["state"] == "completed"
    again = listed(fresh)
    assert again["assistant_thread"]["title"] == "hello there" and again["assistant_thread"]["turn_count"] == 1
    assert again["threads"] == [] and again["active_thread"] is None
    assert post(fresh, "activate", thread_id=pinned).status_code == 200
    assert listed(fresh)["active_thread"] == pinned
    assert fresh.api.post("/api/chat/send", json={"content": "again"}).json()["thread_id"] == pinned


def test_a_title_is_the_first_line_until_somebody_names_it(engine, chat):
    chat.say("  the first line \n and a second " + "x" * 100)
    assert next(each for each in listed(engine)["threads"] if each["id"] == chat.thread)["title"] == "the first line"
    with engine.events(thread_id=chat.thread) as events:
        named = post(engine, "rename", thread_id=chat.thread, title="  Ü name ")
        assert named.status_code == 200 and named.json()["title"] == "Ü name"
        told = events.until("thread_changed")[-1].data
        assert (told["reason"], told["title"], told["thread_id"]) == ("renamed", "Ü name", chat.thread)
    chat.say("more")
    assert next(each for each in listed(engine)["threads"] if each["id"] == chat.thread)["title"] == "Ü name"
    other = Chat(engine)
    other.say("y" * 200)
    assert listed(engine)["threads"][0]["title"] == "y" * 80


def test_a_name_that_comes_first_stays(engine, chat):
    assert post(engine, "rename", thread_id=chat.thread, title="named before").status_code == 200
    chat.say("hello")
    assert listed(engine)["threads"][0]["title"] == "named before"


@pytest.mark.parametrize("title", ["", "   ", "x" * 201, "a\nb", "a\x00b", "a\x1bb"])
def test_what_is_no_title_is_refused(engine, chat, title):
    assert post(engine, "rename", thread_id=chat.thread, title=title).status_code in (400, 422)


def test_threads_are_found_by_their_title(fresh, model):
    titles = ["red kite", "Red_Kite 100%", "blue heron"]
    for title in titles:
        assert post(fresh, "rename", thread_id=Chat(fresh).thread, title=title).status_code == 200

    def found(text):
        return sorted(each["title"] for each in listed(fresh, q=text)["threads"])

    assert found("KITE") == ["Red_Kite 100%", "red kite"]
    assert found("d_k") == ["Red_Kite 100%"] and found("0%") == ["Red_Kite 100%"] and found("%") == ["Red_Kite 100%"]
    assert found("!") == [] and found("' OR 1=1 --") == [] and found("") == sorted(titles)
    assert len(listed(fresh, limit=2)["threads"]) == 2
    assert listed(fresh, q="heron")["active_thread"] == listed(fresh)["active_thread"] is not None
    assert fresh.api.get("/api/chat/threads", params={"q": "x" * 300}).status_code == 422


def test_activating_a_thread(fresh, model):
    one, two = Chat(fresh), Chat(fresh)
    assert listed(fresh)["active_thread"] == two.thread
    answer = post(fresh, "activate", thread_id=one.thread)
    assert answer.status_code == 200 and answer.json()["id"] == one.thread
    assert fresh.api.post("/api/chat/send", json={"content": "hello"}).json()["thread_id"] == one.thread
    assert post(fresh, "activate", thread_id="nobody").status_code == 404
    assert post(fresh, "rename", thread_id="nobody", title="x").status_code == 404
    assert post(fresh, "activate").status_code == 422


def test_who_only_reads_makes_nothing(fresh):
    token = fresh.api.post("/api/tokens", json={"permissions": ["chat:read"]}).json()["token"]
    with fresh.client(token=token) as api:
        assert api.get("/api/chat/threads").json()["assistant_thread"] is None
        assert api.post("/api/chat/thread/rename", json={"thread_id": "x", "title": "y"}).status_code == 403


def test_history_says_what_a_turn_used_and_how_long_its_tools_took(chat, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    chat.say("compute")
    turn = chat.last()
    assert turn["model"] == "scripted"
    assert turn["usage"]["prompt_tokens"] > 0 and turn["usage"]["completion_tokens"] > 0 and turn["usage"]["cached_tokens"] >= 0
    (tool,) = turn["tool_calls"]
    assert tool["id"] and tool["name"] == "calculator" and tool["arguments"] == {"expression": "17*23"}
    assert tool["has_result"] and not tool["has_error"] and "391" in tool["result_preview"] and tool["duration_ms"] >= 0


def test_agents_are_described(own_engine):
    folder = own_engine.home / "agents" / "writer"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "writer"\ndescription = "writes things"\n[agent.model]\nmodel = "other"\n')
    own_engine.start()
    agents = {each["name"]: each for each in own_engine.api.get("/api/agents").json()["agents"]}
    assert agents["default"]["model"] == "scripted"
    assert (agents["writer"]["description"], agents["writer"]["model"]) == ("writes things", "other")
    assert own_engine.api.get("/api/gateway/status").json()["agents"] == ["default", "writer"]


def test_models_name_the_active_one(engine):
    models = engine.api.get("/api/models").json()
    assert models["active"] == "scripted" and {"id": "scripted", "provider": "openai_compatible", "default": True} in models["models"]


def test_what_was_used_is_counted_by_day_and_model(fresh, model):
    chat = Chat(fresh)
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    chat.say("compute")
    model.set_script({"default": {"status": 400}})
    chat.say("fails")
    turns = chat.turns()
    spent = {key: sum(turn["usage"][key] for turn in turns) for key in ("prompt_tokens", "completion_tokens", "cached_tokens")}
    today = {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "model": "scripted", "turns": 2, **spent}
    assert fresh.api.get("/api/usage").json()["days"] == [today]
    status = fresh.api.get("/api/gateway/status").json()
    assert status["usage"] == spent
    (used,) = status["model_usage"]
    assert (used["model"], used["turns"], used["input_tokens"]) == ("scripted", 2, spent["prompt_tokens"])
    fresh.restart()
    assert fresh.api.get("/api/usage", params={"days": 1}).json()["days"] == [today]
    assert fresh.api.get("/api/gateway/status").json()["model_usage"] == []
    for days in (0, 367, "x"):
        assert fresh.api.get("/api/usage", params={"days": days}).status_code == 422
    token = fresh.api.post("/api/tokens", json={"permissions": ["memory:*"]}).json()["token"]
    with fresh.client(token=token) as api:
        assert api.get("/api/usage").status_code == 403
