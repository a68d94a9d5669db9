"""What the official `openai` client raises, for requests that are wrong."""

import openai
import pytest

HELLO = [{"role": "user", "content": "hello"}]


def fails(client, kind, **request):
    with pytest.raises(kind) as caught:
        client.chat.completions.create(**{"model": "chela", "messages": HELLO, **request})
    assert caught.value.body["message"] and caught.value.body["type"]
    return caught.value


@pytest.mark.parametrize("request_, param", [
    ({"messages": []}, "messages"),
    ({"messages": "hello"}, "messages"),
    ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]}, "messages[0].content[0].image_url"),
    ({"messages": [*HELLO, {"role": "assistant", "content": "hi"}]}, "messages"),
    ({"model": ""}, "model"), ({"model": " chela"}, "model"), ({"model": "x" * 300}, "model"), ({"model": "a\nb"}, "model"),
    ({"n": 2}, "n"), ({"temperature": "hot"}, "temperature"), ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": 1.5}, "max_tokens"),
    ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function"),
    ({"tools": [{"type": "retrieval"}]}, "tools[0].type"),
    ({"tool_choice": "perhaps"}, "tool_choice"), ({"stop": 5}, "stop"), ({"stream_options": {"include_usage": "yes"}}, "stream_options.include_usage")])
def test_a_wrong_request_names_what_is_wrong(client, model, request_, param):
    error = fails(client, openai.BadRequestError, **request_)
    assert error.param == param and error.type == "invalid_request_error"
    assert model.requests() == []


def test_a_wrong_token(engine):
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key="wrong", max_retries=0) as client:
        error = fails(client, openai.AuthenticationError)
        assert error.code == "auth_error"


def test_a_token_without_the_permission(engine):
    token = engine.api.post("/api/tokens", json={"permissions": ["memory:read"]}).json()["token"]
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=token, max_retries=0) as client:
        fails(client, openai.PermissionDeniedError)


def test_an_unknown_agent(client):
    error = fails(client, openai.NotFoundError, model="chela/nobody")
    assert error.code == "model_not_found" and error.param == "model"


def test_an_unknown_route(client):
    with pytest.raises(openai.NotFoundError):
        client.images.generate(prompt="a crab")


def test_a_message_that_is_too_long(client):
    error = fails(client, openai.APIStatusError, messages=[{"role": "user", "content": "x" * 100_001}])
    assert error.status_code == 413


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name, reply, kind, code", [
    ("agent", {"status": 400, "error": {"message": "no such thing"}}, openai.BadRequestError, None),
    ("agent", {"status": 401}, openai.InternalServerError, "upstream_auth"),
    ("agent", {"status": 404}, openai.NotFoundError, "model_not_found"),
    ("agent", {"status": 429, "retry_after": "120"}, openai.RateLimitError, "rate_limit"),
    ("direct", {"status": 403}, openai.InternalServerError, "upstream_auth"),
    ("direct", {"status": 404}, openai.NotFoundError, "model_not_found"),
    ("direct", {"status": 429, "retry_after": "120"}, openai.RateLimitError, "rate_limit")])
def test_failures_of_the_model_behind_us(client, model, name, reply, kind, code, stream):
    model.set_script({"default": reply})
    error = fails(client, kind, model="chela" if name == "agent" else "scripted", stream=stream)
    if code:
        assert error.code == code
    if "retry_after" in reply:
        assert int(error.response.headers["retry-after"]) == 120
