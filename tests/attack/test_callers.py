"""Who may come in: tokens of every wrong kind, pages of other origins, names that lead to this machine."""

import itertools

import httpx
import pytest

PROTECTED = [("GET", "/api/chat/history"), ("POST", "/api/chat/send"), ("GET", "/api/chat/events"), ("GET", "/metrics"), ("GET", "/openapi.json"),
             ("POST", "/v1/chat/completions"), ("GET", "/v1/models"), ("POST", "/api/tokens"), ("GET", "/api/memory/tree")]


def wrong_tokens(engine):
    made = engine.api.post("/api/tokens", json={"permissions": ["*"]}).json()["token"]
    prefix, id, secret = made.split("_", 2)
    own = engine.token
    return ["x", "null", own[:-1], own + "x", own.swapcase(), own[::-1], made[:-1], f"{prefix}_{id}_", f"{prefix}_{id}", f"{prefix}__{secret}",
            f"{prefix}_{'0' * 16}_{secret}", f"{prefix}_{id}_{secret[::-1]}", f"{prefix}_{id}_{'a' * 8000}", f"{prefix}_' OR '1'='1_{secret}", "chela_%_%"]


numbers = itertools.count(2)


@pytest.fixture
def stranger(engine):
    """A client without a token, from an address of its own: one that shows too many wrong ones has to wait."""
    with engine.client(token="", transport=httpx.HTTPTransport(local_address=f"127.0.1.{next(numbers)}")) as client:
        yield client


@pytest.mark.parametrize("method, path", PROTECTED)
def test_wrong_tokens_open_nothing(engine, stranger, model, method, path):
    assert stranger.request(method, path, json={} if method == "POST" else None).status_code == 401
    for token in wrong_tokens(engine):
        answer = stranger.request(method, path, headers={"Authorization": f"Bearer {token}"}, json={} if method == "POST" else None)
        assert answer.status_code == 401, f"{token!r}: {answer.status_code}"
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["message"] and (len(token) < 20 or token not in answer.text)
    assert model.requests() == []


@pytest.mark.parametrize("scheme", ["Basic", "Token", "Bearer,", "Bearer Bearer"])
def test_wrong_schemes_open_nothing(engine, scheme):
    with engine.client(token="") as client:
        assert client.get("/api/chat/history", headers={"Authorization": f"{scheme} {engine.token}"}).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(engine, scheme):
    with engine.client(token="") as client:
        assert client.get("/api/chat/history", headers={"Authorization": f"{scheme} {engine.token}"}).status_code == 200


def test_the_token_may_stand_in_the_query_and_is_not_logged(engine):
    with engine.client(token="") as client:
        assert client.get("/api/chat/history", params={"token": engine.token}).status_code == 200
        assert client.get("/api/chat/history", params={"token": "wrong"}).status_code == 401
    assert engine.token not in engine.log_text()


def test_a_wrong_header_is_not_saved_by_a_right_query(engine):
    with engine.client(token="") as client:
        assert client.get("/api/chat/history", params={"token": engine.token}, headers={"Authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:3000", "127.0.0.1.evil.example", "localhost.evil.example", "127.1.evil", "169.254.169.254"])
def test_a_name_that_was_rebound_to_this_machine_is_refused(engine, host):
    with engine.client(token="") as client:
        for path in ("/", "/api/chat/history", "/api/health"):
            answer = client.get(path, headers={"Host": host}, params={"token": engine.token})
            assert answer.status_code == 403 and answer.json()["error"]["code"] == "permission_denied"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:1234", "[::1]", "127.5.5.5"])
def test_the_names_of_this_machine_are_served(engine, host):
    with engine.client(token="") as client:
        assert client.get("/api/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "http://localhost@evil.example", "file://"])
def test_pages_of_others_may_not_use_a_token_of_the_query(engine, origin):
    with engine.client(token="") as client:
        answer = client.post("/api/chat/send", params={"token": engine.token}, headers={"Origin": origin}, json={"content": "hello"})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
        preflight = client.options("/api/chat/send", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
        assert "access-control-allow-origin" not in preflight.headers


def test_a_plain_form_of_a_page_reaches_nothing(engine):
    """What a page may send without asking first: no JSON content type, no header."""
    with engine.client(token="") as client:
        for type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = client.post("/api/chat/send", params={"token": engine.token}, content=b'{"content": "hello"}', headers={"Content-Type": type})
            assert answer.status_code == 400 and "Content-Type" in answer.json()["error"]["message"]
