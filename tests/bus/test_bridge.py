"""Two engines that are one for their workers: module bridge, and state, streams, pub/sub and queues that another engine keeps."""

import asyncio
import contextlib
import json
import ssl
import subprocess
import threading

import pytest
from raw_worker import RawWorker
from support.waiting import DEADLINE, wait_until
from websockets.sync.client import connect
from workers import SDKS, SdkError

BACK = """
port: ${BACK_PORT:0}
modules:
  - class: modules::pubsub::PubSubModule
  - class: modules::state::StateModule
  - class: modules::stream::StreamModule
    config: { port: 0 }
  - class: modules::queue::QueueModule
    config:
      adapter:
        class: modules::queue::BuiltinQueueAdapter
        config: { store_method: file_based, file_path: ./data/queue, backoff_ms: 20 }
"""
FRONT = """
port: 0
modules:
  - class: modules::bridge_client::BridgeClientModule
    config:
      url: ws://127.0.0.1:PORT
      service_id: front
      expose:
        - { local_function: "front::echo", remote_function: "shown::echo" }
        - { local_function: "front::plain" }
      forward:
        - { local_function: "near::echo", remote_function: "back::echo", timeout_ms: 20000 }
"""
ADAPTERS = """
port: 0
modules:
  - class: modules::pubsub::PubSubModule
    config: { adapter: { name: bridge, config: { bridge_url: "ws://127.0.0.1:PORT" } } }
  - class: modules::state::StateModule
    config: { adapter: { class: "modules::state::adapters::Bridge", config: { bridge_url: "ws://127.0.0.1:PORT" } } }
  - class: modules::stream::StreamModule
    config:
      port: 0
      adapter: { class: "modules::stream::adapters::Bridge", config: { bridge_url: "ws://127.0.0.1:PORT" } }
  - class: modules::queue::QueueModule
    config: { adapter: { name: bridge, config: { bridge_url: "ws://127.0.0.1:PORT" } } }
"""


@pytest.fixture
def back(bus_engine):
    return bus_engine(BACK).start()


@pytest.fixture
def front(bus_engine, back):
    return bus_engine(FRONT.replace("PORT", str(back.ports["bus"]))).start()


@pytest.fixture
def mirror(bus_engine, back):
    return bus_engine(ADAPTERS.replace("PORT", str(back.ports["bus"]))).start()


@pytest.fixture
def raw():
    made = []

    def new(engine):
        made.append(RawWorker(engine.ports["bus"]))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.mark.parametrize("sdk", SDKS)
def test_functions_of_both_engines(join, front, back, sdk):
    near, far = join(sdk, port=front.ports["bus"], token=""), join(sdk, port=back.ports["bus"], token="")
    near.register("front::echo")
    near.register("front::plain")
    far.register("back::echo")
    wait_until(lambda: {"back::echo", "shown::echo", "front::plain"} <= set(far.functions()), "all are registered")
    wait_until(lambda: {"front::echo", "front::plain"} <= set(near.functions()), "here too")
    assert near.call("near::echo", {"n": 1, "text": "größe"})["data"]["text"] == "größe"
    assert near.call("bridge.invoke", {"function_id": "back::echo", "data": {"n": 2}})["data"]["n"] == 2
    assert far.call("shown::echo", {"n": 3})["data"]["n"] == 3
    assert far.call("front::plain", {"n": 4})["data"]["n"] == 4
    with pytest.raises(SdkError) as refused:
        near.call("bridge.invoke", {"function_id": "nobody::has::this"})
    assert refused.value.code == "function_not_found"


def test_the_other_engine_may_come_later_and_go(bus_engine, raw):
    back = bus_engine(BACK).start()
    port = back.ports["bus"]
    back.env["BACK_PORT"] = str(port)
    back.stop()
    front = bus_engine(FRONT.replace("PORT", str(port))).start()
    near = raw(front)
    waits = near.start("bridge.invoke", {"function_id": "state::set", "data": {"scope": "s", "key": "k", "value": 1}})
    for _ in range(2):
        back.start()
        far = RawWorker(port)
        far.register("back::echo", lambda data: None)
        wait_until(lambda peer=far: "shown::echo" in json.dumps(peer.call("engine::functions::list")), "the front is back")
        assert waits()["result"]["new_value"] == 1  # made while nobody was there
        assert near.call("near::echo", {"n": 2}) is True
        back.kill9()
        far.close()


def test_a_call_under_way_ends_with_its_engine(front, back, raw):
    near, far = raw(front), raw(back)
    far.register("back::echo", lambda data: back.kill9())
    answer = near.start("near::echo", {})()
    assert answer["error"]["code"] in ("invocation_stopped", "unavailable"), answer


def test_state_of_another_engine(join, mirror, back):
    near, far = join(port=mirror.ports["bus"], token=""), join(port=back.ports["bus"], token="")
    far.register("back::sees")
    near.register("near::sees")
    near.do("trigger", type="state", function_id="near::sees", config={"scope": "s"})
    assert near.call("state::set", {"scope": "s", "key": "k", "value": {"n": 1}})["new_value"] == {"n": 1}
    assert far.call("state::get", {"scope": "s", "key": "k"}) == {"n": 1}
    far.call("state::update", {"scope": "s", "key": "k", "ops": [{"type": "increment", "path": "n", "by": 4}]})
    assert near.call("state::list", {"scope": "s"}) == [{"n": 5}]
    assert near.call("state::list_groups")["groups"] == ["s"]
    wait_until(lambda: len(near.do("seen", function_id="near::sees")) >= 1, "the trigger fires here")
    assert near.call("state::delete", {"scope": "s", "key": "k"}) == {"n": 5}
    assert near.call("state::get", {"scope": "s", "key": "k"}) is None


class Values:
    """State or streams, as the functions of the module name what they keep."""

    def __init__(self, worker, module):
        self.worker, self.module = worker, module
        self.names = ("scope", "key", "value") if module == "state" else ("group_id", "item_id", "data")
        self.more = {} if module == "state" else {"stream_name": "bridged"}

    def do(self, what, group, *rest):
        return self.worker.call(f"{self.module}::{what}", {**self.more, **dict(zip(self.names, (group, *rest), strict=False))})


@pytest.mark.parametrize("sdk", ["0.11.6", "0.22.1"])
@pytest.mark.parametrize("module", ["state", "stream"])
def test_values_are_set_read_listed_and_deleted_over_the_bridge(join, mirror, back, module, sdk):
    """What iii's suites bridge-state and bridge-stream ask for, with a look at the engine behind that has the values."""
    near, far = (Values(join(sdk, port=engine.ports["bus"], token=""), module) for engine in (mirror, back))
    first, second = {"name": "an item", "value": 42}, {"value": 2, "updated": True}
    assert near.do("get", "g", "k") is None
    assert near.do("set", "g", "k", first) == {"old_value": None, "new_value": first}
    assert near.do("set", "g", "k", second) == {"old_value": first, "new_value": second}
    assert near.do("get", "g", "k") == far.do("get", "g", "k") == second
    near.do("delete", "g", "k")
    assert near.do("get", "g", "k") is None and far.do("get", "g", "k") is None
    near.do("delete", "g", "never-there")
    items = [{"id": f"item{n}", "value": n} for n in range(3)]
    for each in items:
        near.do("set", "list", each["id"], each)
    assert near.do("list", "list") == far.do("list", "list") == items


def listen(engine, stream, group):
    peer = connect(f"ws://127.0.0.1:{engine.ports['streams']}/")
    peer.send(json.dumps({"type": "join", "data": {"subscriptionId": "s", "streamName": stream, "groupId": group}}))
    return peer


def test_streams_of_another_engine(join, mirror, back):
    near, far = join(port=mirror.ports["bus"], token=""), join(port=back.ports["bus"], token="")
    far.call("stream::set", {"stream_name": "chat", "group_id": "g", "item_id": "m0", "data": {"t": 0}})
    with listen(mirror, "chat", "g") as here, listen(back, "chat", "g") as there:
        assert json.loads(here.recv(DEADLINE))["event"] == {"type": "sync", "data": [{"t": 0}]}
        assert json.loads(there.recv(DEADLINE))["event"] == {"type": "sync", "data": [{"t": 0}]}
        answer = near.call("stream::set", {"stream_name": "chat", "group_id": "g", "item_id": "m1", "data": {"t": 1}})
        assert answer == {"old_value": None, "new_value": {"t": 1}}
        for each in (here, there):
            event = json.loads(each.recv(DEADLINE))
            assert (event["id"], event["event"]) == ("m1", {"type": "create", "data": {"t": 1}})
        far.call("stream::delete", {"stream_name": "chat", "group_id": "g", "item_id": "m0"})
        for each in (here, there):
            assert json.loads(each.recv(DEADLINE))["event"]["type"] == "delete"
        near.call("stream::send", {"stream_name": "chat", "group_id": "g", "type": "typing", "data": 1})
        for each in (here, there):
            assert json.loads(each.recv(DEADLINE))["event"] == {"type": "event", "event": {"type": "typing", "data": 1}}
    assert near.call("stream::list", {"stream_name": "chat", "group_id": "g"}) == [{"t": 1}]
    assert near.call("stream::list_groups", {"stream_name": "chat"}) == ["g"]
    assert near.call("stream::list_all")["count"] == 1


@pytest.fixture
def certificates(tmp_path):
    """An authority of our own, ca.pem, and what it signed for localhost."""
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (["req", "-x509", *key, "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"],
                    ["req", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"],
                    ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                     "-extfile", "names", "-out", "server.pem"]):
        subprocess.run(["openssl", *command], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


@pytest.fixture
def tunnel(back, certificates):
    """A port at which the engine behind speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    loop, ready = asyncio.new_event_loop(), threading.Event()

    async def pump(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def passed_on(reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", back.ports["bus"])
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    async def serve():
        server = await asyncio.start_server(passed_on, "127.0.0.1", 0, ssl=context)
        made["port"], made["end"] = server.sockets[0].getsockname()[1], asyncio.Event()
        ready.set()
        await made["end"].wait()

    made = {}
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(DEADLINE)
    yield made["port"]
    loop.call_soon_threadsafe(made["end"].set)
    thread.join(DEADLINE)


def test_another_engine_over_tls(bus_engine, back, tunnel, certificates, raw):
    config = FRONT.replace("url: ws://127.0.0.1:PORT", f"url: wss://localhost:{tunnel}\n      ca_file: {certificates}/ca.pem")
    near, far = raw(bus_engine(config).start()), raw(back)
    far.register("back::echo", lambda data: None)
    near.register("front::echo", lambda data: None)
    large = "x" * 1_000_000
    assert near.call("bridge.invoke", {"function_id": "state::set", "data": {"scope": "s", "key": "k", "value": large}})["new_value"] == large
    assert near.call("near::echo", {"n": 1}) is True
    wait_until(lambda: "shown::echo" in json.dumps(far.call("engine::functions::list")), "what is exposed is there")
    assert far.call("shown::echo", {"n": 2}) is True


def test_a_certificate_that_nobody_trusts_is_no_connection(bus_engine, tunnel, raw):
    front = bus_engine(FRONT.replace("url: ws://127.0.0.1:PORT", f"url: wss://localhost:{tunnel}")).start()
    answer = raw(front).start("bridge.invoke", {"function_id": "state::list_groups", "timeout_ms": 1000})()
    assert answer["error"]["code"] == "unavailable" and "certificate is not trusted" in answer["error"]["message"], answer


def test_a_data_channel_ends_at_its_engine(front, raw):
    near = raw(front)
    made = near.call("engine::channels::create")
    answer = near.start("near::echo", {"reader": made["reader"]})()
    assert answer["error"]["code"] == "unsupported" and "data channel" in answer["error"]["message"], answer


def test_topics_of_another_engine(mirror, back, raw):
    near, far, got = raw(mirror), raw(back), []
    near.register("near::hears", got.append)
    near.trigger("t1", "subscribe", "near::hears", {"topic": "news"})
    near.trigger("t2", "durable:subscriber", "near::hears", {"topic": "jobs"})
    near.call("publish", {"topic": "nobody", "data": 0})  # what went before has arrived
    far.call("publish", {"topic": "news", "data": {"n": 1}})
    wait_until(lambda: got, "the subscriber is told")
    near.call("iii::durable::publish", {"topic": "jobs", "data": {"n": 2}})
    far.call("iii::durable::publish", {"topic": "jobs", "data": {"n": 3}})
    wait_until(lambda: len(got) == 3, "the messages are handled")
    assert [each["n"] for each in got] == [1, 2, 3]
    wait_until(lambda: far.call("engine::queue::topic_stats", {"topic": "jobs"})["depth"] == 0, "they are done")


def test_messages_wait_for_a_front_that_comes_back(mirror, back, raw):
    near, far, got = raw(mirror), raw(back), []
    near.register("near::works", got.append)
    near.trigger("t1", "durable:subscriber", "near::works", {"topic": "jobs"})
    near.call("iii::durable::publish", {"topic": "jobs", "data": 1})
    wait_until(lambda: got == [1], "the first is handled")
    near.close()
    mirror.stop()
    far.call("iii::durable::publish", {"topic": "jobs", "data": 2})
    mirror.start()
    again = raw(mirror)
    again.register("near::works", got.append)
    again.trigger("t9", "durable:subscriber", "near::works", {"topic": "jobs"})
    wait_until(lambda: got == [1, 2], "what came meanwhile is handled")


def test_calls_are_queued_at_the_other_engine(mirror, back, raw):
    near, far, got = raw(mirror), raw(back), []
    far.register("far::job", got.append)
    answer = near.start("far::job", {"n": 1}, action={"type": "enqueue", "queue": "default"})()
    assert answer["result"]["messageReceiptId"], answer
    wait_until(lambda: got == [{"n": 1}], "the call is made there")
