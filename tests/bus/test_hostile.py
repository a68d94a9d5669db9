"""Clients that are no SDK: who gets in, and what malformed, huge, flooding and silent ones can do (nothing to others)."""

import contextlib
import json
import socket

import httpx
import pytest
from support.waiting import DEADLINE, wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


@pytest.fixture
def port(engine):
    return engine.engine_file()["ports"]["bus"]


@pytest.fixture
def raw(engine, port):
    """Opens connections that speak the protocol by hand."""
    with contextlib.ExitStack() as opened:
        def new(path="/", token=None):
            address = f"ws://127.0.0.1:{port}{path}?token={engine.token if token is None else token}"
            return opened.enter_context(connect(address, max_size=None))

        yield new


def send(peer, **frame):
    peer.send(json.dumps(frame))


def receive(peer, kind):
    while True:
        frame = json.loads(peer.recv(timeout=DEADLINE))
        if frame["type"] == kind:
            return frame


def call(peer, function_id, data=None, ident="1"):
    send(peer, type="invokefunction", invocation_id=ident, function_id=function_id, data=data or {})
    return receive(peer, "invocationresult")


def memory_mb(engine):
    for line in open(f"/proc/{engine.pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the engine has gone")


@pytest.mark.parametrize("headers, query, status", [
    ({}, "", 401), ({}, "?token=wrong", 401), ({"Authorization": "Bearer wrong"}, "", 401), ({"Authorization": "Basic x"}, "", 401)])
def test_without_a_token_nobody_gets_in(port, headers, query, status):
    for path in ("/", "/otel"):
        with pytest.raises(InvalidStatus) as caught:
            connect(f"ws://127.0.0.1:{port}{path}{query}", additional_headers=headers)
        assert caught.value.response.status_code == status


def test_what_is_no_worker_is_told_so(engine, port):
    headers = {"Authorization": f"Bearer {engine.token}"}
    assert httpx.get(f"http://127.0.0.1:{port}/", headers=headers).status_code == 400
    assert httpx.get(f"http://127.0.0.1:{port}/elsewhere", headers=headers).status_code == 404
    with connect(f"ws://127.0.0.1:{port}/", additional_headers=headers) as peer:
        assert json.loads(peer.recv(timeout=DEADLINE))["type"] == "workerregistered"


def test_a_token_gives_no_more_than_its_permissions(engine, raw):
    made = engine.api.post("/api/tokens", json={"label": "guest", "permissions": ["bus:call", "memory:read"]}).json()
    guest = raw(token=made["token"])
    assert call(guest, "memory::write", {"path": "a.md", "content": "x"})["error"]["code"] == "permission_denied"
    send(guest, type="registerfunction", id="guest::f")
    assert receive(guest, "registrationrejected")["function_id"] == "guest::f"
    assert "error" not in call(guest, "engine::functions::list")


def test_nonsense_is_ignored_and_the_connection_lives(raw):
    peer, other = raw(), raw()
    send(other, type="registerfunction", id="other::f")
    for frame in ("", " ", "{", "nonsense", "[1,2]", "{}", '{"type":"dance"}', '{"type":["invokefunction"]}', '{"type":"invokefunction"}',
                  '{"type":"invokefunction","function_id":"other::f","invocation_id":"i","data":{]}',
                  '{"type":"invokefunction","function_id":"other::f","data":' + "[" * 5000 + "]" * 5000 + "}",
                  '{"type":"invocationresult","invocation_id":"00000000-0000-4000-8000-000000000001","result":1}',
                  '{"type":"registerfunction","id":"' + "x" * 300 + '"}', '{"type":"registertrigger","id":{}}', "\x00"):
        peer.send(frame)
    peer.send(b"OTLP{}")
    peer.send(b"\xff\xfe\x00")
    peer.send(b'{"type":"ping"}')  # JSON in a binary frame counts
    assert receive(peer, "pong")
    # Nothing of it reached the other one.
    send(other, type="ping")
    receive(other, "workerregistered")
    assert json.loads(other.recv(timeout=DEADLINE)) == {"type": "pong"}


def test_a_trigger_on_the_introduction_does_not_go_round_in_the_engine(engine, raw):
    made = engine.api.post("/api/tokens", json={"label": "loop", "permissions": ["bus:register"]}).json()
    guest, other = raw(token=made["token"]), raw()
    send(guest, type="registertrigger", id="t", trigger_type="engine::workers-available", function_id="engine::workers::register")
    assert receive(guest, "triggerregistrationresult")["error"]["code"] == "trigger_registration_failed"
    assert call(guest, "engine::workers::register", {"name": "loop"})["result"]["success"]
    assert "error" not in call(other, "engine::functions::list")


def test_a_frame_past_the_limit_ends_the_connection(raw):
    peer = raw()
    receive(peer, "workerregistered")
    with pytest.raises(ConnectionClosed) as caught:
        peer.send('{"type":"ping","x":"' + "x" * (9 * 1024 * 1024) + '"}')
        receive(peer, "pong")
    assert caught.value.rcvd is None or caught.value.rcvd.code == 1009


def test_a_worker_that_answers_twice_or_for_others_changes_nothing(raw):
    provider, caller, intruder = raw(), raw(), raw()
    send(provider, type="registerfunction", id="once::f")
    wait_until(lambda: any(row["function_id"] == "once::f" for row in call(caller, "engine::functions::list")["result"]["functions"]),
               "it is registered")
    send(caller, type="invokefunction", invocation_id="mine", function_id="once::f", data={})
    ident = receive(provider, "invokefunction")["invocation_id"]
    send(intruder, type="invocationresult", invocation_id=ident, function_id="once::f", result="forged")
    send(intruder, type="ping")
    receive(intruder, "pong")
    for value in ("right", "again"):
        send(provider, type="invocationresult", invocation_id=ident, function_id="once::f", result=value)
    assert receive(caller, "invocationresult")["result"] == "right"
    assert call(caller, "engine::workers::list", ident="2")["invocation_id"] == "2"


def test_a_worker_that_never_reads_costs_bounded_memory_and_disturbs_nobody(engine, port, raw):
    """Its callers are held back, then refused; another worker is called all the while."""
    stuck = socket.create_connection(("127.0.0.1", port))
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    stuck.sendall(f"GET /?token={engine.token} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    body = b'{"type":"registerfunction","id":"stuck::f"}'
    stuck.sendall(bytes([0x81, 0x80 | len(body), 0, 0, 0, 0]) + body)
    fine, caller, other = raw(), raw(), raw()
    send(fine, type="registerfunction", id="fine::f")
    wait_until(lambda: {"stuck::f", "fine::f"} <= {row["function_id"] for row in
                                                  call(other, "engine::functions::list")["result"]["functions"]}, "both are there")
    before = memory_mb(engine)
    block = "x" * 100_000
    refused = None
    for number in range(400):
        send(caller, type="invokefunction", invocation_id=str(number), function_id="stuck::f", data={"block": block})
        if number % 40 == 0:
            send(other, type="invokefunction", invocation_id=f"o{number}", function_id="fine::f", data={})
            asked = receive(fine, "invokefunction")
            send(fine, type="invocationresult", invocation_id=asked["invocation_id"], function_id="fine::f", result=number)
            assert receive(other, "invocationresult")["result"] == number
    refused = receive(caller, "invocationresult")
    assert refused["error"]["code"] == "unavailable"
    assert memory_mb(engine) < before + 30
    stuck.close()


def test_connections_that_come_and_go_leave_nothing(engine, port, raw):
    watcher = raw()
    call(watcher, "engine::workers::list")

    def visit(count):
        for number in range(count):
            with connect(f"ws://127.0.0.1:{port}/?token={engine.token}") as peer:
                send(peer, type="registerfunction", id=f"visit::{number}")
                send(peer, type="invokefunction", function_id="engine::workers::register", data={"name": "visitor"})

    visit(100)
    wait_until(lambda: len(call(watcher, "engine::workers::list")["result"]["workers"]) == 1, "they have gone")
    before = memory_mb(engine)
    visit(400)
    wait_until(lambda: len(call(watcher, "engine::workers::list")["result"]["workers"]) == 1, "they have gone")
    assert not [row for row in call(watcher, "engine::functions::list")["result"]["functions"] if row["function_id"].startswith("visit")]
    assert memory_mb(engine) < before + 8
