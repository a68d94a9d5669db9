"""Smart routing and the response cache: which model is asked, why, and that the same is not asked twice."""

import json
import time

import pytest

from support import Chat

HARD = "please run a full security audit of the gateway"
MODERATE = "deploy the page to production"


@pytest.fixture
def routed(own_engine, model):
    own_engine.env.update(CHELA_LLM_MODEL="big", NEARAI_CHEAP_MODEL="small")
    model.set_script({"rules": [
        {"when": {"model": "small", "last_user_contains": "production"}, "replies": [{"text": "It is done."}, {"text": "I'm not sure about that."}]},
        {"when": {"model": "small"}, "reply": {"text": "small says hello"}},
        {"when": {"model": "big"}, "reply": {"text": "big knows"}}]})
    return own_engine.start()


def ask(engine, text, name="auto", **more):
    answer = engine.api.post("/v1/chat/completions", json={"model": name, "messages": [{"role": "user", "content": text}], **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"]["content"]


def test_what_nobody_named_a_model_for_is_routed(routed, model):
    assert ask(routed, "thanks") == "small says hello"
    assert ask(routed, HARD) == "big knows"
    assert ask(routed, "[tier:frontier] hi") == "big knows"
    assert ask(routed, "thanks", name="big") == "big knows", "a model that a client names is asked"
    assert ask(routed, MODERATE) == "It is done."
    assert ask(routed, MODERATE) == "big knows", "an uncertain answer is not passed on"
    assert [each["model"] for each in model.bodies()] == ["small", "big", "big", "big", "small", "small", "big"]
    metrics = routed.api.get("/metrics").text
    assert 'chela_model_routing_total{answered_by="cheap"} 2' in metrics
    assert 'chela_model_routing_total{answered_by="escalated"} 1' in metrics
    stats = routed.api.get("/api/gateway/status").json()["routing"]
    assert stats == {"cheap_model": "small", "total": 5, "cheap": 2, "primary": 2, "escalations": 1}


def test_a_stream_shows_nothing_of_an_answer_that_will_not_do(routed):
    ask(routed, MODERATE)
    body = {"model": "auto", "stream": True, "messages": [{"role": "user", "content": MODERATE}]}
    with routed.api.stream("POST", "/v1/chat/completions", json=body) as answer:
        text = "".join(answer.iter_text())
    assert "sure" not in text and "big" in text and "knows" in text


def test_a_turn_says_why_its_model_was_chosen(routed, model):
    chat = Chat(routed)
    with routed.events(thread_id=chat.thread) as events:
        assert chat.say("[tier:flash] list nothing")["state"] == "completed"
        seen = events.until("turn_finished")
    told = [each.data for each in seen if each.type == "model_chosen"]
    assert told[0]["model"] == "small" and told[0]["reason"] == "flash: asked for with [tier:flash]"
    usage = [each.data for each in seen if each.type == "usage"]
    assert usage[0]["choices"][0]["route"] == "cheap"
    assert "[tier:flash]" in model.bodies()[-1]["messages"][-1]["content"], "what is asked is what was said"
    log = json.dumps(routed.api.get(f"/api/threads/{chat.thread}/log").json())
    assert "asked for with [tier:flash]" in log and '"prefix_is": "first"' in log


def test_inspect_says_what_would_be_asked(routed):
    def inspect(*words, stdin=""):
        done = routed.cli("inspect", "route", *words, stdin=stdin)
        assert done[0] == 0, done
        return done[1]

    shown = inspect("please", "explain", "how", "a", "mutex", "differs")
    assert "reasoning_words" in shown and "decided by score" in shown
    one = json.loads(inspect(HARD, "--json"))
    assert (one["model"], one["tier"], one["by"]) == ("big", "frontier", "pattern") and len(one["dimensions"]) == 13
    lines = inspect(stdin='{"message": "hi"}\n\n"hello"\nnonsense\n{"message": "hi", "toolCount": 2}\n').splitlines()
    first, second, third, fourth = map(json.loads, lines)
    assert first["model"] == second["model"] == "small" and first["route"] == "cheap"
    assert third["error"] and fourth["model"] == "big" and fourth["reason"].startswith("a request with tools")


def test_agentos_callers_get_their_answer(routed):
    def route(**args):
        return routed.api.post("/api/models/route", json=args).raise_for_status().json()

    assert route(messages=[{"content": "hi"}], tools=[])["model"] == "small"
    hard = route(message=HARD, toolCount=0)
    assert (hard["model"], hard["maxTokens"], hard["level"]) == ("big", 8192, "complex") and 0 <= hard["complexity"] <= 100
    assert route(message=HARD, agentTier="economy")["model"] == "small"
    assert route(message="hi", agentTier="premium")["model"] == "big"
    named = route(message="hi", config={"provider": "groq", "model": "x", "maxTokens": 7})
    assert (named["model"], named["maxTokens"], named["reason"]) == ("groq/x", 7, "the model was named")


def test_the_same_is_asked_once_and_costs_nothing_again(own_engine, model):
    own_engine.env.update(RESPONSE_CACHE_ENABLED="true", RESPONSE_CACHE_TTL_SECS="3600", RESPONSE_CACHE_MAX_ENTRIES="10")
    model.set_script({"replies": [{"text": "one"}, {"text": "two"}, {"text": "three"}]})
    engine = own_engine.start()
    assert ask(engine, "what?", name="m") == "one"
    time.sleep(0.5)  # it is written behind, with the next commit
    assert ask(engine, "what?", name="m") == "one"
    assert ask(engine, "what?", name="m", temperature=0.3) == "two"
    body = {"model": "m", "messages": [{"role": "user", "content": "what?"}]}
    again = engine.api.post("/v1/chat/completions", json=body).json()
    assert again["usage"]["total_tokens"] == 0
    assert len(model.bodies()) == 2
    engine.restart()
    assert ask(engine, "what?", name="m") == "one", "it is in the store"
    assert 'chela_response_cache_total{found="hit"} 1' in engine.api.get("/metrics").text
