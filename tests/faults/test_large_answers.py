"""Answers that are larger than any answer may be."""

import pytest

from support.limits import limit


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LLM_MAX_RETRIES": "0"}


@pytest.mark.parametrize("model_id", ["chela", "scripted"])
def test_an_answer_without_end_is_ended(engine, model, model_id):
    model.set_script({"default": {"text": "x" * (limit("kMaxModelAnswerBytes") + 1), "chunk_bytes": 65536}})
    answer = engine.api.post("/v1/chat/completions", json={"model": model_id, "messages": [{"role": "user", "content": "hi"}]})
    assert answer.status_code == 502 and answer.json()["error"]["code"] == "upstream"


def test_a_large_answer_is_kept_whole(chat, model):
    text = "0123456789abcdef" * 65536
    model.set_script({"default": {"text": text, "chunk_bytes": 65536}})
    assert chat.say("go on")["reply"] == text
    assert chat.last()["response"] == text
