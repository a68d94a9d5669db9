"""Another model answers when one does not: over providers, with its own name, and after the first words."""

import pytest

from support import Chat
from support.model import ScriptedModel

KEY = "second-key-for-test-0123456789"
OWN_NAME = "second-clever-2026"

PROVIDERS = """
[providers.second]
name = "Second"
base_url = "http://127.0.0.1:{port}/v1"
key_env = ["SECOND_API_KEY"]
prefill = {prefill}
"""

MODELS = """
[models.second]
clever = { context = 50000, sent_as = "second-clever-2026", price = { input = 1, output = 2 } }
"""

CUT = {"text": "one two three four five", "cut_after": 3}


@pytest.fixture
def second():
    with ScriptedModel({"default": {"text": "six seven", "usage": {"input": 1000, "output": 1000}}}) as other:
        yield other


@pytest.fixture
def engine(own_engine, second):
    """Not started: an engine with a second provider to fall back to, without repetitions at the first."""
    (own_engine.home / "models.toml").write_text(MODELS)
    (own_engine.home / "providers.toml").write_text(PROVIDERS.format(port=second.port, prefill="false"))
    own_engine.env.update(LLM_FALLBACK_MODELS="second/clever", SECOND_API_KEY=KEY, NEARAI_MAX_RETRIES="0",
                          CHELA_LLM_MODEL="gpt-4o")
    return own_engine


def ask_v1(engine, stream=False, model="gpt-4o"):
    return engine.api.post("/v1/chat/completions", json={
        "model": model, "stream": stream, "messages": [{"role": "user", "content": "count"}]})


@pytest.mark.parametrize("fault", [{"status": 429}, {"status": 401}, {"status": 404}, {"status": 500}, CUT])
def test_the_next_model_answers_by_its_own_name(engine, model, second, fault):
    model.set_script({"default": fault})
    engine.start()
    answer = ask_v1(engine)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == "six seven"
    assert Chat(engine).say("count")["reply"] == "six seven"
    for asked in second.requests():
        assert asked["body"]["model"] == OWN_NAME
        assert asked["headers"]["Authorization"] == f"Bearer {KEY}"
    assert len(model.bodies()) == len(second.bodies()) == 2
    assert KEY not in engine.log_text()


def test_a_wrong_request_is_nobody_elses(engine, model, second):
    model.set_script({"default": {"status": 400, "error": {"message": "no such field"}}})
    engine.start()
    assert ask_v1(engine).status_code == 400
    assert second.bodies() == []


def test_who_watches_an_agent_is_told_to_forget_and_sees_the_whole(engine, model, second):
    model.set_script({"default": CUT})
    engine.start()
    chat = Chat(engine)
    with engine.events(thread_id=chat.thread) as events:
        assert chat.say("count")["reply"] == "six seven"
        seen = events.until("turn_finished")
    text, forgotten = "", []
    for each in seen:
        if each.type == "stream_chunk":
            text += each.data["content"]
        if each.type == "stream_reset":
            forgotten.append(text)
            text = each.data["text"]
    assert text == "six seven"
    assert len(forgotten) == 1 and forgotten[0].startswith("one")


def test_a_stream_that_cannot_be_taken_back_ends_with_an_error(engine, model, second):
    model.set_script({"default": CUT})
    engine.start()
    stream = ask_v1(engine, stream=True)
    assert '"content":"one' in stream.text and "error" in stream.text
    assert "six" not in stream.text and "[DONE]" not in stream.text
    assert second.bodies() == [], "nobody pays for what cannot be shown"


def test_a_provider_that_can_goes_on_where_the_other_was_cut(engine, model, second):
    (engine.home / "providers.toml").write_text(PROVIDERS.format(port=second.port, prefill="true"))
    model.set_script({"default": CUT})
    engine.start()
    stream = ask_v1(engine, stream=True)
    assert "error" not in stream.text and "[DONE]" in stream.text
    begun = second.bodies()[-1]["messages"][-1]
    assert begun["role"] == "assistant" and begun["content"].startswith("one")
    whole = ask_v1(engine).json()["choices"][0]["message"]["content"]
    assert whole.startswith("one") and whole.endswith("six seven")

    chat = Chat(engine)
    with engine.events(thread_id=chat.thread) as events:
        reply = chat.say("count")["reply"]
        seen = events.until("turn_finished")
    assert reply == whole
    assert "".join(each.data["content"] for each in seen if each.type == "stream_chunk") == whole
    assert "stream_reset" not in {each.type for each in seen}


def test_both_attempts_are_counted(engine, model, second):
    engine.env["MAX_COST_PER_DAY_CENTS"] = "100"
    model.set_script({"default": CUT})
    engine.start()
    assert Chat(engine).say("count")["state"] == "completed"
    spent = {each["limit"]: each for each in engine.api.get("/api/usage").json()["limits"]}["all day"]
    of_second = 0.003  # 1,000 tokens read at 1 dollar and 1,000 written at 2 dollars a million
    assert spent["spent"] > of_second and spent["reserved"] == 0
    models = str(engine.api.get("/api/usage").json())
    assert "gpt-4o" in models


def test_an_open_breaker_leaves_the_provider_alone(engine, model, second):
    engine.env.update(CIRCUIT_BREAKER_THRESHOLD="2", LLM_FALLBACK_MODELS=None)
    model.set_script({"default": {"status": 500}})
    engine.start()
    assert [ask_v1(engine).status_code for _ in range(2)] == [502, 502]
    refused = ask_v1(engine)
    assert refused.status_code == 503 and 0 < int(refused.headers["retry-after"]) <= 30
    assert len(model.bodies()) == 2
    # A fall-back that is set now answers at once.
    assert engine.api.put("/api/settings/llm.fallback", json={"value": ["second/clever"]}).status_code == 204
    assert ask_v1(engine).json()["choices"][0]["message"]["content"] == "six seven"
    assert len(model.bodies()) == 2
