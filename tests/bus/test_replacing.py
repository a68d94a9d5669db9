"""Workers that stand in for operations and for parts of the engine, and what happens when they go."""

import json

import pytest

from support import Chat
from support.waiting import wait_until
from workers import PYTHON, SdkError

STAND_INS = ["0.22.1", PYTHON]


def replace(engine, worker, function_id, kind="echo"):
    worker.register(function_id, kind)
    wait_until(lambda: worker.call("engine::functions::info", {"function_id": function_id})["worker_name"] == worker.name,
               f"{worker.name} serves {function_id}")


@pytest.mark.parametrize("sdk", STAND_INS)
def test_an_operation_is_replaced_over_bus_http_and_command_line(engine, join, sdk):
    engine.api.post("/api/memory/write", json={"path": "a.md", "content": "of the engine"}).raise_for_status()
    worker, caller = join(sdk), join("0.11.6")
    replace(engine, worker, "memory::read")
    assert caller.call("memory::read", {"path": "a.md"})["from"] == worker.name
    over_http = engine.api.get("/api/memory/read", params={"path": "a.md"}).raise_for_status().json()
    assert over_http["from"] == worker.name and over_http["data"]["path"] == "a.md"
    code, out, err = engine.cli("call", "memory::read", json.dumps({"path": "a.md"}), "--json")
    assert code == 0 and json.loads(out)["from"] == worker.name, err
    assert worker.call("memory::read", {"path": "a.md"})["content"] == "of the engine", "it reaches what it replaces"
    with pytest.raises(SdkError) as caught:
        caller.call("memory::read", {"path": 7})
    assert caught.value.code == "unprocessable"
    worker.kill()
    wait_until(lambda: caller.call("memory::read", {"path": "a.md"}).get("content") == "of the engine", "the engine's own is back")
    assert engine.api.get("/api/memory/read", params={"path": "a.md"}).json()["content"] == "of the engine"


def test_a_worker_that_dies_in_mid_call_leaves_repeatable_calls_to_the_engine(engine, join):
    engine.api.post("/api/memory/write", json={"path": "b.md", "content": "of the engine"}).raise_for_status()
    worker, caller = join("0.22.1"), join("0.11.6")
    replace(engine, worker, "memory::read", "hang")
    waiting = caller.start("call", function_id="memory::read", payload={"path": "b.md"})
    wait_until(lambda: worker.do("seen", function_id="memory::read"), "the call arrives")
    worker.kill()
    assert waiting()["content"] == "of the engine"


def test_a_token_without_the_permission_replaces_nothing(engine, join):
    token = engine.api.post("/api/tokens", json={"permissions": ["bus:call", "bus:register", "memory:*"]}).json()["token"]
    engine.api.post("/api/memory/write", json={"path": "c.md", "content": "of the engine"}).raise_for_status()
    worker = join("0.22.1", token=token)
    worker.register("memory::read")
    worker.register("marker")
    wait_until(lambda: "marker" in worker.functions(), "the later one is registered")
    assert join("0.11.6").call("memory::read", {"path": "c.md"})["content"] == "of the engine"


@pytest.mark.parametrize("sdk", STAND_INS)
def test_what_is_remembered_comes_from_a_worker(engine, chat, model, join, sdk):
    worker = join(sdk)
    replace(engine, worker, "memory::recall", "recall")
    assert chat.say("what do you know?")["state"] == "completed"
    sent = model.bodies()[-1]["messages"][-1]["content"]
    assert f"[memory] recalled by {worker.name}: what do you know?" in sent
    worker.kill()
    wait_until(lambda: not any("memory::recall" in row for row in join("0.11.6").functions()), "it has gone")
    assert Chat(engine).say("and now?")["state"] == "completed"


@pytest.mark.parametrize("sdk", STAND_INS)
def test_what_was_said_is_handed_to_a_worker(engine, chat, model, join, sdk):
    chat.say("before it came")
    worker = join(sdk)
    replace(engine, worker, "memory::store")
    chat.say("my cat is called Ines")
    seen = wait_until(lambda: (calls := worker.do("seen", function_id="memory::store")) and len(calls) == 2 and calls, "both are there")
    assert [(call["role"], call["content"]) for call in seen] == [("user", "my cat is called Ines"), ("assistant", chat.last()["response"])]
    assert {(call["agentId"], call["sessionId"]) for call in seen} == {("default", chat.thread)}
    assert seen[1]["tokenUsage"]["output"] > 0 and "tokenUsage" not in seen[0]
    worker.kill()
    assert chat.say("after it has gone")["state"] == "completed"


@pytest.mark.parametrize("sdk", STAND_INS)
def test_a_worker_answers_in_the_models_place(engine, chat, model, join, sdk):
    worker = join(sdk)
    replace(engine, worker, "llm::complete", "complete")
    before = len(model.bodies())
    outcome = chat.say("who are you?")
    assert outcome["state"] == "completed" and chat.last()["response"] == f"answered by {worker.name}"
    assert len(model.bodies()) == before, "the model was not asked"
    calls = engine.api.get("/api/usage", params={"by": "model"}).json()["groups"]
    assert sum(each["calls"] for each in calls if each["name"] == "scripted") > 0, "it is counted as that model's"
    worker.kill()
    wait_until(lambda: "llm::complete" not in join("0.11.6").functions(), "it has gone")
    assert chat.say("and now?")["state"] == "completed"
    assert len(model.bodies()) == before + 1
