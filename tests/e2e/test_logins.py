"""Wrong tokens, slow heads and connections past the limit: who waits, and in whose words it is said."""

import httpx
import pytest
from websockets.sync.client import connect

from support import Engine, wait_until
from support.raw import Raw

WRONG = {"Authorization": "Bearer chela_nobody_wrong"}
HOST = b"Host: localhost\r\n"


@pytest.fixture
def limited(tmp_path, model):
    made = []

    def make(**env):
        made.append(Engine(tmp_path / f"home{len(made)}", env=env, model_port=model.port).start())
        return made[-1]
    yield make
    for each in made:
        each.close()


def test_wrong_tokens_make_an_address_wait_but_not_the_owner(own_engine):
    own_engine.start()
    codes = [own_engine.api.get("/api/chat/threads", headers=WRONG).status_code for _ in range(30)]
    assert set(codes) == {401}
    refused = own_engine.api.get("/api/chat/threads", headers=WRONG)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert refused.json()["error"]["code"] == "rate_limited"
    v1 = own_engine.api.get("/v1/models", headers=WRONG)
    assert v1.status_code == 429 and v1.json()["error"]["type"] == "rate_limit_error"
    assert own_engine.api.get("/healthz").status_code == 200
    assert own_engine.api.get("/api/chat/threads").status_code == 200, "the right token"
    code, _, err = own_engine.cli("status")
    assert code == 0, err


def test_an_image_of_another_site_locks_nobody_out(own_engine):
    own_engine.start()
    request = b"GET /api/chat/threads?token=bad HTTP/1.1\r\n" + HOST + b"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n"
    for _ in range(31):
        with Raw(own_engine) as raw:
            assert raw.send(request).response()[0] == 403
    assert own_engine.api.get("/api/chat/threads", headers=WRONG).status_code == 401, "none was counted"


def test_a_slow_head_ends_the_request(limited):
    engine = limited(CHELA_LIMITS_HEADER_TIMEOUT="50ms")
    with Raw(engine) as raw:
        status, _, body = raw.send(b"GET /v1/models HTTP/1.1\r\n" + HOST).response()[:3]
    assert status == 408 and b"server_error" in body


def test_a_connection_past_the_limit_is_refused_in_the_words_of_its_path(limited):
    engine = limited(CHELA_LIMITS_CONNECTIONS="1")
    with Raw(engine) as held:
        assert held.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n").response()[0] == 200
        for path, word in ((b"/v1/models", b'"type":"server_error"'), (b"/api/threads", b'"code":"unavailable"')):
            with Raw(engine) as raw:
                status, headers, body = raw.send(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n").response()[:3]
            assert status == 503 and word in body, body

    def served():
        with Raw(engine) as raw:
            return raw.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n").response()[0] == 200
    wait_until(served, "the place is free")


def test_the_bus_and_the_gateway_count_wrong_tokens_together(own_engine):
    own_engine.start()
    bus = f"http://127.0.0.1:{own_engine.engine_file()['ports']['bus']}/"
    codes = [httpx.get(bus, params={"token": "wrong"}).status_code for _ in range(15)]
    codes += [own_engine.api.get("/api/chat/threads", headers=WRONG).status_code for _ in range(15)]
    assert set(codes) == {401}
    refused = httpx.get(bus, params={"token": "wrong"})
    assert refused.status_code == 429 and 0 < int(refused.headers["Retry-After"]) <= 60
    assert own_engine.api.get("/api/chat/threads", headers=WRONG).status_code == 429
    assert httpx.get(bus).status_code == 401, "no token is no guess"
    with connect(f"{bus.replace('http', 'ws')}?token={own_engine.token}") as peer:
        assert "workerregistered" in peer.recv(timeout=60)
