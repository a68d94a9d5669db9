"""Module stream: values that browsers hear of, functions that stand for operations on them, and who is let in."""

import contextlib
import json
import resource
import time
from socket import SO_RCVBUF, SOL_SOCKET, create_connection

import httpx
import pytest
import websockets.exceptions
from websockets.sync.client import connect
from workers import SDKS, VERSIONS

from support import Engine
from support.limits import limit
from support.waiting import DEADLINE, wait_until

CONFIG = """
port: 0
modules:
  - class: modules::stream::StreamModule
    config:
      port: 0
      host: 127.0.0.1
      AUTH
      adapter:
        class: modules::stream::adapters::KvStore
        config: { store_method: file_based, file_path: ./data/stream_store, channel_size: 16 }
"""


class Socket:
    """One client of streams."""

    def __init__(self, port, path="/", **headers):
        self.peer = connect(f"ws://127.0.0.1:{port}{path}", additional_headers=headers, max_size=None)

    def join(self, stream, group, ident="s1", **more):
        self.peer.send(json.dumps({"type": "join", "data": {"subscriptionId": ident, "streamName": stream, "groupId": group, **more}}))

    def leave(self, ident="s1"):
        self.peer.send(json.dumps({"type": "leave", "data": {"subscriptionId": ident, "streamName": "", "groupId": ""}}))

    def next(self):
        return json.loads(self.peer.recv(DEADLINE))

    def event(self):
        return self.next()["event"]

    def close_code(self):
        with pytest.raises(websockets.exceptions.ConnectionClosed) as caught:
            while True:
                self.peer.recv(DEADLINE)
        return caught.value.rcvd.code


@pytest.fixture
def sockets():
    with contextlib.ExitStack() as stack:
        def new(*args, **headers):
            made = Socket(*args, **headers)
            stack.callback(made.peer.close)
            return made
        yield new


@pytest.fixture(params=["run", "engine"])
def place(request, engine, bus_engine):
    """(bus port, stream address): of `chela run`, and of `chela engine`."""
    if request.param == "run":
        ports = engine.engine_file()["ports"]
        return ports["bus"], (ports["streams"], f"/?token={engine.token}")
    ports = bus_engine(CONFIG.replace("AUTH", "")).start().ports
    return ports["bus"], (ports["streams"], "/")


@pytest.mark.parametrize("sdk", SDKS)
def test_workers_change_values_and_sockets_hear_of_it(join, sockets, place, sdk):
    port, address = place
    worker, socket, group = join(sdk, port), sockets(*address), f"room-{sdk}"
    item = {"stream_name": "chat", "group_id": group, "item_id": "m1"}
    data = {"text": "größe", "list": [1, None]}
    assert worker.call("stream::set", {**item, "data": data}) == {"old_value": None, "new_value": data}
    socket.join("chat", group)
    first = socket.next()
    assert {key: first[key] for key in ("type", "streamName", "groupId", "id", "event")} == {
        "type": "stream", "streamName": "chat", "groupId": group, "id": None, "event": {"type": "sync", "data": [data]}}
    assert abs(first["timestamp"] / 1000 - time.time()) < 600
    worker.call("stream::update", {**item, "ops": [{"type": "append", "path": "list", "value": 2}]})
    assert socket.event() == {"type": "update", "data": {**data, "list": [1, None, 2]}}
    worker.call("stream::set", {**item, "item_id": "m2", "data": 1})
    assert socket.event() == {"type": "create", "data": 1}
    worker.call("stream::send", {"stream_name": "chat", "group_id": group, "type": "typing", "data": {"who": "me"}})
    assert socket.event() == {"type": "event", "event": {"type": "typing", "data": {"who": "me"}}}
    assert worker.call("stream::get", item)["list"] == [1, None, 2]
    assert worker.call("stream::list", {"stream_name": "chat", "group_id": group})[1] == 1
    assert group in worker.call("stream::list_groups", {"stream_name": "chat"})
    assert any(row["id"] == "chat" and group in row["groups"] for row in worker.call("stream::list_all")["stream"])
    worker.call("stream::delete", item)
    assert socket.event()["type"] == "delete"
    assert worker.call("stream::get", item) is None
    socket.leave()
    socket.join("chat", group, "s2", id="m2")
    assert socket.event() == {"type": "sync", "data": 1}


@pytest.mark.parametrize("sdk", VERSIONS)
def test_createStream_of_the_sdk_stands_for_a_stream(join, sockets, place, sdk):
    port, address = place
    worker, caller, socket = join(sdk, port), join("0.22.1", port), sockets(*address)
    stream = f"mine-{sdk}"
    worker.do("create_stream", stream=stream)
    wait_until(lambda: f"stream::set({stream})" in caller.functions(), "the stream's functions are there")
    item = {"stream_name": stream, "group_id": "g", "item_id": "i"}
    socket.join(stream, "g")
    assert socket.event() == {"type": "sync", "data": []}
    assert caller.call("stream::set", {**item, "data": {"n": 1}})["new_value"] == {"n": 1}
    assert socket.event() == {"type": "create", "data": {"n": 1}}
    assert worker.do("stream_items", stream=stream) == {"g::i": {"n": 1}}
    assert caller.call("stream::get", item) == {"n": 1}
    assert caller.call("stream::list", {"stream_name": stream, "group_id": "g"}) == [{"n": 1}]
    caller.call("stream::delete", item)
    assert socket.event() == {"type": "delete", "data": {"n": 1}}
    assert caller.call("stream::get", item) is None


@pytest.mark.parametrize("sdk", SDKS)
def test_triggers(join, sockets, place, sdk):
    port, address = place
    worker, socket, stream = join(sdk, port), sockets(*address), f"watched-{sdk}"
    for key, kind, config in (("c", "stream", {"stream_name": stream}), ("j", "stream:join", {"stream_name": stream}), ("l", "stream:leave", {})):
        worker.register(f"{key}::{sdk}", "nothing")
        worker.do("trigger", key=key, type=kind, function_id=f"{key}::{sdk}", config=config)
    wait_until(lambda: sum(sdk in row["function_id"] for row in join("0.22.1", port).call("engine::registered-triggers::list")["registered_triggers"]) == 3,
               "the triggers are registered")

    def seen(key, count):
        wait_until(lambda: len(worker.do("seen", function_id=f"{key}::{sdk}")) >= count, f"{key} is told")
        return worker.do("seen", function_id=f"{key}::{sdk}")

    socket.join(stream, "g", "mine")
    assert socket.event()["type"] == "sync"
    event = {"subscription_id": "mine", "stream_name": stream, "group_id": "g", "id": None}
    assert seen("j", 1)[0] == event
    worker.call("stream::set", {"stream_name": stream, "group_id": "g", "item_id": "i", "data": 1})
    change = seen("c", 1)[0]
    assert change["event"] == {"type": "create", "data": 1} and change["id"] == "i" and change["groupId"] == "g"
    socket.peer.close()
    assert event in seen("l", 1)


def test_a_join_trigger_refuses(join, sockets, place):
    port, address = place
    worker, socket = join(port=port), sockets(*address)
    worker.register("gate", "refuse")
    worker.do("trigger", key="g", type="stream:join", function_id="gate", config={"stream_name": "secret"})
    wait_until(lambda: any(row["function_id"] == "gate" for row in worker.call("engine::registered-triggers::list")["registered_triggers"]), "it is registered")
    socket.join("secret", "g")
    assert socket.event() == {"type": "unauthorized"}
    socket.join("open", "g")
    assert socket.event() == {"type": "sync", "data": []}


def test_an_address_names_what_it_wants_to_hear(join, sockets, bus_engine):
    ports = bus_engine(CONFIG.replace("AUTH", "")).start().ports
    worker = join(port=ports["bus"], token="")
    worker.call("stream::set", {"stream_name": "a b", "group_id": "room", "item_id": "i", "data": 1})
    whole, one = sockets(ports["streams"], "/stream/a%20b/room/"), sockets(ports["streams"], "/stream/a%20b/room/i?x=1")
    assert whole.event() == {"type": "sync", "data": [1]}
    assert one.event() == {"type": "sync", "data": 1}
    worker.call("stream::set", {"stream_name": "a b", "group_id": "room", "item_id": "j", "data": 2})
    assert whole.event() == {"type": "create", "data": 2}
    one.join("other", "g", "more")
    assert one.event() == {"type": "sync", "data": []}
    for path in ("/stream", "/stream/", "/stream/name", "/stream/a/b/c/d", "/other", "/stream/%zz/g"):
        answer = httpx.get(f"http://127.0.0.1:{ports['streams']}{path}")
        assert answer.status_code == 404 and "/stream/<name>/<group>/" in answer.json()["error"]["message"], path
    assert httpx.get(f"http://127.0.0.1:{ports['streams']}/").status_code == 400  # no WebSocket


@pytest.mark.parametrize("headers, query, status", [({}, "", 401), ({}, "?token=wrong", 401), ({"Authorization": "Bearer wrong"}, "", 401)])
def test_without_a_token_nobody_hears_of_run(engine, headers, query, status):
    port = engine.engine_file()["ports"]["streams"]
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{port}/{query}", additional_headers=headers)
    assert refused.value.response.status_code == status
    made = engine.api.post("/api/tokens", json={"permissions": ["memory:read"]}).json()
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{port}/?token={made['token']}")
    assert refused.value.response.status_code == 403


def test_a_revoked_token_hears_no_more(engine, sockets):
    made = engine.api.post("/api/tokens", json={"permissions": ["bus:call"]}).json()
    socket = sockets(engine.engine_file()["ports"]["streams"], f"/?token={made['token']}")
    socket.join("chat", "g")
    assert socket.event()["type"] == "sync"
    engine.api.delete(f"/api/tokens/{made['token'].split('_')[1]}").raise_for_status()
    assert socket.close_code() == 1008


def test_each_user_hears_of_their_own(tmp_path, join, sockets):
    """Alice owned the engine, and left a token when Bob took it over."""
    with Engine(tmp_path / "home", env={"GATEWAY_USER_ID": "alice"}) as first:
        token = first.api.post("/api/tokens", json={"permissions": ["bus:*"]}).json()["token"]
    with Engine(tmp_path / "home", env={"GATEWAY_USER_ID": "bob"}) as engine:
        ports = engine.engine_file()["ports"]
        alice, bob = sockets(ports["streams"], f"/?token={token}"), sockets(ports["streams"], f"/?token={engine.token}")
        item = {"stream_name": "chat", "group_id": "g", "item_id": "i"}
        for socket in (alice, bob):
            socket.join("chat", "g")
            assert socket.event() == {"type": "sync", "data": []}
        join(port=ports["bus"], token=token).call("stream::set", {**item, "data": "alice's"})
        join(port=ports["bus"], token=engine.token).call("stream::set", {**item, "data": "bob's"})
        assert alice.event() == {"type": "create", "data": "alice's"}
        assert bob.event() == {"type": "create", "data": "bob's"}


def test_the_auth_function_decides_and_fails_closed(join, sockets, bus_engine):
    ports = bus_engine(CONFIG.replace("AUTH", "auth_function: gate::auth")).start().ports
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        sockets(ports["streams"])
    assert refused.value.response.status_code == 401
    worker = join(port=ports["bus"], token="")
    for kind in ("nothing", "fail", "text", "refuse"):
        worker.register("gate::auth", kind)
        wait_until(lambda: "gate::auth" in worker.functions(), "it is there")
        with pytest.raises(websockets.exceptions.InvalidStatus):
            sockets(ports["streams"])
        worker.do("unregister", function_id="gate::auth")
        wait_until(lambda: "gate::auth" not in worker.functions(), "it is gone")
    worker.register("gate::auth", "admit")
    worker.register("gate::joins", "nothing")
    worker.do("trigger", key="j", type="stream:join", function_id="gate::joins", config={})
    wait_until(lambda: worker.call("engine::registered-triggers::list")["registered_triggers"], "the trigger is registered")
    socket = sockets(ports["streams"], "/?a=1&a=2&b=%C3%A9", Authorization="Bearer x")
    socket.join("chat", "g")
    assert socket.event()["type"] == "sync"
    asked = worker.do("seen", function_id="gate::auth")[-1]
    assert asked["query_params"] == {"a": ["1", "2"], "b": ["é"]} and asked["path"] == "/" and asked["headers"]["authorization"] == "Bearer x"
    assert asked["addr"].startswith("127.0.0.1:")
    assert worker.do("seen", function_id="gate::joins")[0]["context"] == {"user": "somebody"}


def test_a_socket_that_does_not_read_is_cut_off_and_holds_nobody_up(join, sockets, bus_engine):
    engine = bus_engine(CONFIG.replace("AUTH", "")).start()
    port = engine.ports["streams"]
    worker, quick = join(port=engine.ports["bus"], token=""), sockets(port)
    worker.register("on::left", "nothing")
    worker.do("trigger", key="l", type="stream:leave", function_id="on::left", config={})
    quick.join("chat", "g", "quick")
    assert quick.event()["type"] == "sync"
    stuck = create_connection(("127.0.0.1", port))
    stuck.setsockopt(SOL_SOCKET, SO_RCVBUF, 4096)
    stuck.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    body = b'{"type":"join","data":{"subscriptionId":"stuck","streamName":"chat","groupId":"g"}}'
    stuck.sendall(bytes([0x81, 0x80 | len(body), 0, 0, 0, 0]) + body)
    block = "x" * 100_000
    # What the kernels of both ends take, and what the engine keeps, is much less.
    for number in range(200):
        worker.call("stream::send", {"stream_name": "chat", "group_id": "g", "type": "t", "data": [number, block]})
        assert quick.event()["event"]["data"] == [number, block]
    stuck.close()
    wait_until(lambda: worker.do("seen", function_id="on::left"), "it has left")
    assert [each["subscription_id"] for each in worker.do("seen", function_id="on::left")] == ["stuck"]


def test_a_socket_may_say_so_much_at_once(sockets, bus_engine):
    socket = sockets(bus_engine(CONFIG.replace("AUTH", "")).start().ports["streams"])
    most = limit("kMaxSocketMessageBytes")
    join = json.dumps({"type": "join", "data": {"subscriptionId": "s", "streamName": "chat", "groupId": "g"}})
    socket.peer.send(join.ljust(most))
    assert socket.event() == {"type": "sync", "data": []}
    socket.peer.send(join.ljust(most + 1))
    assert socket.close_code() == 1009


def test_a_long_list_is_one_message(join, sockets, bus_engine):
    """Longer than the events that may wait for a socket, and within what is kept for it."""
    ports = bus_engine(CONFIG.replace("AUTH", "")).start().ports
    worker, item, count = join(port=ports["bus"], token=""), "x" * (limit("kMaxItemBytes", "bus/items") - 100), 3
    assert limit("kMaxUntakenBytes") < count * len(item) < limit("kMaxSocketBufferBytes")
    for number in range(count):
        worker.call("stream::set", {"stream_name": "chat", "group_id": "g", "item_id": f"i{number}", "data": item})
    socket = sockets(ports["streams"])
    socket.join("chat", "g")
    assert socket.event() == {"type": "sync", "data": [item] * count}


def test_so_many_sockets_are_connected(sockets, bus_engine):
    port = bus_engine(CONFIG.replace("AUTH", "")).start().ports["streams"]
    most = limit("kMaxStreamSockets")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * most)), hard))
    with contextlib.ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(create_connection(("127.0.0.1", port), DEADLINE))
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 503
    wait_until(lambda: httpx.get(f"http://127.0.0.1:{port}/").status_code == 400, "there is room again")
    sockets(port)


def test_the_auth_function_has_so_long(join, sockets, bus_engine):
    ports = bus_engine(CONFIG.replace("AUTH", "auth_function: gate::auth")).start().ports
    worker = join(port=ports["bus"], token="")
    worker.register("gate::auth", "hang")
    wait_until(lambda: "gate::auth" in worker.functions(), "it is there")
    asked = time.monotonic()
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{ports['streams']}/", open_timeout=DEADLINE)
    assert refused.value.response.status_code == 401
    assert time.monotonic() - asked >= limit("kAuthTimeout")


@pytest.mark.parametrize("held, good", [(limit("kMaxHeldEvents"), True), (limit("kMaxHeldEvents") + 1, False)])
def test_events_that_are_held_have_a_limit(bus_engine, held, good):
    engine = bus_engine(CONFIG.replace("AUTH", "").replace("channel_size: 16", f"channel_size: {held}"))
    if good:
        assert engine.start().stop() == 0
    else:
        code, said = engine.fails()
        assert code == 2 and "channel_size" in said


def test_what_was_answered_survives_a_kill(bus_engine, join):
    engine = bus_engine(CONFIG.replace("AUTH", "")).start()
    worker = join(port=engine.ports["bus"], token="")
    waiting = [worker.start("call", function_id="stream::set", payload={"stream_name": "s", "group_id": "g", "item_id": f"i{n}", "data": n}) for n in range(200)]
    for answer in waiting[:150]:
        answer()
    engine.kill9()
    worker.kill()
    engine.start()
    kept = join(port=engine.ports["bus"], token="").call("stream::list", {"stream_name": "s", "group_id": "g"})
    assert kept[:150] == list(range(150))
