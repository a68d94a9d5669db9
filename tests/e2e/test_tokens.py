"""Tokens: what they may do, until when, and for whom."""

import json

import pytest
from support.waiting import DEADLINE
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from support import wait_until


def create(api, **body):
    answer = api.post("/api/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["token"]


@pytest.fixture
def with_token(engine):
    """Gives a client with a new token of these permissions."""
    made = []

    def make(*permissions, **more):
        made.append(engine.client(create(engine.api, permissions=list(permissions), **more)))
        return made[-1]
    yield make
    for each in made:
        each.close()


def test_a_token_works_and_is_listed_without_its_secret(engine, with_token):
    client = with_token("chat:*", label="my phone")
    assert client.get("/api/chat/history").status_code == 200
    text = client.headers["Authorization"].removeprefix("Bearer ")
    assert text.startswith("chela_")
    listed = engine.api.get("/api/tokens")
    mine = [each for each in listed.json()["tokens"] if each["label"] == "my phone"][0]
    assert mine["permissions"] == ["chat:*"] and text.split("_")[1] == mine["id"]
    assert text.split("_", 2)[2] not in listed.text


@pytest.mark.parametrize("permissions, method, path, body, status", [
    (["chat:read"], "GET", "/api/chat/history", None, 200),
    (["chat:read"], "POST", "/api/chat/send", {"content": "hello"}, 403),
    (["chat:write"], "GET", "/api/chat/history", None, 403),
    (["memory:read"], "POST", "/api/memory/write", {"path": "a.md", "content": "x"}, 403),
    (["memory:read"], "POST", "/api/memory/search", {"query": "x"}, 200),
    (["memory:write"], "POST", "/api/memory/write", {"path": "a.md", "content": "x"}, 200),
    (["memory:*"], "GET", "/api/memory/tree", None, 200),
    (["memory:*"], "GET", "/metrics", None, 403),
    (["chat:*", "memory:*"], "GET", "/openapi.json", None, 403),
    (["chat:*"], "POST", "/api/tokens", {}, 403),
    (["chat:*"], "GET", "/api/tokens", None, 403),
    (["*"], "GET", "/metrics", None, 200)])
def test_a_token_may_do_what_it_says(with_token, model, permissions, method, path, body, status):
    answer = with_token(*permissions).request(method, path, json=body)
    assert answer.status_code == status, answer.text
    if status == 403:
        assert answer.json()["error"]["code"] == "permission_denied"


def test_a_refusal_comes_before_the_input_is_judged(with_token):
    assert with_token("chat:read").post("/api/chat/send", json={}).status_code == 403


def test_v1_has_openais_form_of_a_refusal(with_token):
    answer = with_token("memory:read").post("/v1/chat/completions", json={"model": "chela", "messages": []})
    assert answer.status_code == 403 and answer.json()["error"]["type"] == "permission_error"


def test_nobody_gives_away_what_they_do_not_have(with_token):
    admin = with_token("admin", "chat:read")
    assert admin.post("/api/tokens", json={"permissions": ["memory:read"]}).status_code == 403
    assert admin.post("/api/tokens", json={"permissions": ["*"]}).status_code == 403
    assert admin.post("/api/tokens", json={"permissions": ["chat:*"]}).status_code == 403
    assert admin.post("/api/tokens", json={"permissions": ["chat:read"]}).status_code == 201


def test_a_revoked_token_ends_at_once(engine, with_token):
    client = with_token("chat:*")
    assert client.get("/api/chat/threads").status_code == 200
    id = client.headers["Authorization"].split("_")[1]
    assert engine.api.delete(f"/api/tokens/{id}").json() == {"id": id, "status": "revoked"}
    answer = client.get("/api/chat/threads")
    assert answer.status_code == 401 and answer.json()["error"]["code"] == "unauthenticated"
    assert engine.api.delete("/api/tokens/0123456789abcdef").status_code == 404


def test_an_expired_token_is_refused(with_token):
    client = with_token("chat:*", expires_in="300ms")
    wait_until(lambda: client.get("/api/chat/threads").status_code == 401, "the token expires")


def test_no_token_outlives_its_maker(engine, with_token):
    maker = with_token("*", expires_in="1h", label="maker")
    create(maker, expires_in="10h", label="child")
    rows = {each["label"]: each for each in engine.api.get("/api/tokens").json()["tokens"]}
    assert rows["child"]["expires_at"] <= rows["maker"]["expires_at"]


@pytest.mark.parametrize("body", [{"permissions": []}, {"permissions": [""]}, {"permissions": "chat:read"}, {"label": "x" * 300}])
def test_tokens_that_make_no_sense_are_refused(engine, body):
    assert engine.api.post("/api/tokens", json=body).status_code == 422


@pytest.mark.parametrize("permission", ["nonsense", "chat", "chat:reed", "tools:cor"])
def test_a_permission_that_there_is_none_of_is_refused_with_the_known_ones(engine, permission):
    answer = engine.api.post("/api/tokens", json={"permissions": ["chat:read", permission]})
    assert answer.status_code == 400
    message = answer.json()["error"]["message"]
    assert f"'{permission}'" in message and "chat:write" in message and "tools:files" in message


@pytest.mark.parametrize("expires_in", ["soon", "-1h", "0s"])
def test_an_end_that_is_none_is_refused(engine, expires_in):
    assert engine.api.post("/api/tokens", json={"expires_in": expires_in}).status_code == 400


def test_tokens_survive_a_restart(own_engine):
    own_engine.start()
    token = create(own_engine.api, permissions=["chat:read"])
    first = own_engine.token
    own_engine.restart()
    assert own_engine.token == first
    with own_engine.client(token) as client:
        assert client.get("/api/chat/threads").status_code == 200


def test_the_environments_token_wins_and_makes_no_file(own_engine):
    own_engine.env["GATEWAY_AUTH_TOKEN"] = "a-token-of-my-own-choice"
    own_engine.start()
    assert own_engine.api.get("/api/chat/threads").status_code == 200
    assert not (own_engine.home / "gateway.token").exists()


def test_what_is_open_ends_with_its_token(engine):
    """Events, the chat socket and the bus: revoking the token closes each, and says why."""
    made = engine.api.post("/api/tokens", json={"label": "brief", "permissions": ["chat:*", "bus:*", "memory:*"]}).json()["token"]
    bus = f"ws://127.0.0.1:{engine.engine_file()['ports']['bus']}/?token={made}"
    socket = f"ws://127.0.0.1:{engine.engine_file()['ports']['gateway']}/api/chat/ws"
    bearer = {"Authorization": f"Bearer {made}"}
    with engine.client(made) as client, connect(bus) as worker, connect(socket, additional_headers=bearer) as chat, \
            client.stream("GET", "/api/chat/events") as events:
        assert events.status_code == 200
        assert json.loads(worker.recv(timeout=DEADLINE))["type"] == "workerregistered"
        assert engine.api.delete(f"/api/tokens/{made.split('_')[1]}").is_success
        assert "unauthenticated" in "".join(events.iter_text())
        for each in (worker, chat):
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    each.recv(timeout=DEADLINE)
            assert closed.value.rcvd.code == 1008 and "revoked" in closed.value.rcvd.reason
