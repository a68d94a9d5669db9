"""Requests that are no HTTP, or two things at once: refused, never read in two ways."""

import json
import random

import pytest

from support.raw import Raw, exchange

HOST = b"Host: 127.0.0.1\r\n"
# If a server and a proxy disagreed about where a body ends, this would be answered as a request of its own.
SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def post(*headers, body=b"", version=b"HTTP/1.1", host=HOST):
    return b"POST /api/chat/send " + version + b"\r\n" + host + b"".join(each + b"\r\n" for each in headers) + b"\r\n" + body


def get(line=b"GET /healthz HTTP/1.1", *headers, host=HOST):
    return line + b"\r\n" + host + b"".join(each + b"\r\n" for each in headers) + b"\r\n"


SMUGGLING = {
    "length and chunks": post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "chunks and length": post(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": post(b"Content-Length: 0", b"Content-Length: 5", body=SMUGGLED),
    "a list of lengths": post(b"Content-Length: 0, 5", body=SMUGGLED),
    "a length with a sign": post(b"Content-Length: +5", body=SMUGGLED),
    "a negative length": post(b"Content-Length: -1", body=SMUGGLED),
    "a length in hex": post(b"Content-Length: 0x5", body=SMUGGLED),
    "a length beyond all": post(b"Content-Length: 99999999999999999999999", body=SMUGGLED),
    "an empty length": post(b"Content-Length: ", body=SMUGGLED),
    "a blank before the colon": post(b"Content-Length : 5", body=b"hello" + SMUGGLED),
    "an unknown encoding": post(b"Transfer-Encoding: xchunked", body=SMUGGLED),
    "identity": post(b"Transfer-Encoding: identity", b"Content-Length: 5", body=SMUGGLED),
    "chunked, not last": post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + SMUGGLED),
    "chunked twice": post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "gzip before chunked": post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "chunks in HTTP/1.0": post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED, version=b"HTTP/1.0"),
    "a chunk size with a sign": post(b"Transfer-Encoding: chunked", body=b"-1\r\n\r\n" + SMUGGLED),
    "a chunk size in 0x": post(b"Transfer-Encoding: chunked", body=b"0x0\r\n\r\n" + SMUGGLED),
    "a chunk size beyond all": post(b"Transfer-Encoding: chunked", body=b"F" * 30 + b"\r\n" + SMUGGLED),
    "a chunk longer than its size": post(b"Transfer-Encoding: chunked", body=b"1\r\nabc\r\n0\r\n\r\n" + SMUGGLED),
    "chunks with bare line feeds": post(b"Transfer-Encoding: chunked", body=b"0\n\n" + SMUGGLED),
    "a bare carriage return": post(b"X-A: a\rContent-Length: 0", body=SMUGGLED),
    "a NUL in a header": post(b"X-A: a\0b", b"Content-Length: 5", body=SMUGGLED),
    "a NUL in a name": post(b"X\0A: b", body=SMUGGLED),
    "no colon": post(b"Content-Length 5", body=SMUGGLED),
    "no name": post(b": 5", body=SMUGGLED),
    "a name that is none": post(b"(X): 5", body=SMUGGLED),
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_a_body_has_one_end_or_the_request_is_refused(engine, name):
    responses = exchange(engine, SMUGGLING[name])
    assert [status for status, _, _ in responses] == [400], responses
    _, headers, body = responses[0]
    assert json.loads(body)["error"]["code"] == "invalid_argument"
    assert headers["connection"].lower() == "close"


@pytest.mark.parametrize("blank", [b" ", b"\t"])
@pytest.mark.parametrize("header", [b"Content-Length: 5", b"Transfer-Encoding: chunked"])
def test_a_folded_line_belongs_to_the_header_before(engine, blank, header):
    # RFC 9112, 5.2: a fold is read as a blank. So there is no body here, and what follows is a request of its own, answered unless the
    # connection ends first.
    responses = exchange(engine, post(b"X-A: 1\r\n" + blank + header, body=SMUGGLED))
    assert [status for status, _, _ in responses] in ([400], [401, 200], [401]), responses


LINES = {
    "no version": b"GET /healthz",
    "version 0.9": b"GET /healthz HTTP/0.9",
    "version 2": b"GET /healthz HTTP/2.0",
    "a small http": b"GET /healthz http/1.1",
    "two blanks": b"GET  /healthz HTTP/1.1",
    "a tab": b"GET\t/healthz\tHTTP/1.1",
    "no path": b"GET HTTP/1.1",
    "a path without a slash": b"GET healthz HTTP/1.1",
    "a blank in the path": b"GET /health z HTTP/1.1",
    "a NUL in the path": b"GET /health\0z HTTP/1.1",
    "a control character": b"GET /health\x01z HTTP/1.1",
    "a method that is none": b"G@T /healthz HTTP/1.1",
    "nothing": b"",
    "garbage": bytes(range(128, 255)),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200,
    "a WebSocket frame": b"\x81\x85\x00\x00\x00\x00hello",
    "HTTP/2's greeting": b"PRI * HTTP/2.0",
}


@pytest.mark.parametrize("name", LINES)
def test_a_first_line_that_is_none_is_refused(engine, name):
    responses = exchange(engine, get(LINES[name]))
    assert [status for status, _, _ in responses] == [400], responses


@pytest.mark.parametrize("host", [b"", b"Host: a\r\nHost: b\r\n"])
def test_one_host_is_needed(engine, host):
    responses = exchange(engine, get(host=host))
    assert [status for status, _, _ in responses] == [400]


def test_version_1_0_needs_no_host_and_closes(engine):
    (status, headers, _), = exchange(engine, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert status == 200 and headers.get("connection", "close").lower() == "close"


@pytest.mark.parametrize("path", [b"//", b"/api/../healthz", b"/api/%2e%2e/healthz", b"/./healthz", b"/healthz/", b"/healthz%00",
                                  b"/%2e%2e/%2e%2e/etc/passwd", b"/..", b"/api//health", b"/api%2fhealth", b"/HEALTHZ", b"/healthz;x=1", b"/%zz"])
def test_a_path_is_what_it_says(engine, path):
    responses = exchange(engine, get(b"GET " + path + b" HTTP/1.1"))
    assert [status for status, _, _ in responses] == [404], responses


def test_pipelined_requests_are_answered_in_order(engine):
    with Raw(engine) as raw:
        raw.send(get() + get(b"GET /nowhere HTTP/1.1") + get(b"GET /readyz HTTP/1.1") * 50 + get(b"GET / HTTP/1.1", b"Connection: close"))
        statuses = []
        while (response := raw.response()) is not None:
            statuses.append(response[0])
    assert statuses == [200, 404] + [200] * 51


def test_nothing_after_a_refusal_is_read(engine):
    assert [status for status, _, _ in exchange(engine, get(b"BAD LINE") + get())] == [400]


def test_a_body_byte_by_byte_is_a_body(engine):
    body = json.dumps({"path": "slow.md", "content": "ü"}).encode()
    request = (b"POST /api/memory/write HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + engine.token.encode() +
               b"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    request += b"".join(b"1\r\n" + bytes([each]) + b"\r\n" for each in body) + b"0\r\nX-Trailer: 1\r\n\r\n"
    with Raw(engine) as raw:
        for each in request:
            raw.send(bytes([each]))
        assert raw.response()[0] == 200


def test_a_client_may_ask_before_it_sends(engine):
    with Raw(engine) as raw:
        raw.send(b"POST /api/memory/write HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + engine.token.encode() +
                 b"\r\nContent-Type: application/json\r\nContent-Length: 33\r\nExpect: 100-continue\r\n\r\n")
        assert raw.response()[0] == 100
        raw.send(b'{"path": "a.md", "content": "hi"}')
        assert raw.response()[0] == 200


def test_random_bytes_do_no_harm(engine):
    chance = random.Random(20)
    for _ in range(60):
        start = chance.choice([b"", b"GET / HTTP/1.1\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"])
        responses = exchange(engine, start + chance.randbytes(chance.randrange(1, 3000)))
        assert all(status >= 400 for status, _, _ in responses)
