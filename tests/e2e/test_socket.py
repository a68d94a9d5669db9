"""/api/chat/ws: the same events as /api/chat/events, and sending on the same connection."""

import json
import socket as sockets

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from support import Chat, wait_until
from support.raw import Raw
from support.scripts import call, slow, tools_then
from support.sse import text_of
from support.ws import open_socket

SUBSCRIBERS = 6


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LIMITS_EVENT_SUBSCRIBERS": str(SUBSCRIBERS)}


def as_told(events):
    return [(each.id, each.type, each.data) for each in events]


@pytest.mark.parametrize("scope", ["thread", "user"])
def test_it_agrees_with_the_event_stream_event_by_event(engine, chat, model, scope):
    thread = chat.thread if scope == "thread" else None
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23"), call("echo", message="hi")))
    with engine.events(thread_id=thread) as events, open_socket(engine, thread_id=thread) as socket:
        chat.send("compute")
        told = events.until("turn_finished", thread_id=chat.thread)
        assert as_told(socket.until("turn_finished", thread_id=chat.thread)) == as_told(told)
        model.set_script({"default": slow(30, delay_ms=5)})
        chat.send("and talk")
        told = events.until("turn_finished", thread_id=chat.thread)
        assert as_told(socket.until("turn_finished", thread_id=chat.thread)) == as_told(told)
        assert text_of(told) == slow(30)["text"]
    # Both come back with the same id and hear the same.
    place = [each for each in told if each.id][1].id
    chat.say("again")
    with engine.events(thread_id=thread, last_event_id=place) as events, open_socket(engine, thread, place) as socket:
        again = events.until("turn_finished") + events.until("turn_finished")
        assert as_told(socket.until("turn_finished") + socket.until("turn_finished")) == as_told(again)


@pytest.mark.parametrize("way", ["socket then stream", "stream then socket"])
def test_the_two_can_take_over_from_each_other_in_mid_answer(engine, chat, model, way):
    model.set_script({"default": slow(60)})

    def ways(last=None):
        return {"stream": engine.events(thread_id=chat.thread, last_event_id=last), "socket": open_socket(engine, chat.thread, last)}
    first, second = way.split(" then ")
    with ways()[first] as one:
        chat.send("talk")
        one.until("stream_chunk")
        one.until("stream_chunk")
        seen = one.seen[:]
    place = [each for each in seen if each.id][-1].id
    with ways(place)[second] as two:
        seen += two.until("turn_finished")
    assert text_of(seen) == slow(60)["text"]


def test_an_id_that_means_nothing_gives_a_reset(engine, chat):
    with open_socket(engine, chat.thread, "rubbish") as socket:
        assert socket.until("stream_reset")[-1].data["text"] == ""
        chat.send("hello")
        assert socket.until("response")[-1].data["content"].endswith("hello")


def test_a_message_by_frame(engine, chat):
    with open_socket(engine, chat.thread) as socket:
        socket.send({"type": "message", "content": "hello", "thread_id": chat.thread, "idempotency_key": "k1"})
        first = socket.answer()
        assert first["type"] == "accepted" and first["thread_id"] == chat.thread and first["message_id"]
        socket.until("turn_finished")
        socket.send({"type": "message", "content": "hello", "thread_id": chat.thread, "idempotency_key": "k1"})
        second = socket.answer()
        assert second["message_id"] == first["message_id"]
    turns = chat.turns()
    assert [turn["user_input"] for turn in turns] == ["hello"] and first["turn_id"]


def test_an_approval_by_frame(engine, chat, model):
    model.set_script(tools_then("written", call("write_file", path="socket.txt", content="hello")))
    with open_socket(engine, chat.thread) as socket:
        socket.send({"type": "message", "content": "write", "thread_id": chat.thread})
        request = socket.until("approval_needed")[-1].data["request_id"]
        socket.send({"type": "approval", "request_id": request, "action": "approve", "thread_id": chat.thread})
        answer = socket.answer()
        assert (answer["type"], answer["request_id"]) == ("accepted", request)
        assert socket.until("response")[-1].data["content"] == "written"
        socket.send({"type": "approval", "request_id": request, "action": "deny"})
        assert socket.answer()["type"] == "error"


def test_a_ping_is_answered(engine):
    with open_socket(engine) as socket:
        socket.send({"type": "ping"})
        assert socket.answer() == {"type": "pong"}
        assert socket.connection.ping().wait(20)


@pytest.mark.parametrize("frame", [
    "", "not json", "[]", "7", '"text"', "null", "{}", '{"type": 7}', '{"type": "nonsense"}', '{"type": "message"}',
    '{"type": "message", "content": ""}', '{"type": "message", "content": 7}', '{"type": "message", "content": ["a"]}',
    '{"type": "message", "content": "x", "thread_id": 5}', '{"type": "message", "content": "x", "thread_id": "nobody"}',
    '{"type": "approval"}', '{"type": "approval", "request_id": "nobody", "action": "approve"}',
    '{"type": "approval", "request_id": "x", "action": "perhaps"}', "[" * 5000, '{"type": "message", "content": "' + "x" * 100_001 + '"}',
    '{"type": "message", "content": "\\ud800"}'])
def test_a_wrong_frame_gets_an_error_and_the_socket_goes_on(engine, frame):
    with open_socket(engine) as socket:
        socket.send(frame)
        answer = socket.answer()
        assert answer["type"] == "error" and answer["message"] and answer["code"]
        socket.send({"type": "ping"})
        assert socket.answer() == {"type": "pong"}


def test_a_message_in_fragments_is_one_message(engine, chat):
    with open_socket(engine, chat.thread) as socket:
        text = json.dumps({"type": "message", "content": "in three parts", "thread_id": chat.thread})
        socket.connection.send(part for part in (text[:5], text[5:30], text[30:]))
        assert socket.answer()["type"] == "accepted"
        assert socket.until("response")[-1].data["content"].endswith("in three parts")


def test_binary_frames_close_with_1003(engine):
    with open_socket(engine) as socket:
        socket.send(b'{"type": "ping"}')
        assert socket.close_code() == 1003


def test_a_frame_that_is_too_long_closes_with_1009(engine):
    with open_socket(engine) as socket:
        try:
            socket.send("x" * (10 * 1024 * 1024 + 1))
        except ConnectionClosed:
            pass
        assert socket.close_code() in (1009, 1006)  # 1006: it was cut while this end was still sending
    assert engine.api.get("/healthz").status_code == 200


def handshake(engine, query="", headers=None):
    """The handshake as bytes, with an Authorization header unless headers are given."""
    headers = {"Authorization": f"Bearer {engine.token}"} if headers is None else headers
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (f"GET /api/chat/ws{query} HTTP/1.1\r\nHost: 127.0.0.1:{engine.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{lines}\r\n").encode()


def masked(first, payload):
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes([first]) + length + bytes(4) + payload


@pytest.mark.parametrize("name, sent, code", [
    ("text that is no UTF-8", masked(0x81, b"\xff\xfe"), 1007),
    ("a reserved opcode", masked(0x83, b"x"), 1002),
    ("reserved bits", masked(0xF1, b"x"), 1002),
    ("a frame without a mask", b"\x81\x02hi", 1002),
    ("a continuation of nothing", masked(0x80, b"x"), 1002),
    ("a ping that is too long", masked(0x89, b"x" * 200), 1002)])
def test_a_breach_of_the_protocol_closes_with_its_code(engine, name, sent, code):
    with Raw(engine) as raw:
        raw.send(handshake(engine))
        assert raw.response()[0] == 101
        raw.send(sent)
        answer = raw.rest()
    assert answer[0] == 0x88 and int.from_bytes(answer[2:4], "big") == code, answer
    assert engine.api.get("/healthz").status_code == 200


@pytest.mark.parametrize("headers, status", [
    ({}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost.evil.example"}, 403),
    ({"Origin": "http://127.0.0.1.evil.example"}, 403),
    ({"Origin": "http://localhost:3000"}, 101),
    ({"Origin": "http://[::1]:3000"}, 101)])
def test_a_token_in_the_address_needs_an_origin_of_this_machine(engine, headers, status):
    with Raw(engine) as raw:
        raw.send(handshake(engine, f"?token={engine.token}", headers))
        assert raw.response()[0] == status


def test_no_token_no_socket(engine):
    for headers in ({"Origin": "http://localhost"}, {"Authorization": "Bearer wrong"}):
        with Raw(engine) as raw:
            raw.send(handshake(engine, headers=headers))
            assert raw.response()[0] == 401


def test_permissions_are_those_of_the_routes(engine, chat):
    token = engine.api.post("/api/tokens", json={"permissions": ["chat:read"]}).json()["token"]
    with open_socket(engine, headers={"Authorization": f"Bearer {token}"}) as socket:
        socket.send({"type": "message", "content": "hello", "thread_id": chat.thread})
        answer = socket.answer()
        assert (answer["type"], answer["code"]) == ("error", "permission_denied")
    token = engine.api.post("/api/tokens", json={"permissions": ["memory:read"]}).json()["token"]
    with pytest.raises(InvalidStatus) as refused:
        with open_socket(engine, headers={"Authorization": f"Bearer {token}"}):
            pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("query, status", [("?thread_id=nobody", 404), ("?thread_id=%ff", 400)])
def test_what_cannot_be_followed_is_refused_before_the_upgrade(engine, query, status):
    with Raw(engine) as raw:
        raw.send(handshake(engine, query))
        assert raw.response()[0] == status


def test_a_request_that_is_no_handshake_is_400(engine):
    assert engine.api.get("/api/chat/ws").status_code == 400
    assert engine.api.post("/api/chat/ws", json={}).status_code == 400


def test_sockets_and_streams_share_one_limit(engine, chat):
    from contextlib import ExitStack
    with ExitStack() as stack:
        for n in range(SUBSCRIBERS):
            stack.enter_context(open_socket(engine) if n % 2 else engine.events())
        status = engine.api.get("/api/gateway/status").json()
        assert (status["sse_connections"], status["ws_connections"]) == (SUBSCRIBERS // 2, SUBSCRIBERS // 2)
        with pytest.raises(InvalidStatus) as refused:
            stack.enter_context(open_socket(engine))
        assert refused.value.response.status_code == 429
        assert engine.api.get("/api/chat/events").status_code == 429

    def free():
        status = engine.api.get("/api/gateway/status").json()
        return status["sse_connections"] == status["ws_connections"] == 0
    wait_until(free, "the places become free")


def test_a_client_that_does_not_read_holds_up_nobody_and_is_cut_off(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    model.set_script({"default": {"text": "long " * 400_000, "chunk_bytes": 2000}})
    stalled = sockets.socket()
    stalled.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    stalled.connect(("127.0.0.1", own_engine.port))
    stalled.sendall(handshake(own_engine, f"?thread_id={chat.thread}"))
    with open_socket(own_engine, chat.thread) as socket:
        for _ in range(6):  # more than the kernel, the connection and the queue of events hold together
            accepted = chat.send("talk")
            seen = socket.until("turn_finished")
            assert text_of(seen) == ("long " * 400_000).rstrip() and seen[-1].data["turn_id"] == accepted["turn_id"]
    received = b""
    while part := stalled.recv(1 << 16):
        received += part
    stalled.close()
    assert b'"event_type":"stream_reset"' in received and received.count(b'"event_type":"turn_finished"') < 6
    # The last frame is the close, with the code that asks it to come again.
    assert int.from_bytes(received[received.rindex(b"\x88") + 2:][:2], "big") == 1013


def test_leaving_in_order_closes_the_sockets(own_engine, model):
    own_engine.start()
    with open_socket(own_engine) as socket:
        assert own_engine.stop() == 0
        assert socket.close_code() in (1001, 1013)
