"""Limits of what calls of models cost: refused before they leave, told to people, kept over restarts and crashes. gpt-4o costs 2.5 dollars
for a million tokens read, 10 for a million written."""

import json

import pytest

from support import Chat
from support.scripts import HANG, call, tools_then
from support.waiting import wait_until


def costing(read, written, text="fine"):
    return {"text": text, "usage": {"input": read, "output": written, "cached": 0}}


@pytest.fixture
def spender(own_engine, model):
    """An engine that may spend 8 cents a day."""
    own_engine.env.update(CHELA_LLM_MODEL="gpt-4o", MAX_COST_PER_DAY_CENTS="8")
    # 5.25 cents, then 2.65: too little is left for a third one.
    model.set_script({"replies": [costing(1000, 5000), costing(1000, 2400), costing(1000, 1)]})
    return own_engine.start()


def limits(engine, **params):
    found = engine.api.get("/api/usage", params=params).raise_for_status().json()["limits"]
    return {each["limit"]: each for each in found}


def test_a_limit_refuses_before_the_call_and_people_are_told(spender, model):
    chat = Chat(spender)
    with spender.events(thread_id=chat.thread) as events:
        assert chat.say("one")["state"] == "completed"
        assert chat.say("two")["state"] == "completed"
        seen = events.until("budget_warning")
        assert seen[-1].data["limit"] == "all day" and seen[-1].data["percent"] >= 80
        assert seen[-1].data["thread_id"] == chat.thread and "$0.08 a day" in seen[-1].data["message"]
        asked = model.bodies()
        assert len(asked) == 2
        assert asked[1]["max_tokens"] < 2600, "an answer is cut to what is left"
        refused = chat.say("three")
        failed = events.until("turn_finished", state="failed")
    assert refused["state"] == "failed" and len(model.bodies()) == 2, "the model was not asked"
    assert refused["error"]["code"] == "budget_exceeded"
    assert "chela usage" in refused["error"]["message"]
    assert [each.data["code"] for each in failed if each.type == "error"] == ["budget_exceeded"]
    spent = limits(spender)["all day"]
    assert spent["spent"] == pytest.approx(0.079) and spent["reserved"] == 0 and spent["hard"] is True

    # /v1, through an agent and without one.
    for name in ("chela", "gpt-4o"):
        answer = spender.api.post("/v1/chat/completions",
                                  json={"model": name, "messages": [{"role": "user", "content": "four"}]})
        assert answer.status_code == 402, answer.text
        error = answer.json()["error"]
        assert error["type"] == "insufficient_quota" and "$0.08 a day" in error["message"]
        assert int(answer.headers["retry-after"]) > 0
    assert len(model.bodies()) == 2

    # It is kept: over a restart, and a change of the limit counts at once.
    spender.restart()
    assert Chat(spender).say("five")["state"] == "failed"
    spender.api.put("/api/settings/budget.limits", json={"value": "agent:default day 1"})
    assert limits(spender, agent="default")["agent:default day"]["spent"] == pytest.approx(0.079)


def test_an_agents_file_limits_it_alone(own_engine, model):
    folder = own_engine.home / "agents" / "thrifty"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "thrifty"\n[agent.resources]\ndaily_budget = 0\n')
    own_engine.env["CHELA_LLM_MODEL"] = "gpt-4o"
    model.set_script({"default": costing(10, 10)})
    own_engine.start()
    refused = Chat(own_engine, new=False).say("hi", agent="thrifty")
    assert refused["error"]["code"] == "budget_exceeded" and "agents/thrifty/agent.toml" in refused["error"]["message"]
    assert Chat(own_engine).say("hi")["state"] == "completed"


def test_what_was_open_when_the_engine_was_killed_counts_as_spent(spender, model):
    model.set_script({"default": HANG})
    Chat(spender).send("go on")
    wait_until(lambda: model.bodies(), "the model is asked")
    before = wait_until(lambda: limits(spender)["all day"]["reserved"], "the call is reserved")
    spender.kill9()
    model.set_script({"default": costing(10, 10)})
    spender.start()
    wait_until(lambda: limits(spender)["all day"]["reserved"] >= before, "it is counted again")
    assert limits(spender)["all day"]["left"] < 0.08 - before + 1e-9


def test_settings_count_without_a_restart_and_actions_are_limited(engine, model):
    model.set_script({"default": costing(10, 10)})
    chat = Chat(engine)
    assert chat.say("free")["state"] == "completed"
    change = engine.api.put("/api/settings/budget.actions_per_hour", json={"value": 1})
    assert change.status_code < 300, change.text
    refused = chat.say("and now")
    assert refused["error"]["code"] == "budget_exceeded" and "1 calls an hour" in refused["error"]["message"]
    assert engine.api.put("/api/settings/budget.limits", json={"value": "agent:x day"}).status_code == 422
    engine.api.delete("/api/settings/budget.actions_per_hour")
    assert chat.say("again")["state"] == "completed"


def test_an_agent_can_ask_what_is_left(spender, model):
    model.set_script(tools_then("thanks", call("budget_status")))
    assert Chat(spender).say("what is left?")["reply"] == "thanks"
    result = next(each for each in model.bodies()[-1]["messages"] if each["role"] == "tool")
    assert '"all day"' in result["content"] and '"left"' in result["content"]


def test_the_command_line_shows_what_was_spent(spender):
    Chat(spender).say("one")
    value = json.loads(spender.cli("usage", "--by", "model", "--json")[1])
    group = next(each for each in value["groups"] if each["name"] == "gpt-4o")
    assert group["calls"] == 1 and group["cost"] == pytest.approx(0.0525)
    shown = spender.cli("usage", "--by", "agent", "--days", "1")[1]
    assert "default" in shown and "$0.0525" in shown and "all day" in shown
