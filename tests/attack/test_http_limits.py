"""Too much of anything: refused with a clear status, at a bounded price, without harm to others."""

import json

import pytest

from support import Engine, wait_until
from support.limits import limit
from support.raw import Raw, exchange

HOST = b"Host: 127.0.0.1\r\n"
BODY = limit("kMaxBodyBytes")
V1_BODY = limit("kMaxV1BodyBytes")
HEADERS = limit("kMaxHeaderBytes")


def error_of(responses):
    assert len(responses) == 1, responses
    status, _, body = responses[0]
    return status, json.loads(body)["error"]["code"]


def authorised(engine, path, length):
    return (b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + engine.token.encode() +
            b"\r\nContent-Type: application/json\r\n" + length + b"\r\n\r\n")


@pytest.mark.parametrize("request_", [
    b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Big: " + b"a" * HEADERS + b"\r\n\r\n",
    b"GET /" + b"a" * HEADERS + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /healthz HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: 1\r\n" % n for n in range(limit("kMaxHeaderFields") + 1)) + b"\r\n",
    b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Endless: " + b"a" * (10 * HEADERS)])
def test_a_head_that_is_too_large(engine, request_):
    status, _ = error_of(exchange(engine, request_))
    assert status == 431


def test_a_head_that_just_fits(engine):
    request = b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Big: " + b"a" * (HEADERS - 1000) + b"\r\nConnection: close\r\n\r\n"
    assert exchange(engine, request)[0][0] == 200


@pytest.mark.parametrize("path, most", [(b"/api/memory/write", BODY), (b"/v1/chat/completions", V1_BODY)])
def test_an_announced_body_that_is_too_large_is_refused_unread(engine, path, most):
    with Raw(engine) as raw:
        raw.send(authorised(engine, path, b"Content-Length: %d" % (most + 1)))
        status, _, body = raw.response()
    assert status == 413 and json.loads(body)["error"]["message"]


@pytest.mark.parametrize("path, most", [(b"/api/memory/write", BODY), (b"/v1/chat/completions", V1_BODY)])
def test_chunks_without_end_are_cut_off(engine, path, most):
    with Raw(engine) as raw:
        raw.send(authorised(engine, path, b"Transfer-Encoding: chunked"))
        for _ in range(most // 65536 + 2):
            raw.send(b"10000\r\n" + b"a" * 65536 + b"\r\n")
        assert raw.response()[0] == 413


def test_a_body_without_a_token_is_refused(engine):
    request = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 20\r\n\r\n" + b" " * 20
    assert exchange(engine, request)[0][0] == 401


def test_half_open_connections_hold_up_nobody(engine):
    opened = []
    try:
        for n in range(200):
            raw = Raw(engine)
            opened.append(raw.send(b"POST /api/chat/send HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\n" if n % 2 else b"GET /heal"))
        assert engine.api.get("/healthz").status_code == 200
        assert engine.api.post("/api/memory/search", json={"query": "x"}).status_code == 200
    finally:
        for raw in opened:
            raw.close()


def test_connections_have_a_limit_and_places_become_free(tmp_path, engine, model):
    with Engine(tmp_path / "home", env={"CHELA_LIMITS_CONNECTIONS": "8"}, model_port=model.port) as small:
        held = [Raw(small).send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n") for _ in range(8)]
        assert [raw.response()[0] for raw in held] == [200] * 8
        with Raw(small) as one_more:
            one_more.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            response = one_more.response()
            assert response is None or response[0] == 503
        for raw in held:
            raw.close()

        def served():
            with Raw(small) as raw:
                answer = raw.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n").response()
                return answer is not None and answer[0] == 200
        wait_until(served, "a place becomes free")


def test_many_short_connections_leave_nothing_open(engine):
    for _ in range(300):
        with Raw(engine) as raw:
            raw.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")

    def few():
        return engine.api.get("/api/gateway/status").json()["total_connections"] < 20
    wait_until(few, "the connections are closed")


def test_a_client_that_stops_reading_is_no_burden(engine, model):
    """Answers pile up only to a limit: then the engine waits or cuts off, and serves others."""
    with Raw(engine) as deaf:
        request = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + engine.token.encode() + b"\r\n\r\n"
        deaf.socket.settimeout(0.2)
        try:
            for _ in range(3000):
                deaf.socket.sendall(request)
        except (TimeoutError, OSError):
            pass  # the engine stopped reading: as it should
        assert engine.api.get("/healthz").status_code == 200
        resident = int((next(line for line in open(f"/proc/{engine.pid}/status") if line.startswith("VmRSS"))).split()[1])
        assert resident < 300_000, f"{resident} KiB"
