"""Calls that are tried again: only for passing reasons, only before the first text."""

import pytest

from support import Chat, wait_until
from support.faults import TEXT

# The provider says how long to wait: not at all.
AT_ONCE = {"retry_after": "0"}


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LLM_STALL_TIMEOUT": "1s", "CHELA_LLM_MAX_RETRIES": "2"}


def v1(engine, stream=False):
    return engine.api.post("/v1/chat/completions", json={"model": "scripted", "stream": stream, "messages": [{"role": "user", "content": "hi"}]})


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_passing_failures_are_tried_again(engine, chat, model, status):
    model.set_script({"replies": [{"status": status, **AT_ONCE, "times": 2}, {"text": "finally"}]})
    assert chat.say("hello")["reply"] == "finally"
    assert len(model.requests()) == 3
    bodies = model.bodies()
    assert bodies[0] == bodies[1] == bodies[2]
    assert [turn["state"] for turn in chat.turns()] == ["completed"]


@pytest.mark.parametrize("status", [429, 500])
def test_they_are_given_up_at_last(engine, model, status):
    model.set_script({"default": {"status": status, **AT_ONCE}})
    assert v1(engine).status_code == (429 if status == 429 else 502)
    assert len(model.requests()) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_lasting_failures_are_not(engine, model, status):
    model.set_script({"default": {"status": status, **AT_ONCE}})
    v1(engine)
    assert len(model.requests()) == 1


def test_a_quota_that_is_used_up_does_not_pass(engine, model):
    model.set_script({"default": {"status": 429, **AT_ONCE, "error": {"message": "no money", "code": "insufficient_quota"}}})
    assert v1(engine).status_code == 429
    assert len(model.requests()) == 1


def test_who_asks_for_too_long_is_not_waited_for(engine, model):
    model.set_script({"default": {"status": 429, "retry_after": "3600"}})
    answer = v1(engine)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3600")
    assert len(model.requests()) == 1


@pytest.mark.parametrize("fault", [{"cut_after": 0}, {"stall_after": 0}])
def test_a_stream_that_breaks_before_its_text_is_tried_again(engine, model, fault):
    model.set_script({"replies": [{"text": TEXT, **fault, "times": 1}, {"text": "finally"}]})
    chat = Chat(engine)
    assert chat.say("hello")["reply"] == "finally"
    assert len(model.requests()) == 2


@pytest.mark.parametrize("fault", [{"cut_after": 4}, {"stall_after": 4}])
def test_a_stream_that_breaks_after_its_text_is_not(engine, model, fault):
    model.set_script({"replies": [{"text": TEXT, **fault, "times": 1}], "default": {"text": "never"}})
    assert Chat(engine).say("hello")["state"] == "failed"
    assert len(model.requests()) == 1


def test_an_interrupt_ends_the_waiting(engine, chat, model):
    model.set_script({"default": {"status": 429, "retry_after": "50"}})
    accepted = chat.send("hello")
    wait_until(lambda: model.requests(), "the first attempt")
    assert chat.interrupt().status_code == 200
    assert chat.wait(accepted["turn_id"])["state"] == "interrupted"
